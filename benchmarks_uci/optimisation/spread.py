"""How large errors are beside the epistemic standard deviation, on few points without noise.

The first measure is a ratio of root mean squares on random points of three functions. The second
one is the share of the curve sin(6x) that lies within two standard deviations, after six even
points.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks_uci.analysis.tables import Table
from benchmarks_uci.optimisation.problems import DEVELOPMENT, PROBLEMS
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize import surrogate

FUNCTIONS = ("branin", "ackley-4", "hartmann-6")
_N_POINTS, _N_TEST = 30, 1000


METHODS = {
    "surrogate()": surrogate,
    "surrogate(calibrated=True)": partial(surrogate, calibrated=True),
}


def measure_ratio(model: DeltaUQRegressor, function: str, seed: int) -> float:
    """Return the root mean square error over the root mean square of the epistemic std."""
    problem = PROBLEMS[function]
    low, high = np.array(problem.bounds).T
    X, new = (
        np.random.default_rng(s).uniform(low, high, (n, len(low)))
        for s, n in ((seed, _N_POINTS), (seed + 1000, _N_TEST))
    )
    errors, std = find_errors(model, problem.function, X, new)
    return float(np.sqrt(np.mean(errors**2) / np.mean(std**2)))


def measure_sine(model: DeltaUQRegressor) -> float:
    """Return the share of sin(6x) within two standard deviations, after six points."""
    X, grid = (np.linspace(0, 1, n)[:, None] for n in (6, 200))
    errors, std = find_errors(model, lambda x: float(np.sin(6 * x[0])), X, grid)
    return float(np.mean(np.abs(errors) <= 2 * std))


def find_errors(
    model: DeltaUQRegressor, function: Callable[[np.ndarray], float], X, new
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the points `X`; return the errors and the epistemic std of new points."""
    with warnings.catch_warnings():
        # Few points without a hold-out: this is what the table is about.
        for category in (ConvergenceWarning, UncertaintyWarning):
            warnings.simplefilter("ignore", category)
        model.fit(X, [function(x) for x in X])
    errors = np.asarray(model.predict(new)) - [function(x) for x in new]
    return errors, model.predict_uncertainty(new).epistemic


def tabulate(n_seeds: int, functions: Iterable[str] = FUNCTIONS) -> Table:
    """Measure both for each method: means over development seeds."""
    functions, seeds = list(functions), DEVELOPMENT[:n_seeds]
    rows = []
    for name, make in METHODS.items():
        cells = [
            np.mean([measure_ratio(make(random_state=s), function, s) for s in seeds])
            for function in functions
        ]
        cells.append(np.mean([measure_sine(make(random_state=s)) for s in seeds]))
        rows.append([name, *(f"{cell:.2f}" for cell in cells)])
    header = ["settings", *functions, "sin(6x), share within 2 std"]
    return Table("Error over epistemic standard deviation", header, rows)
