"""Scores of a fitted estimator on test rows."""

from __future__ import annotations

import numpy as np

from sk_deltauq import metrics

COVERAGE = 0.9


def score(model, X, y) -> dict[str, float]:
    """All scores, in the units of `y`; the likelihood is that of a Gaussian, as in the paper.

    NLL and RMSE are those of `predict(X, return_std=True)`, the rest of the predictive
    distribution: CRPS, and the part of the rows in the central 90 % interval and its mean width.
    """
    mean, std = model.predict(X, return_std=True)
    dist = model.predict_dist(X)
    lower, upper = dist.interval(COVERAGE).T
    return {
        "nll": metrics.gaussian_nll(y, mean, std),
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "crps": metrics.crps(y, dist),
        "coverage": metrics.coverage(y, lower, upper),
        "width": metrics.mean_width(lower, upper),
    }
