import subprocess
import sys

import pytest
from click.testing import CliRunner

from benchmarks_uci.analysis.page import write_page
from benchmarks_uci.commands import report as command
from benchmarks_uci.commands.report import make_report, report
from benchmarks_uci.engine.records import read, write_compact
from benchmarks_uci.optimisation.study import STUDY as OPTIMISATION
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import record, records, write_folder


def invoke(*args):
    return CliRunner().invoke(report, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path):
    return write_folder(records(), tmp_path / "results")


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A README and committed results, in place of the real ones."""
    write_compact(records(), tmp_path / "committed", STUDY)
    text = tmp_path / "README.md"
    text.write_text(
        "<!-- results random80-paper: begin -->\n<!-- results random80-paper: end -->\n"
    )
    monkeypatch.setattr(command, "RESULTS", tmp_path / "committed")
    monkeypatch.setattr(command, "README", text)
    return text


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), ["NLL, random80, preset paper", "paper: Delta-UQ", "average rank"]),
        (("--format", "markdown"), ["| boston", "**1.00**"]),
        (("--format", "html"), ["<table>", "1.00</td>"]),
        (("--metric", "crps"), ["CRPS, random80, preset paper"]),
    ],
)
def test_tables_are_printed(folder, args, expected):
    result = invoke(folder, *args)
    assert result.exit_code == 0, result.output
    assert [text for text in expected if text not in result.stdout] == []


def test_page_and_compact_results_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    folder = write_folder(records(("wine",), n_splits=2), tmp_path / "results")
    out, compact = tmp_path / "new" / "out", tmp_path / "compact"
    result = invoke(folder, "--out", out, "--compact", compact)
    assert result.exit_code == 0, result.output
    plots = {f"random80-paper-{n}.{f}" for n in ("calibration", "ranks") for f in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {"report.md", *plots}
    assert result.stdout.count("wrote ") == 5 + 2
    # The compact form gives the same report.
    page, _ = write_page(read(compact, STUDY), STUDY, "nll")
    assert page == (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (("nowhere",), 1, "there is no file or folder 'nowhere'"),
        (("--check",), 2, "--check needs --readme"),
        (
            ("nowhere", "--readme", "--check"),
            2,
            "no other option than --check. Leave out: results",
        ),
        (("--readme", "--metric", "crps"), 2, "Leave out: metric"),
        (("--metric", "mse"), 2, "'mse' is not one of 'nll'"),
        (("--format", "latex"), 2, "'latex' is not one of 'plain'"),
    ],
)
def test_mistakes_are_explained(args, code, expected):
    result = invoke(*args)
    assert result.exit_code == code
    assert expected in " ".join(result.stderr.split())


def test_only_the_study_of_the_readme_writes_it():
    result = CliRunner().invoke(make_report(OPTIMISATION), ["--readme"])
    assert result.exit_code == 2
    assert "No such option: --readme" in result.stderr or "No such option '--readme'" in (
        result.stderr
    )


def test_mixed_settings_are_an_error(tmp_path):
    write_folder([record(), record(split=1, settings_id="0" * 12)], tmp_path)
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert "Error: random80/paper/boston/deltauq" in result.stderr


def test_readme_is_written_and_checked(committed):
    before = committed.read_text()
    checked = invoke("--readme", "--check")
    assert checked.exit_code == 1
    assert "+| boston" in checked.stdout
    assert "Run report --readme to update it" in checked.stderr
    assert committed.read_text() == before
    assert invoke("--readme").stdout == "README written.\n"
    assert "| boston" in committed.read_text()
    checked = invoke("--readme", "--check")
    assert (checked.exit_code, checked.stdout) == (0, "The README agrees with the results.\n")


def test_readme_without_results_is_an_error(committed):
    (command.RESULTS / "random80-paper.csv").unlink()
    result = invoke("--readme")
    assert result.exit_code == 1
    assert "there is no file or folder" in result.stderr


def test_readme_without_markers_is_an_error(committed):
    committed.write_text("# Title\n")
    for args in (["--readme"], ["--readme", "--check"]):
        result = invoke(*args)
        assert result.exit_code == 1
        assert "should hold a pair of lines" in result.stderr


def test_report_needs_neither_torch_nor_matplotlib_nor_the_package(tmp_path):
    write_folder(records(), tmp_path)
    code = (
        "import sys\nfrom benchmarks_uci.__main__ import cli\n"
        f"cli.main(['report', {str(tmp_path)!r}], standalone_mode=False)\n"
        "print({'torch', 'sklearn', 'matplotlib', 'sk_deltauq'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
