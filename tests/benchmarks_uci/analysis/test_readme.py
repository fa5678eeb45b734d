from pathlib import Path

import pytest

from benchmarks_uci.analysis import readme
from benchmarks_uci.commands.report import README, RESULTS
from benchmarks_uci.engine.records import ResultsError, write_compact
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, record, records

BEGIN, END = (f"<!-- results random80-paper: {word} -->" for word in ("begin", "end"))
TEXT = f"# Title\n\n{BEGIN}\nstale\n{END}\n\nThe rest.\n"


@pytest.fixture
def folder(tmp_path):
    write_compact(records(), tmp_path, STUDY)
    return tmp_path


def cells(found, method_title):
    """The column of a method in the block, by set."""
    header, _, *lines = readme.write_block(found, STUDY).partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (header, *lines)]
    place = rows[0].index(method_title)
    return {row[0]: row[place] for row in rows[1:]}


def test_readme_agrees_with_the_committed_results():
    assert readme.compare(README, RESULTS, STUDY) == ""


def test_readme_shows_nine_sets_in_lines_that_fit():
    text = README.read_text(encoding="utf-8")
    assert [name for _, name, _ in readme.BLOCK.findall(text)] == ["random80-refined"]
    block = readme.BLOCK.search(text)[0]
    assert len([line for line in block.splitlines() if line.startswith("|")]) == 2 + 9
    assert max(map(len, block.splitlines())) <= 100


def test_update_replaces_the_block_and_nothing_else(folder):
    text = readme.update(TEXT, folder, STUDY)
    assert text.startswith(f"# Title\n\n{BEGIN}\n| set ")
    assert text.endswith(f"{END}\n\nThe rest.\n")
    assert "stale" not in text
    assert readme.update(text, folder, STUDY) == text


def test_changed_number_shows_in_the_comparison(folder):
    text = readme.update(TEXT, folder, STUDY)
    row = next(line for line in text.splitlines() if line.startswith("| boston"))
    path = folder / "README.md"
    path.write_text(text)
    assert readme.compare(path, folder, STUDY) == ""
    changed = row.replace("2.40", "2.41")
    path.write_text(text.replace(row, changed))
    difference = readme.compare(path, folder, STUDY).splitlines()
    assert f"+{row}" in difference
    assert f"-{changed}" in difference


def test_block_has_means_and_the_lowest_is_bold():
    found = [
        *(record("yacht", "deltauq-5", i, 0.1 + 0.2 * i) for i in range(2)),
        *(record("yacht", "deltauq", i, 0.2049) for i in range(2)),
        *(record("yacht", "bnn", i, 0.5) for i in range(2)),
    ]
    assert cells(found, "Delta-UQ, 5 members") == {"yacht": "**0.20**"}
    assert cells(found, "Delta-UQ") == {"yacht": "**0.20**"}  # at two decimals
    assert cells(found, "BNN") == {"yacht": "0.50"}
    assert "MC dropout" not in readme.write_block(found, STUDY)  # it did not run
    assert "over 2 random" in readme.write_block(found, STUDY)
    found += [record("wine", "bnn", i, 1.0) for i in range(5)]
    assert "over 2 to 5 random" in readme.write_block(found, STUDY)
    # The others did not run on wine.
    assert readme.write_block(found, STUDY).splitlines()[0].split() == [
        *("|", "set", "|", "BNN", "|"),
        *("best", "in", "paper", "|"),
    ]
    found = found[:-5]
    assert cells(found, "best in paper") == {"yacht": "0.66"}
    assert cells([record("wine", nll=1.0)], "best in paper") == {"wine": "**0.91**"}


def test_block_leaves_out_means_without_all_splits_and_signs_of_zero():
    found = [
        *(record("yacht", "deltauq-5", i, -0.001) for i in range(2)),
        record("yacht", "deltauq", 0, -9.0),
        failed("yacht", "deltauq", 1),
    ]
    assert cells(found, "Delta-UQ, 5 members") == {"yacht": "**0.00**"}
    assert cells(found, "Delta-UQ") == {"yacht": "-"}


def test_each_pair_of_markers_gets_its_own_results(folder):
    write_compact(records(data=["concrete"], preset="default"), folder, STUDY)
    text = readme.update(TEXT + TEXT.replace("paper", "default"), folder, STUDY)
    first, second = text.split("The rest.")[:2]
    assert "| boston" in first
    assert "| concrete" not in first
    assert "| boston" not in second
    assert "| concrete" in second


@pytest.mark.parametrize(
    "text", ["", BEGIN, TEXT + END, f"{END}\n{BEGIN}\n", TEXT.replace("paper: end", "gap: end")]
)
def test_missing_markers_are_an_error(text, tmp_path):
    with pytest.raises(ResultsError, match="should hold a pair of lines, <!-- results NAME"):
        readme.update(text, tmp_path, STUDY)


def test_missing_results_are_an_error(folder):
    Path(folder / "random80-paper.csv").unlink()
    with pytest.raises(ResultsError, match=r"there is no file or folder '.*random80-paper.csv'"):
        readme.update(TEXT, folder, STUDY)
