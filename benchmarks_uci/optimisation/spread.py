"""How large errors are beside the epistemic standard deviation, on few points without noise."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
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
    with warnings.catch_warnings():
        # Few points without a hold-out: this is what the table is about.
        for category in (ConvergenceWarning, UncertaintyWarning):
            warnings.simplefilter("ignore", category)
        model.fit(X, [problem.function(x) for x in X])
    error = np.asarray(model.predict(new)) - [problem.function(x) for x in new]
    std = model.predict_uncertainty(new).epistemic
    return float(np.sqrt(np.mean(error**2) / np.mean(std**2)))


def tabulate(n_seeds: int, functions: Iterable[str] = FUNCTIONS) -> Table:
    """Measure the mean ratio of each method and function, over development seeds."""
    functions = list(functions)
    rows = []
    for name, make in METHODS.items():
        cells = []
        for function in functions:
            found = [
                measure_ratio(make(random_state=s), function, s) for s in DEVELOPMENT[:n_seeds]
            ]
            cells.append(f"{np.mean(found):.2f}")
        rows.append([name, *cells])
    return Table("Error over epistemic standard deviation", ["settings", *functions], rows)
