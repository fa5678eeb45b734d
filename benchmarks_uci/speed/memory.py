"""What needs a new process: peak memory of prediction and fit, and the import time."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from statistics import median
from typing import Any

import numpy as np

from benchmarks_uci.speed import prediction, training
from benchmarks_uci.speed.results import Result, compute_medians, slow_down
from benchmarks_uci.threads import threads

PEAK = "peak memory of predict with std"
BEYOND = f"{PEAK} beyond the arrays"
STATEMENTS = {
    "package": "import sk_deltauq",
    "torch": "import torch",
    "estimator": "from sk_deltauq import DeltaUQRegressor",
    "libraries": "import torch, sklearn, skorch",
}


def measure(quick: bool) -> list[Result]:
    """Peak memory compared with the arrays, with more rows, and with tiling."""
    return [*_measure_prediction(quick), _measure_tiling(quick), _measure_fit(quick)]


def _measure_prediction(quick):
    n_rows = 10_000 if quick else 1_000_000
    single, double = (
        measure_peak_in_new_process("predict", n_rows=n_rows, dtype=dtype) / 1e6
        for dtype in ("float32", "float64")
    )
    many = measure_peak_in_new_process("predict", n_rows=10 * n_rows, dtype="float32") / 1e6
    what = f"{PEAK}, n = {n_rows:,}, K = {prediction.N_ANCHORS}"
    arrays, parts = "input and output arrays", {f"{10 * n_rows:,}": many, f"{n_rows:,}": single}
    what_many = f"{BEYOND}, n = {10 * n_rows:,}, float32"
    return [
        Result(f"{what}, float32", arrays, single, "MB more", goal=300),
        Result(f"{what}, float64", arrays, double, "MB more", goal=300),
        _compare(what_many, f"n = {n_rows:,}", many - single, "MB more", 10, parts),
    ]


def _measure_tiling(quick):
    n_rows = 1000 if quick else 45_730
    ours, tiled = (
        measure_peak_in_new_process(name, n_rows=n_rows, large=True) / 1e6
        for name in ("predict", "predict_tiled")
    )
    what, parts = f"{BEYOND}, n = {n_rows:,}, {prediction.LARGE}", {"ours": ours, "tile": tiled}
    return _compare(what, "concatenate and tile", ours / tiled, "times as much", 0.1, parts)


def _measure_fit(quick):
    n_rows, n_features = (10_000 if quick else 1_000_000), 50
    peak = measure_peak_in_new_process("fit", n_rows=n_rows, n_features=n_features) / 1e6
    data = 4 * n_rows * n_features / 1e6
    what = f"peak memory of data and fit, n = {n_rows:,}, d = {n_features}"
    parts = {"peak": peak, "data": data}
    return _compare(what, "the data in float32", peak / data, "times as much", 2.5, parts)


def _compare(what, against, value, unit, goal, parts):
    return Result(what, against, value, unit, goal, parts=parts, parts_unit="MB")


def measure_peak_in_new_process(name: str, **settings) -> int:
    """One of the `PEAKS`, measured in a process that has done nothing else."""
    command = [sys.executable, "-m", __name__, name, json.dumps(settings)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def measure_import(quick: bool) -> list[Result]:
    """Import time of the package against torch, and of an estimator against the libraries."""
    seconds = {name: [] for name in STATEMENTS}
    for _ in range(1 if quick else 3):
        for name, statement in STATEMENTS.items():
            seconds[name].append(time_import(statement))
    more = [a - b for a, b in zip(seconds["estimator"], seconds["libraries"], strict=True)]
    package, torch, estimator, libraries = STATEMENTS.values()
    return [
        slow_down(package, torch, seconds, "package", "torch", goal=1.25),
        Result(
            *(estimator, libraries, median(more), "s more"),
            goal=0.2,
            parts=compute_medians(seconds, "estimator", "libraries"),
        ),
    ]


def time_import(statement: str) -> float:
    """Measure the seconds of one import statement in a new interpreter."""
    code = f"import time; start = time.perf_counter(); {statement}\n"
    code += "print(time.perf_counter() - start)"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)


def read_peak_bytes() -> int:
    """Largest resident memory of this process so far.

    On Linux `ru_maxrss` starts at the value of the parent process, so the kernel's file is read.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        import resource  # Windows has none

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def predict_peak(n_rows: int, dtype="float32", large=False, tiled=False) -> int:
    """Bytes of `predict(X, return_std=True)` beyond `X` and the two arrays that it returns."""
    shape = prediction.LARGE if large else prediction.SMALL
    model = prediction.fit_model(shape)
    X = _random_rows(n_rows, shape.n_features, np.dtype(dtype))
    predict = functools.partial(prediction.predict_tiled, model)
    if not tiled:
        predict = functools.partial(model.predict, return_std=True)
    predict(X[:1000])  # loads what the first call needs
    before = read_peak_bytes()
    answers = predict(X)
    return read_peak_bytes() - before - sum(a.nbytes for a in answers)


def fit_peak(n_rows: int, n_features: int) -> int:
    """Measure the peak memory of a fit of one epoch, float32 data included, in bytes."""

    def fit(n_rows):
        X = _random_rows(n_rows, n_features, np.dtype("float32"))
        training.fit_ours(X, X[:, 0].copy(), "auto", 1)

    fit(1000)  # loads what the first call needs
    before = read_peak_bytes()
    fit(n_rows)
    return read_peak_bytes() - before


def _random_rows(n_rows, n_features, dtype: Any) -> np.ndarray:
    # Drawn in this dtype, so that no larger array counts towards the peak
    return np.random.default_rng(0).standard_normal((n_rows, n_features), dtype=dtype)


PEAKS = {
    "predict": predict_peak,
    "predict_tiled": functools.partial(predict_peak, tiled=True),
    "fit": fit_peak,
}

if __name__ == "__main__":
    with threads(1):
        print(max(0, PEAKS[sys.argv[1]](**json.loads(sys.argv[2]))))
