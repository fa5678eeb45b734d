"""Scores of one fitted estimator on the test rows of a problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss, r2_score

from benchmarks_uci.trust.problem import Problem
from sk_deltauq import metrics
from sk_deltauq.distributions import NormalMixture

COVERAGE = 0.9


def score_classes(model: Any, problem: Problem) -> dict[str, float]:
    """Log loss in nats, and its excess over the class frequencies of the training rows."""
    frequencies = np.bincount(problem.y) / len(problem.y)
    baseline = np.tile(frequencies, (len(problem.y_test), 1))
    loss = log_loss(problem.y_test, model.predict_proba(problem.X_test))
    return {
        "log_loss": float(loss),
        "excess_log_loss": float(loss - log_loss(problem.y_test, baseline)),
    }


def score_normal(model: Any, problem: Problem) -> dict[str, float]:
    """Score an estimator of scikit-learn whose predictive distribution is normal."""
    mean, std = model.predict(problem.X_test, return_std=True)
    return score_distribution(NormalMixture(mean[None], std[None]), problem)


def score_ours(model: Any, problem: Problem) -> dict[str, float]:
    """Score a regressor of the package; epistemic parts only if the problem has a focus."""
    dist = model.predict_dist(problem.X_test)
    found = score_distribution(dist, problem)
    if problem.focus is not None:
        medians = [np.median(dist.epistemic[rows]) for rows in (problem.focus, ~problem.focus)]
        found["epistemic_ratio"] = float(medians[0] / medians[1])
    return found


def score_distribution(dist: Any, problem: Problem) -> dict[str, float]:
    """Score predictive distributions; `crps` is divided by the standard deviation of the targets.

    Three scores are about the rows in focus, if the problem names any: `focus_coverage`,
    `negative` (the share of negative lower ends) and `width_ratio` (median of width over ideal
    width).
    """
    y = problem.y_test
    lower, upper = dist.interval(COVERAGE).T
    error = np.abs(dist.mean - y)
    found = {
        "coverage": metrics.coverage(y, lower, upper),
        "width": metrics.mean_width(lower, upper),
        "crps": metrics.crps(y, dist) / float(np.std(y)),
        "nll": float(np.mean(-dist.log_pdf(y))),
        "r2": float(r2_score(y, dist.mean)),
        "within_2_std": float(np.mean(error < 2 * dist.std)),
    }
    focus = slice(None) if problem.focus is None else problem.focus
    found["negative"] = float(np.mean(lower[focus] < 0))
    if problem.focus is not None:
        found["focus_coverage"] = metrics.coverage(y[focus], lower[focus], upper[focus])
    if problem.ideal_width is not None:
        ratios = (upper - lower)[focus] / problem.ideal_width[focus]
        found["width_ratio"] = float(np.median(ratios))
    return found
