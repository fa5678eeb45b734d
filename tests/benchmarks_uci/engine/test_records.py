import csv
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks_uci.engine.records import ResultsError, read, read_compact, write_compact
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import (
    failed,
    identifier,
    record,
    records,
    write_folder,
)


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


def test_results_of_another_study_are_named(tmp_path):
    write_folder([record()], tmp_path)
    (tmp_path / "random80").rename(tmp_path / "search")
    with pytest.raises(ResultsError, match="belongs to another study: its protocol 'search'"):
        read(tmp_path, STUDY)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (",done,", ",dne,", "line 2: its status is neither 'done' nor 'failed'"),
        (",done,", ",", "line 2: expected .* cells"),
        (",done,", ",done,,", "line 2: expected .* cells"),
        ("boston", "bostn", "line 2: it needs 'bostn', which random80-paper.json lacks"),
    ],
)
def test_damaged_rows_are_named(tmp_path, before, after, message):
    write_compact(records(), tmp_path, STUDY)
    path = tmp_path / "random80-paper.csv"
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ResultsError, match=message):
        read(path, STUDY)


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


COMMITTED = sorted((Path(__file__).parents[3] / "benchmarks_uci" / "results").glob("*.csv"))

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/someone/checkout/benchmarks_uci/engine/execute.py", line 3, in run_task\n'
    '  File "/home/someone/.venv/lib/python3.11/site-packages/torch/nn.py", line 9, in f\n'
    "ValueError: no"
)


def curve(shift):
    return [round(0.05 * i + shift, 4) for i in range(1, 20)]


def test_everything_except_the_curves_round_trips(tmp_path):
    found = [
        record(nll=-1 / 3, warnings=["few, epochs", 'a "quoted"\nline']),
        record(split=1, nll=1e-9, warnings=["few, epochs"]),
        record(split=2, machine={"system": "other"}, source="a download"),
        failed(split=3),
        failed(split=4, settings=None, settings_id=None, split_hash=None, split_name=None),
    ]
    write_compact(found, tmp_path, STUDY)
    back = read(tmp_path, STUDY)
    for one, other in zip(found, back, strict=True):
        assert one | {"source": None} == other | {"source": None}
    assert {one["source"] for one in back} == {"a download; boston.csv"}


def test_same_records_give_same_bytes(tmp_path):
    found = records()
    found[3] = failed(found[3]["data"], found[3]["method"], found[3]["split"])
    for i, one in enumerate(found):
        if one["status"] == "done":
            one["quantile_frequencies"] = curve(i / 1000)

    def write(records, name):
        return [path.read_bytes() for path in write_compact(records, tmp_path / name, STUDY)]

    first = write(found, "a")
    assert write(found[::-1], "b") == first
    assert write(read(tmp_path / "a", STUDY), "c") == first


def test_row_holds_the_numbers_in_full(tmp_path):
    path, _ = write_compact([record(nll=1 / 3), failed(split=1)], tmp_path, STUDY)
    assert path.name == "random80-paper.csv"
    text = path.read_text()
    assert text.splitlines()[0] == (
        "protocol,preset,data,method,split,split_name,status,n_train,n_test,n_features,nll,"
        "density_nll,rmse,crps,coverage,width,calibration_error,std_error_correlation,"
        "fit_seconds,predict_seconds,settings_id,split_hash,environment"
    )
    done, not_done = csv.DictReader(text.splitlines())
    assert done["nll"] == "0.3333333333333333"
    assert done["split_name"] == "seed 0"
    assert (not_done["status"], not_done["nll"]) == ("failed", "")


def test_repeated_values_are_in_the_json_once(tmp_path):
    found = [
        record(quantile_frequencies=curve(0), warnings=["few epochs"]),
        record(split=1, quantile_frequencies=curve(0.02)),
        record(split=2, quantile_frequencies=curve(0.01), warnings=["few epochs"]),
        failed(split=3, error=TRACEBACK),
    ]
    _, path = write_compact(found, tmp_path, STUDY)
    shared = json.loads(path.read_text())
    assert shared["settings"] == {record()["settings_id"]: record()["settings"]}
    assert len(shared["environments"]) == 1
    assert shared["warnings"] == {"boston": {"deltauq": {"few epochs": [0, 2]}}}
    frequencies = shared["quantile_frequencies"]["boston"]["deltauq"]
    np.testing.assert_allclose(frequencies, curve(0.01), atol=1e-6)
    error = shared["errors"]["boston"]["deltauq"]["3"]
    assert "/home" not in error
    assert 'File "benchmarks_uci/engine/execute.py", line 3' in error
    assert 'File "site-packages/torch/nn.py", line 9' in error


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("file /home/some one/uci/boston.csv.gz", "file boston.csv.gz"),
        (r"file C:\data\boston.csv", "file boston.csv"),
        (
            "embedded benchmarks_uci/data/boston.csv.gz",
            "embedded benchmarks_uci/data/boston.csv.gz",
        ),
        ("https://example.org/a/boston.csv", "https://example.org/a/boston.csv"),
    ],
)
def test_source_keeps_no_folder_of_the_machine(tmp_path, source, kept):
    write_compact([record(source=source)], tmp_path, STUDY)
    assert read(tmp_path, STUDY)[0]["source"] == kept


def test_list_of_numbers_is_on_one_line(tmp_path):
    _, path = write_compact([record(warnings=["in [\n1, 2]"])], tmp_path, STUDY)
    assert "[0.05, 0.1, 0.15, " in path.read_text()
    assert read(tmp_path, STUDY)[0]["warnings"] == ["in [\n1, 2]"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("nll,", "loss,", 1), "expected the columns protocol"),
        (lambda text: text.replace("0.25", "fast", 1), "line 2: .*'fast'"),
        (lambda text: text.splitlines()[0] + "\n", "has no rows"),
        (lambda text: "", "found none"),
    ],
)
def test_damaged_table_is_an_error(tmp_path, change, message):
    path, _ = write_compact([record()], tmp_path, STUDY)
    path.write_text(change(path.read_text()))
    with pytest.raises(ResultsError, match=message):
        read(path, STUDY)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_results_are_read_and_written_unchanged(path, tmp_path):
    found = read_compact(path, STUDY)
    assert {len(one[name]) for one in found for name in ("data_hash", "split_hash")} == {12}
    for written in write_compact(found, tmp_path, STUDY):
        assert written.read_bytes() == (path.parent / written.name).read_bytes()


@pytest.mark.parametrize("text", [None, "{", "{}"])
def test_table_without_its_json_is_an_error(tmp_path, text):
    path, beside = write_compact([record()], tmp_path, STUDY)
    beside.unlink() if text is None else beside.write_text(text)
    with pytest.raises(ResultsError, match=r"random80-paper.json"):
        read(path, STUDY)
