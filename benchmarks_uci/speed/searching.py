"""A grid search in one process and in two."""

from __future__ import annotations

import functools

from sklearn.model_selection import GridSearchCV, ParameterGrid

from benchmarks_uci.speed.results import Result, measure_in_turns, speed_up
from benchmarks_uci.speed.training import random_rows
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.metrics import nll_scorer

GRID = {"hidden_layer_sizes": [(50,), (50, 50)], "alpha": [0.0, 1e-3]}


def measure(quick: bool) -> list[Result]:
    """The speed-up of two jobs."""
    n_rows = 60 if quick else 1030
    X, y = random_rows(n_rows, 8)
    functions = {
        name: functools.partial(search, X, y, n_jobs)
        for name, n_jobs in (("one job", 1), ("two jobs", 2))
    }
    if not quick:
        functions["two jobs"]()  # starts the processes that later searches use again
    seconds = measure_in_turns(functions, 1 if quick else 2)
    n_settings = len(ParameterGrid(GRID))
    what = f"GridSearchCV(n_jobs=2), n = {n_rows:,}, {n_settings} settings, 3 folds"
    return [speed_up(what, "n_jobs=1", seconds, "two jobs", "one job", goal=1.7)]


def search(X, y, n_jobs):
    """Run a search as a user would, with our default settings."""
    model = DeltaUQRegressor(random_state=0)
    grid = GridSearchCV(model, GRID, scoring=nll_scorer, cv=3, n_jobs=n_jobs, refit=False)
    return grid.fit(X, y)
