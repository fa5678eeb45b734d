"""Scores of predictions for test rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from sk_deltauq import metrics

COVERAGE = 0.9
# Of the predictive quantiles whose frequencies are recorded: 0.05, 0.10, ..., 0.95
LEVELS = np.arange(1, 20) / 20

# The scores that are single numbers
NAMES = (
    "nll",
    "density_nll",
    "rmse",
    "crps",
    "coverage",
    "width",
    "calibration_error",
    "std_error_correlation",
)


def score(y, mean, std, dist) -> dict:
    """All scores, in the units of `y`: the `NAMES`, and `quantile_frequencies`, a list.

    `nll`, `rmse` and `std_error_correlation` are those of `mean` and `std`, which are what
    `predict(X, return_std=True)` gives: the likelihood is that of a Gaussian, as in the paper.
    The others are of the predictive distribution itself: its likelihood (`density_nll`), CRPS,
    the part of the rows in the central 90 % interval and its mean width, and how often its
    quantiles hold.
    """
    lower, upper = dist.interval(COVERAGE).T
    return {
        "nll": metrics.gaussian_nll(y, mean, std),
        "density_nll": metrics.nll(y, dist),
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "crps": metrics.crps(y, dist),
        "coverage": metrics.coverage(y, lower, upper),
        "width": metrics.mean_width(lower, upper),
        "calibration_error": metrics.quantile_calibration_error(y, dist, quantiles=LEVELS),
        "std_error_correlation": std_error_correlation(std, np.abs(y - mean)),
        "quantile_frequencies": quantile_frequencies(y, dist),
    }


def std_error_correlation(std, error) -> float:
    """Spearman's rank correlation; 0 where either is constant, as it then ranks no row."""
    if len(std) < 2 or np.ptp(std) == 0 or np.ptp(error) == 0:
        return 0.0
    return float(spearmanr(std, error).statistic)


def quantile_frequencies(y, dist) -> list[float]:
    """For each of the `LEVELS`: the part of `y` that is at most its predicted quantile."""
    # y is at most its q-quantile where the cdf is still below q to the left of y.
    below = dist.cdf(np.nextafter(y, -np.inf))
    return [float(np.mean(below < level)) for level in LEVELS]
