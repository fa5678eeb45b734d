"""The time of one call of `predict` with a std, for few rows, against `MLPRegressor`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import NamedTuple

from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor

from benchmarks_uci.speed.results import (
    Result,
    Seconds,
    compute_medians,
    measure_in_turns,
    slow_down,
)
from sk_deltauq import DeltaUQRegressor

MLP = "MLPRegressor"
OURS = {"n_members=1": 1, "n_members=5": 5}  # with few rows, one member may be several networks


class Case(NamedTuple):
    """Rows of a call, and its goals: milliseconds, and the ratio to `MLPRegressor`."""

    n_rows: int
    goal_ms: float
    goal_ratio: float | None


CASES = [Case(1, 1, 5), Case(100, 2, None)]

# Calls of each function in a round. A round is short, so that a slow phase of the machine affects
# all functions alike.
N_CALLS = 20


def measure(quick: bool) -> list[Result]:
    """For each number of rows and of members, milliseconds and the ratio to `MLPRegressor`."""
    X, models = _fit_models(5 if quick else 50)
    return [result for case in CASES for result in _measure(case, X, models, 2 if quick else 100)]


def _fit_models(max_iter: int):
    """Fit briefly: times do not depend on the weights."""
    X, y = load_diabetes(return_X_y=True)
    models = {
        MLP: MLPRegressor(max_iter=max_iter, random_state=0),
        **{
            name: DeltaUQRegressor(n_members=n_members, max_iter=max_iter, random_state=0)
            for name, n_members in OURS.items()
        },
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training ends before it converges
        return X, {name: model.fit(X, y) for name, model in models.items()}


def _measure(case: Case, X, models, n_rounds: int) -> list[Result]:
    rows = X[: case.n_rows]
    functions = {
        name: functools.partial(
            repeat, functools.partial(model.predict, rows, **_ask_for_std(name))
        )
        for name, model in models.items()
    }
    measure_in_turns(functions, 1)  # loads what the first call needs
    milliseconds = time_per_call(measure_in_turns(functions, n_rounds))
    results = []
    for name in OURS:
        size = "1 row" if case.n_rows == 1 else f"{case.n_rows} rows"
        model = models[name]
        components = f"{model.n_networks_} networks, {model.n_components_} components"
        what = f"predict with std, {size} of diabetes, {name} ({components})"
        value = compute_medians(milliseconds, name)[name]
        ratio = slow_down(what, f"{MLP}.predict", milliseconds, name, MLP, case.goal_ratio)
        results += [
            Result(what, "", value, "ms per call", case.goal_ms),
            Result(**{**vars(ratio), "parts_unit": "ms"}),
        ]
    return results


def _ask_for_std(name: str) -> dict[str, bool]:
    return {} if name == MLP else {"return_std": True}


def repeat(function: Callable) -> None:
    """Call a function `N_CALLS` times."""
    for _ in range(N_CALLS):
        function()


def time_per_call(seconds: Seconds) -> Seconds:
    """Convert seconds of a round to milliseconds of one call."""
    return {name: [1e3 * s / N_CALLS for s in values] for name, values in seconds.items()}
