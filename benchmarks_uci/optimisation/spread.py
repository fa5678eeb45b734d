"""How large errors are beside the epistemic standard deviation, on few points without noise.

The first measure is a ratio of root mean squares on random points of three functions. The second
one is the share of the curve sin(6x) that lies within two standard deviations, after six even
points.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks_uci.analysis.tables import Table
from benchmarks_uci.optimisation.problems import DEVELOPMENT, PROBLEMS
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize import surrogate

COMMITTED = Path(__file__).parents[1] / "results" / "optimisation" / "spread" / "spread.csv"
FUNCTIONS = ("branin", "ackley-4", "hartmann-6")
SINE = "sin(6x), share within 2 std"
_N_POINTS, _N_TEST = 30, 1000


def _change(**settings) -> Callable[..., DeltaUQRegressor]:
    """Return a factory of the recommended surrogate with other settings."""
    return lambda random_state: surrogate(random_state=random_state).set_params(**settings)


METHODS: dict[str, Callable[..., DeltaUQRegressor]] = {
    'surrogate(), anchors="random"': _change(anchors="random"),
    "surrogate()": surrogate,
    "surrogate(), n_members=5": _change(n_members=5),
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


def measure(n_seeds: int, functions: Iterable[str] = FUNCTIONS) -> list[dict]:
    """Measure both for each surrogate, with development seeds; one record per number."""
    found = []
    for name, make in METHODS.items():
        for seed in DEVELOPMENT[:n_seeds]:
            values = {f: measure_ratio(make(random_state=seed), f, seed) for f in functions}
            values[SINE] = measure_sine(make(random_state=seed))
            found += [
                {"settings": name, "measure": key, "seed": seed, "value": value}
                for key, value in values.items()
            ]
    return found


def tabulate(records: list[dict]) -> Table:
    """One row per surrogate: means over the seeds."""
    settings, measures = (
        list(dict.fromkeys(r[key] for r in records)) for key in ("settings", "measure")
    )
    rows = []
    for name in settings:
        values = (
            [float(r["value"]) for r in records if (r["settings"], r["measure"]) == (name, m)]
            for m in measures
        )
        rows.append([f"`{name}`", *(f"{fmean(found):.2f}" for found in values)])
    return Table("Error over epistemic standard deviation", ["settings", *measures], rows)
