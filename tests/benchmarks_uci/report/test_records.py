import json

import pytest

from benchmarks_uci.report import ResultsError, read, write_compact
from tests.benchmarks_uci.report._helpers import record, records, write_folder


def test_results_folder_is_read_in_order(tmp_path):
    found = records()
    write_folder(reversed(found), tmp_path)
    # By set and method, as `records` makes them
    assert read(tmp_path) == found


def test_what_is_no_result_is_passed_over(tmp_path):
    write_folder([record()], tmp_path)
    folder = tmp_path / "random80" / "paper" / "boston" / "deltauq"
    (folder / ".00.json.abc.tmp").write_text("{")
    (folder / "00.json.bad").write_text("{")
    assert read(str(tmp_path)) == [record()]


def test_compact_folder_and_file_are_read(tmp_path):
    both = [*records(preset="default"), *records()]
    write_compact(both, tmp_path)
    assert read(tmp_path) == both
    assert read(tmp_path / "random80-paper.csv") == records()


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
        read(make(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Delete it, and the next run does the task again"),
        ('{"protocol": "rand', "is not a result"),
        ("[1]", "expected a JSON object"),
        ('{"protocol": "random80"}', "has no preset, data, method, split, status"),
        (json.dumps(record(split=1)), "wrong place: .* random80/paper/boston/deltauq/1"),
    ],
)
def test_damaged_file_is_named(tmp_path, text, message):
    write_folder([record()], tmp_path)
    (tmp_path / "random80" / "paper" / "boston" / "deltauq" / "00.json").write_text(text)
    with pytest.raises(ResultsError, match=f"00.json .*{message}"):
        read(tmp_path)


def test_both_forms_in_one_folder_are_an_error(tmp_path):
    write_folder([record()], tmp_path)
    write_compact([record()], tmp_path)
    with pytest.raises(ResultsError, match=r"both .* \(random80-paper.csv\)"):
        read(tmp_path)


def test_mixed_settings_are_found_when_reading(tmp_path):
    write_folder([record(), record(split=1, settings_id="0" * 12)], tmp_path)
    with pytest.raises(ResultsError, match="mixed results, `settings_id`"):
        read(tmp_path)
