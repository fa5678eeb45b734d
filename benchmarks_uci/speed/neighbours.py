"""Neighbours as anchors beside a deep ensemble and random anchors, and their two searches."""

from __future__ import annotations

import functools
import importlib.util
import logging
import warnings
from typing import NamedTuple

from sklearn.datasets import make_friedman1

from benchmarks_uci.speed.results import Result, measure_in_turns, slow_down, speed_up
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import DeepEnsembleRegressor

logger = logging.getLogger("benchmarks_uci")

N_MEMBERS, N_FEATURES = 5, 8
OURS, RANDOM, ENSEMBLE = "neighbours", "random anchors", "deep ensemble"


class Case(NamedTuple):
    """Rows of the training set and of the prediction, and rounds."""

    n_rows: int
    n_new: int
    n_fits: int
    n_predictions: int


CASES = [Case(1030, 10_000, 5, 9), Case(10_000, 10_000, 1, 9)]
QUICK_CASES = [Case(100, 50, 1, 1)]

# The searches are compared with so many features that the exact one has no tree. Two epochs show
# what a fit does before the networks train.
SEARCH_FEATURES, SEARCH_EPOCHS = 30, 2
SEARCH_CASE = Case(50_000, 10_000, 1, 3)
QUICK_SEARCH_CASE = Case(100, 50, 1, 1)
APPROXIMATE, EXACT = "approximate search", "exact search"

GOAL_FIT, GOAL_PREDICTION = 1.5, 3


def measure(quick: bool) -> list[Result]:
    """Whole fits until all networks stop, with refined means, and predictions with a std."""
    results = []
    for case in QUICK_CASES if quick else CASES:
        results += _measure(case, 2 if quick else 400)
    return results + _measure_searches(QUICK_SEARCH_CASE if quick else SEARCH_CASE)


def _measure(case: Case, max_iter: int) -> list[Result]:
    X, y = make_friedman1(case.n_rows, N_FEATURES, noise=1.0, random_state=0)
    new, _ = make_friedman1(case.n_new, N_FEATURES, random_state=1)
    models = _make_models(max_iter)
    functions = {name: functools.partial(_fit, model, X, y) for name, model in models.items()}
    seconds = measure_in_turns(functions, case.n_fits)
    predictions = {
        name: functools.partial(model.predict, new, return_std=True)
        for name, model in models.items()
    }
    measure_in_turns(predictions, 1)  # loads what the first call needs
    size = f"{case.n_rows:,} training rows, d = {N_FEATURES}"
    fit = f"fit of five members with neighbours and refined means, {size}"
    predict = f"predict with std, {case.n_new:,} rows, five members with neighbours, {size}"
    asked = measure_in_turns(predictions, case.n_predictions)
    return [
        slow_down(fit, "the deep ensemble", seconds, OURS, ENSEMBLE, GOAL_FIT),
        slow_down(fit, "random anchors", seconds, OURS, RANDOM),
        slow_down(predict, "random anchors", asked, OURS, RANDOM, GOAL_PREDICTION),
    ]


def _measure_searches(case: Case) -> list[Result]:
    """One member with the approximate search beside the same with the exact one."""
    if importlib.util.find_spec("faiss") is None:
        logger.warning("Left out: %s. faiss is not installed.", APPROXIMATE)
        return []
    X, y = make_friedman1(case.n_rows, SEARCH_FEATURES, noise=1.0, random_state=0)
    new, _ = make_friedman1(case.n_new, SEARCH_FEATURES, random_state=1)
    models = {
        name: DeltaUQRegressor(
            anchors="neighbours",
            neighbor_search=search,
            max_iter=SEARCH_EPOCHS,
            random_state=0,
        )
        for name, search in ((APPROXIMATE, "approximate"), (EXACT, "exact"))
    }
    fits = {name: functools.partial(_fit, model, X, y) for name, model in models.items()}
    seconds = measure_in_turns(fits, case.n_fits)
    predictions = {
        name: functools.partial(model.predict, new, return_std=True)
        for name, model in models.items()
    }
    asked = measure_in_turns(predictions, case.n_predictions)
    rows = f"{case.n_rows:,} training rows, d = {SEARCH_FEATURES}"
    size = f"approximate search for neighbours, {rows}"
    fit, predict = f"fit of {SEARCH_EPOCHS} epochs", f"predict with std, {case.n_new:,} rows"
    return [
        speed_up(f"{fit}, {size}", "the exact search", seconds, APPROXIMATE, EXACT),
        speed_up(f"{predict}, {size}", "the exact search", asked, APPROXIMATE, EXACT),
    ]


def _make_models(max_iter: int) -> dict:
    """Make the models; the defaults of anchors differ in their number."""
    common = {
        "n_members": N_MEMBERS,
        "refine_mean": True,
        "max_iter": max_iter,
        "random_state": 0,
    }
    return {
        OURS: DeltaUQRegressor(anchors="neighbours", n_anchors=10, **common),
        RANDOM: DeltaUQRegressor(**common),
        ENSEMBLE: DeepEnsembleRegressor(**common),
    }


def _fit(model, X, y) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a quick measurement ends before training converges
        model.fit(X, y)
