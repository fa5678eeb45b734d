"""Coverage of our conformal intervals over many simulated training sets.

Rows have three features. The noise depends on one of them. Each repetition draws training rows,
100 rows for `conformalize`, and 2000 test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks_uci.analysis.tables import write_pipes
from benchmarks_uci.intervals.splits import Rows
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import PBPRegressor
from sk_deltauq.metrics import coverage

COMMITTED = Path(__file__).parents[1] / "results" / "conformal" / "simulated.csv"
COVERAGE = 0.9
N_KEPT, N_TEST = 100, 2000
FIRST_SEED = 5000


@dataclass(frozen=True)
class Case:
    """An estimator with some training rows, and validation rows of the user."""

    name: str
    make: Callable[..., Any]
    n_train: int
    n_held_out: int  # by all networks together
    n_folds: int
    n_val: int = 0

    @property
    def title(self) -> str:
        """Name and rows, for the table."""
        return f"{self.name}, {self.n_train}{f' + {self.n_val}' if self.n_val else ''}"


CASES = [
    Case("`DeltaUQRegressor()`", DeltaUQRegressor, 40, 40, 5),
    Case("`DeltaUQRegressor()`", DeltaUQRegressor, 60, 60, 5),
    Case("`DeltaUQRegressor()`", DeltaUQRegressor, 100, 60, 3),
    Case("`DeltaUQRegressor()`", DeltaUQRegressor, 200, 60, 3),
    Case("`DeltaUQRegressor()`", DeltaUQRegressor, 1000, 100, 1),
    Case("20 members", partial(DeltaUQRegressor, n_members=20), 60, 60, 5),
    Case("`X_val`", DeltaUQRegressor, 80, 20, 1, n_val=20),
    Case("`PBPRegressor()`", PBPRegressor, 60, 12, 1),
    Case("`PBPRegressor()`", PBPRegressor, 100, 20, 1),
    Case("`PBPRegressor()`", PBPRegressor, 200, 20, 1),
    Case("`PBPRegressor()`", PBPRegressor, 1000, 100, 1),
]


def draw(rng: np.random.Generator, n_rows: int) -> Rows:
    """Draw rows and targets."""
    X = rng.uniform(-2, 2, size=(n_rows, 3))
    std = 0.3 + 0.3 * np.abs(X[:, 1])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + std * rng.standard_normal(n_rows)


def measure(case: Case, seed: int) -> dict:
    """Fit one training set, and return the coverage after `fit` and after `conformalize`."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    train, validation = draw(rng, case.n_train), draw(rng, case.n_val)
    kept, test = draw(rng, N_KEPT), draw(rng, N_TEST)
    options = {"X_val": validation[0], "y_val": validation[1]} if case.n_val else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows are what the study is about
        model = case.make(random_state=seed).fit(*train, **options)
    after_fit = _cover(model, *test)
    return {
        "case": case.title,
        "seed": seed,
        "after_fit": after_fit,
        "after_conformalize": _cover(model.conformalize(*kept), *test),
    }


def measure_all(n_repetitions: int, cases: Iterable[Case] = CASES) -> Iterable[dict]:
    """Measure each case with the first seeds."""
    for case in cases:
        for seed in range(n_repetitions):
            yield measure(case, seed)


def write_table(records: list[dict]) -> str:
    """Return means and standard errors as Markdown: one row per case."""
    rows = []
    for case in CASES:
        part = [record for record in records if record["case"] == case.title]
        if part:
            cells = [_format(part, key) for key in ("after_fit", "after_conformalize")]
            rows.append([case.title, f"{case.n_held_out}", f"{case.n_folds}", *cells])
    headers = ["estimator, rows", "held out", "folds", "after `fit`", "after `conformalize`"]
    return write_pipes(headers, rows, n_left=1)


def _cover(model, X: np.ndarray, y: np.ndarray) -> float:
    return coverage(y, *model.predict_interval(X, COVERAGE, method="conformal").T)


def _format(records: list[dict], key: str) -> str:
    values = [float(record[key]) for record in records]
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{fmean(values):.3f} ± {error:.3f}"
