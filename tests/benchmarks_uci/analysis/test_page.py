import re

import pytest

from benchmarks_uci.analysis.page import summarise_runs, tabulate_run, write_page
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records


@pytest.fixture
def found():
    both = [*records(), *records(protocol="gap")]
    place = both[-1]
    both[-1] = failed(place["data"], place["method"], place["split"], protocol="gap")
    return both


def test_page_has_a_part_per_run(found):
    pytest.importorskip("matplotlib")
    page, figures = write_page(found, STUDY, "nll", "plots/")
    assert page.startswith("# Results of benchmarks_uci\n\n## gap, preset paper\n")
    headings = re.findall(r"^#+ (.*)", page, re.MULTILINE)
    assert [text for text in headings if "preset" in text] == [
        "gap, preset paper",
        "random80, preset paper",
    ]
    assert headings.count("Baselines beside their published figures") == 1  # not of the gaps
    assert headings.count("Failures and warnings") == 1
    assert headings.count("Paired differences") == 2
    assert re.findall(r"\]\(plots/(.*)\.svg\)", page) == [*figures]
    assert [*figures] == [
        *("gap-paper-calibration", "gap-paper-ranks"),
        *("random80-paper-calibration", "random80-paper-ranks"),
    ]
    for text in ("paper: Delta-UQ", "Nadeau and Bengio", "How chosen: ", "python 3.11.7"):
        assert text in page


def test_markdown_of_a_page_joins_its_tables(found):
    pytest.importorskip("matplotlib")
    page, _ = write_page(found[:36], STUDY, "nll")
    table, explained = tabulate_run(make_run(found[:36]), STUDY, "nll")
    assert table.render("markdown") in page
    assert len(explained) == 3
    assert explained[0] in page


def test_text_of_records_cannot_break_the_page():
    pytest.importorskip("matplotlib")
    found = records(warnings=["<script> | *x*"])
    page, _ = write_page(found, STUDY, "nll")
    assert "<script>" not in page.replace(r"\<script>", "")
    assert r"\<script> \| \*x\*" in page


def test_overview_of_a_run():
    lines = summarise_runs(records(("wine",), n_splits=1), STUDY).splitlines()
    assert lines[0].split()[:3] == ["data", "method", "NLL"]
    assert [line.split()[0] for line in lines[2:5]] == ["wine", "mcdropout", "pbp"]
    assert summarise_runs([], STUDY) == "No results."


def test_overview_of_a_run_in_which_all_failed():
    text = summarise_runs([failed(), failed(split=1)], STUDY)
    assert text.count("failed (2)") == 6
    assert "boston, deltauq: 2 of 2 splits failed." in text


def test_overview_describes_the_run():
    lines = summarise_runs([record(warnings=["few epochs"])], STUDY).splitlines()
    assert "Protocol random80, preset paper, the same splits for every method." in lines
    assert any(
        line.startswith("boston: 100 rows, 4 features; 1 split of the 20") for line in lines
    )
    assert "Warning, boston, deltauq, 1 of 1 splits: few epochs" in lines
