"""What `run` prints when it ends."""

import subprocess
import sys

from benchmarks_uci.report import notes, table
from tests.benchmarks_uci.report._helpers import failed, record, records


def test_table_is_that_of_the_run():
    lines = table(records(("wine",), n_splits=1)).splitlines()
    assert lines[0].split()[:3] == ["data", "method", "NLL"]
    assert [line.split()[0] for line in lines[2:]] == ["wine", "mcdropout", "pbp"]


def test_runs_have_a_table_each():
    text = table([record(), record(preset="default")], fmt="markdown")
    assert text.count("| boston") == 2
    assert text.startswith("random80, preset default\n\n|")
    assert table(iter([])) == "No results."


def test_run_in_which_all_failed_can_be_printed():
    found = [failed(), failed(split=1)]
    assert table(found).count("failed (2)") == 6
    assert "boston, deltauq: 2 of 2 splits failed." in notes(found)


def test_notes_state_what_was_run():
    lines = notes([record(warnings=["few epochs"])]).splitlines()
    assert lines[0] == "Protocol random80, preset paper, the same splits for every method."
    assert lines[1].startswith("boston: 100 rows, 4 features; 1 split of the 20")
    assert "Warning, boston, deltauq, 1 of 1 splits: few epochs" in lines
    assert notes([]) == ""


def test_reading_needs_neither_torch_nor_matplotlib_nor_the_package():
    code = (
        "import sys, benchmarks_uci.report, benchmarks_uci.report.readme\n"
        "print({'torch', 'sklearn', 'matplotlib', 'sk_deltauq', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
