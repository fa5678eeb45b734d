"""Fit and score the cases: one row per case and seed."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterable
from typing import Any

from sklearn.linear_model import BayesianRidge

from benchmarks_uci.trust.cases import Case
from benchmarks_uci.trust.names import CLASSIFIER, COMPARISON
from benchmarks_uci.trust.problem import Problem
from benchmarks_uci.trust.scores import score_classes, score_normal, score_ours
from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor

WARNING = "UncertaintyWarning"  # by name, because early versions of the package have no such class
QUICK_EPOCHS = 2


def run(case: Case, seed: int, quick: bool = False) -> dict[str, Any]:
    """Fit and score one case; `available` is 0 if the estimator lacks a parameter of the case."""
    problem = case.draw(seed)
    row = {
        "situation": case.situation,
        "cell": case.cell,
        "method": case.method,
        "seed": seed,
        "n": len(problem.X),
        "features": problem.X.shape[1],
        "available": 1,
    }
    if find_missing(case, problem):
        return {**row, "available": 0}
    model, score = make(case, seed, quick)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        with case.around_fit():
            model.fit(problem.X, problem.y, **problem.fit)
        seconds = time.process_time() - start
        scores = score(model, problem)
    warned = any(warning.category.__name__ == WARNING for warning in caught)
    return {**row, **scores, "warned": int(warned), "fit_seconds": round(seconds, 3)}


def make(case: Case, seed: int, quick: bool):
    """Return a new estimator and the function that scores it."""
    if case.method == COMPARISON:
        return BayesianRidge(**case.params), score_normal
    kind, score = _find_kind(case), score_classes if case.method == CLASSIFIER else score_ours
    params = {**case.params, "random_state": seed, **({"max_iter": QUICK_EPOCHS} if quick else {})}
    return kind(**params), score


def find_missing(case: Case, problem: Problem) -> list[str]:
    """List the parameters of the case that this version of the package does not have."""
    if case.method == COMPARISON:
        return []
    kind = _find_kind(case)
    known = inspect.signature(kind).parameters, inspect.signature(kind.fit).parameters
    wanted = case.params, problem.fit
    return [
        name for has, asks in zip(known, wanted, strict=True) for name in asks if name not in has
    ]


def run_case(case: Case, quick: bool = False) -> list[dict[str, Any]]:
    """Run every seed of a case; the first seed only if `quick`."""
    return [run(case, seed, quick) for seed in case.seeds[: 1 if quick else None]]


def select_quick(cases: Iterable[Case]) -> list[Case]:
    """Keep one case per situation and method: enough to test the code."""
    first: dict[tuple[str, str], Case] = {}
    for case in cases:
        first.setdefault((case.situation, case.method), case)
    return list(first.values())


def _find_kind(case: Case):
    return DeltaUQClassifier if case.method == CLASSIFIER else DeltaUQRegressor
