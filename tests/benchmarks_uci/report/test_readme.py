import pytest

from benchmarks_uci.report import ResultsError, readme, write_compact
from tests.benchmarks_uci.report._helpers import record, records

TEXT = f"# Title\n\n{readme.BEGIN}\nstale\n{readme.END}\n\nThe rest.\n"


@pytest.fixture
def files(tmp_path):
    results, _ = write_compact(records(), tmp_path)
    path = tmp_path / "README.md"
    path.write_text(TEXT)
    return path, results


def test_readme_agrees_with_the_committed_results():
    if readme.RESULTS.exists():
        # Without the block this raises: results that the README does not show are not allowed.
        assert readme.disagreement() == ""
    else:
        assert readme.BEGIN not in readme.README.read_text(encoding="utf-8")


def test_written_readme_agrees(files):
    readme.write(*files)
    text = files[0].read_text()
    assert text.startswith(f"# Title\n\n{readme.BEGIN}\nNLL in nats on 4 splits a set")
    assert text.endswith(f"{readme.END}\n\nThe rest.\n")
    assert "| average rank" in text
    assert "stale" not in text
    assert readme.disagreement(*files) == ""
    readme.write(*files)
    assert files[0].read_text() == text


def test_changed_number_shows_in_the_difference(files):
    path, _ = files
    readme.write(*files)
    text = path.read_text()
    row = next(line for line in text.splitlines() if line.startswith("| boston"))
    path.write_text(text.replace(row, row.replace("2.58", "2.59")))
    difference = readme.disagreement(*files)
    assert f"\n+{row}" in difference
    assert "-| boston" in difference


def test_comparisons_count_both_sides():
    lines = readme.comparisons(records(methods=("deltauq", "pbp"), n_splits=8))
    assert lines == [
        "`deltauq` against `pbp`: lower NLL on 3 of 3 sets, p = 0.250 over the sets (Wilcoxon); "
        "by the corrected paired t-test at 0.05, better on 3 and worse on 0."
    ]


def test_difference_that_is_the_same_on_every_split_is_no_chance():
    found = [
        *(record(split=i) for i in range(3)),
        *(record(method="pbp", split=i, nll=2.0) for i in range(3)),
    ]
    [line] = readme.comparisons(found)
    assert line.endswith("better on 1 and worse on 0.")  # p is 0


@pytest.mark.parametrize(
    "text", ["", readme.BEGIN, TEXT + readme.END, f"{readme.END}\n{readme.BEGIN}\n"]
)
def test_missing_markers_are_an_error(text):
    with pytest.raises(ResultsError, match="should hold one line <!-- results: begin -->"):
        readme.with_block(text, "new")
