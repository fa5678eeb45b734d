import pytest
from benchmarks_uci.report import ResultsError, readme, write_compact
from tests.benchmarks_uci.analysis._helpers import failed, record, records

BEGIN, END = (f"<!-- results random80-paper: {word} -->" for word in ("begin", "end"))
TEXT = f"# Title\n\n{BEGIN}\nstale\n{END}\n\nThe rest.\n"


@pytest.fixture
def files(tmp_path):
    write_compact(records(), tmp_path)
    path = tmp_path / "README.md"
    path.write_text(TEXT)
    return path, tmp_path


def test_readme_agrees_with_the_committed_results():
    assert readme.disagreement() == ""


def test_written_readme_agrees(files):
    readme.write(*files)
    text = files[0].read_text()
    assert text.startswith(f"# Title\n\n{BEGIN}\nNLL in nats on 4 splits a set")
    assert text.endswith(f"{END}\n\nThe rest.\n")
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


def test_splits_of_one_feature_each_are_compared_by_ranks():
    found = records(methods=("deltauq", "pbp"), n_splits=5, protocol="gap")
    [line] = readme.comparisons(found)
    # Five differences of one sign: 2 / 2^5 is above 0.05 however large they are.
    assert line.endswith("by the signed-rank test at 0.05, better on 0 and worse on 0.")


def test_each_pair_of_markers_gets_its_own_results(files):
    path, folder = files
    write_compact(records(data=["concrete"], preset="default"), folder)
    other = TEXT.replace("paper", "default")
    path.write_text(TEXT + other)
    readme.write(path, folder)
    first, second = path.read_text().split("The rest.")[:2]
    assert "preset `paper`" in first
    assert "| boston" in first
    assert "preset `default`" in second
    assert "| boston" not in second


def test_five_members_are_what_others_are_compared_with():
    lines = readme.comparisons(records(methods=("deltauq-5", "deltauq", "pbp"), n_splits=8))
    assert [line.partition(":")[0] for line in lines] == [
        "`deltauq-5` against `deltauq`",
        "`deltauq-5` against `pbp`",
    ]


def test_calibration_is_that_of_each_set_and_of_delta_uq_alone():
    found = [
        *(record(split=i, coverage=0.8 + 0.1 * i, calibration_error=0.01 + i) for i in (0, 1)),
        record(data="wine", coverage=0.91, calibration_error=0.0204),
        failed(data="yacht"),
        record(method="pbp", coverage=0.5),
    ]
    assert readme.calibration(found) == [
        "`deltauq`, share of the test rows within its 90 % intervals: boston 0.850, wine 0.910.",
        "`deltauq`, quantile calibration error: boston 0.510, wine 0.020.",
    ]


def test_no_calibration_of_a_set_with_fewer_splits_than_others_have():
    found = [record(), record(method="pbp"), record(method="pbp", split=1), record(data="wine")]
    assert [line.partition(": ")[2] for line in readme.calibration(found)] == [
        "wine 0.900.",
        "wine 0.020.",
    ]


def test_no_calibration_without_a_fit_of_delta_uq():
    assert readme.calibration([failed(), record(method="pbp")]) == []
    assert readme.calibration([record(method="pbp")]) == []


def test_splits_of_the_literature_come_with_its_figures():
    found = [record("boston", "deltauq-5", i, 2.3, protocol="hl90") for i in range(3)]
    found += [record("wine", "deltauq-5", i, 0.9, protocol="hl90") for i in range(2)]
    text = readme.block(found)
    assert text.startswith("NLL in nats on 2 to 3 splits a set (protocol `hl90`")
    assert "|   TabPFN v2 |" in text
    assert "- deltauq-5: lower NLL than NGBoost on 2 of 2 sets." in text
    assert "average rank" not in text.lower()


@pytest.mark.parametrize(
    "text", ["", BEGIN, TEXT + END, f"{END}\n{BEGIN}\n", TEXT.replace("paper: end", "gap: end")]
)
def test_missing_markers_are_an_error(text, tmp_path):
    with pytest.raises(ResultsError, match="should hold a pair of lines, <!-- results NAME"):
        readme.with_blocks(text, tmp_path)


def test_results_that_are_missing_are_an_error(files):
    path, folder = files
    (folder / "random80-paper.csv").unlink()
    with pytest.raises(ResultsError, match=r"there is no file or folder '.*random80-paper.csv'"):
        readme.write(path, folder)
    assert path.read_text() == TEXT
