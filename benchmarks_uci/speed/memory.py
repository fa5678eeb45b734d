"""Peak memory of predicting many rows, in a process of its own: it runs this module."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np

from benchmarks_uci.speed.results import Result
from benchmarks_uci.threads import threads

N_FEATURES, N_ANCHORS = 9, 20


def measure(quick: bool) -> list[Result]:
    """Peak memory over input and output, for both precisions of the input."""
    n_rows = 10_000 if quick else 1_000_000
    results = []
    for dtype in ("float32", "float64"):
        results.append(
            Result(
                f"peak memory of predict with std, n = {n_rows:,}, K = {N_ANCHORS}, {dtype}",
                "the arrays themselves",
                peak_in_new_process(dtype, n_rows) / 1e6,
                "MB more",
                goal=300,
            )
        )
    return results


def peak_in_new_process(dtype: str, n_rows: int) -> int:
    """`predict_peak` where nothing else has used memory before."""
    command = [sys.executable, "-m", __name__, dtype, str(n_rows)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def peak_bytes() -> int:
    """Largest resident memory of this process so far.

    On Linux `ru_maxrss` begins with that of the parent process, which is why the kernel's own
    file is read there.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def predict_peak(dtype: str, n_rows: int) -> int:
    """Bytes that `predict(X, return_std=True)` needs beyond `X` and its two answers."""
    from benchmarks_uci.speed.prediction import fitted_model

    model = fitted_model()
    X = np.random.default_rng(0).standard_normal((n_rows, N_FEATURES), dtype=dtype)
    model.predict(X[:1000], return_std=True)  # what is loaded at the first call
    before = peak_bytes()
    answers = model.predict(X, return_std=True)
    return peak_bytes() - before - sum(a.nbytes for a in answers)


if __name__ == "__main__":
    with threads(1):
        print(max(0, predict_peak(sys.argv[1], int(sys.argv[2]))))
