import json

import pytest

from benchmarks_uci.engine.compact import ResultsError, write_compact
from benchmarks_uci.engine.records import read
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import identifier, record, records, write_folder


def test_results_folder_is_read_in_order(tmp_path):
    found = records()
    write_folder(reversed(found), tmp_path)
    # By set and method, as `records` makes them
    assert read(tmp_path, STUDY) == found


def test_files_that_are_no_results_are_ignored(tmp_path):
    write_folder([record()], tmp_path)
    folder = tmp_path / "random80" / "paper" / "boston" / "deltauq"
    (folder / ".00.json.abc.tmp").write_text("{")
    (folder / "00.json.bad").write_text("{")
    assert read(str(tmp_path), STUDY) == [record()]


def test_compact_folder_and_file_are_read(tmp_path):
    both = [*records(preset="default"), *records()]
    write_compact(both, tmp_path, STUDY)
    assert read(tmp_path, STUDY) == both
    assert read(tmp_path / "random80-paper.csv", STUDY) == records()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "nowhere", "there is no file or folder '.*nowhere'"),
        (lambda folder: folder, "is empty: expected <protocol>/<preset>/"),
        (lambda folder: (folder / "x.txt").write_text("x") and folder, "has no results"),
    ],
)
def test_folder_without_results_is_an_error(tmp_path, make, message):
    with pytest.raises(ResultsError, match=message):
        read(make(tmp_path), STUDY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Delete it, and the next run does the task again"),
        ('{"protocol": "rand', "is not a result"),
        ("[1]", "expected a JSON object"),
        ('{"protocol": "random80"}', "status is neither"),
        (
            json.dumps(record(split=1)),
            "holds the result of random80/paper/boston/deltauq/1, not of .*deltauq/0",
        ),
    ],
)
def test_damaged_file_is_named(tmp_path, text, message):
    write_folder([record()], tmp_path)
    (tmp_path / "random80" / "paper" / "boston" / "deltauq" / "00.json").write_text(text)
    with pytest.raises(ResultsError, match=f"00.json .*{message}"):
        read(tmp_path, STUDY)


def test_both_forms_in_one_folder_are_an_error(tmp_path):
    write_folder([record()], tmp_path)
    write_compact([record()], tmp_path, STUDY)
    with pytest.raises(ResultsError, match=r"both .* \(random80-paper.csv\)"):
        read(tmp_path, STUDY)


def test_longer_hashes_of_older_results_are_cut(tmp_path):
    older = record(data_hash=identifier("x") + "0" * 52, split_hash=identifier("y") + "1" * 52)
    expected = {**older, "data_hash": identifier("x"), "split_hash": identifier("y")}
    write_folder([older], tmp_path / "folder")
    write_compact([older], tmp_path / "compact", STUDY)
    assert read(tmp_path / "folder", STUDY) == [expected]
    assert read(tmp_path / "compact", STUDY) == [expected]
