import csv
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks_uci.engine.compact import ResultsError, read_compact, write_compact
from benchmarks_uci.engine.records import read
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, record, records

COMMITTED = sorted((Path(__file__).parents[3] / "benchmarks_uci" / "results").glob("*.csv"))

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/someone/checkout/benchmarks_uci/engine/execute.py", line 3, in run_task\n'
    '  File "/home/someone/.venv/lib/python3.11/site-packages/torch/nn.py", line 9, in f\n'
    "ValueError: no"
)


def curve(shift):
    return [round(0.05 * i + shift, 4) for i in range(1, 20)]


def test_all_but_the_curves_round_trips(tmp_path):
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
