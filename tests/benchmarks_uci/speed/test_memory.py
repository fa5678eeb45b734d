import numpy as np
import pytest

from benchmarks_uci.speed import memory, prediction
from benchmarks_uci.speed.memory import PEAKS, read_peak_bytes


def test_peak_grows_and_stays():
    before = read_peak_bytes()
    block = np.ones(before // 8 + 4_000_000)  # larger than any earlier peak
    assert read_peak_bytes() > before + 30_000_000
    del block
    assert read_peak_bytes() > before + 30_000_000  # the kernel counts in batches of pages


@pytest.fixture
def readings(monkeypatch):
    """The peaks that the code reads one after the other."""
    values = [1_000_000, 10_000_000]
    monkeypatch.setattr(memory, "read_peak_bytes", lambda: values.pop(0))
    return values


@pytest.mark.parametrize("large", [False, True])
def test_peak_of_a_prediction_excludes_its_answers(readings, large):
    # Two float64 numbers per row
    assert PEAKS["predict"](n_rows=200, large=large) == 9_000_000 - 200 * 2 * 8
    assert readings == []


def test_peak_of_tiling_runs_tiling(readings, monkeypatch):
    rows = []

    def tiled(model, X):
        rows.append(len(X))
        return X[:, 0], X[:, 1]

    monkeypatch.setattr(prediction, "predict_tiled", tiled)
    assert PEAKS["predict_tiled"](n_rows=200, dtype="float64") == 9_000_000 - 200 * 2 * 8
    assert rows[-1] == 200


def test_peak_of_a_fit_includes_its_data(readings):
    assert PEAKS["fit"](n_rows=100, n_features=3) == 9_000_000


def test_measurement_compares_the_peaks(monkeypatch):
    def peak(name, n_rows, dtype="float32", large=False, n_features=0):
        return {"predict": 2e6, "predict_tiled": 4e7, "fit": 4e6}[name] + (dtype == "float64")

    monkeypatch.setattr(memory, "measure_peak_in_new_process", peak)
    found = [(result.value, result.met) for result in memory.measure(quick=True)]
    # Two precisions, ten times the rows, a twentieth of tiling, twice the data of 2 MB
    assert found == [
        *[(2, True), (pytest.approx(2), True)],
        *[(0, True), (0.05, True), (2, True)],
    ]


def test_statement_runs_in_a_new_interpreter():
    assert memory.time_import("time.sleep(0.2)") >= 0.2


def test_import_times_are_compared(monkeypatch):
    seconds = {
        "import sk_deltauq": 0.5,
        "import torch": 2.0,
        "from sk_deltauq import DeltaUQRegressor": 1.5,
        "import torch, sklearn, skorch": 1.4,
    }
    monkeypatch.setattr(memory, "time_import", seconds.get)
    package, estimator = memory.measure_import(quick=True)
    assert package.value == 0.25
    assert (package.what, package.against) == ("import sk_deltauq", "import torch")
    assert estimator.value == pytest.approx(0.1)
    assert package.met
    assert estimator.met
