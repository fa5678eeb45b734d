"""Fit a method, predict the test rows, and score the predictions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks_uci.datasets import Dataset
from benchmarks_uci.engine.study import Split
from benchmarks_uci.regression.metrics import COVERAGE, LEVELS
from benchmarks_uci.timing import warm_up
from sk_deltauq import metrics


def fit_and_score(model: Any, requires: str | None, split: Split, dataset: Dataset) -> dict:
    """Fit on the training rows and score on the test rows; all metrics and curves by name."""
    X, y = dataset.X[split.test], dataset.y[split.test]
    warm_up(model, requires)
    # Processor time, because a fit has one thread: other work of the machine does not count.
    start = time.process_time()
    model.fit(dataset.X[split.train], dataset.y[split.train])
    fitted = time.process_time()
    mean, std = model.predict(X, return_std=True)
    predicted = time.process_time()
    seconds = {"fit_seconds": fitted - start, "predict_seconds": predicted - fitted}
    return {**score(y, mean, std, model.predict_dist(X)), **seconds}


def score(y, mean, std, dist) -> dict:
    """Compute all scores of predictions, in the units of `y`.

    `nll`, `rmse` and `std_error_correlation` use `mean` and `std` of `predict(X,
    return_std=True)`; the likelihood is Gaussian, as in the paper. The others use the predictive
    distribution itself: its likelihood (`density_nll`), CRPS, the fraction of rows in the central
    90 % interval, the mean width of this interval, and the frequencies of the targets below its
    quantiles.
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
        "std_error_correlation": correlate_ranks(std, np.abs(y - mean)),
        "quantile_frequencies": count_below_quantiles(y, dist),
    }


def correlate_ranks(std, error) -> float:
    """Return Spearman's rank correlation; 0 if either is constant, because it ranks no row."""
    if len(std) < 2 or np.ptp(std) == 0 or np.ptp(error) == 0:
        return 0.0
    return float(spearmanr(std, error)[0])  # pyright: ignore


def count_below_quantiles(y, dist) -> list[float]:
    """For each of the `LEVELS`, return the fraction of `y` up to its predicted quantile."""
    # y is at most its q-quantile if the cdf just left of y is still below q.
    below = dist.cdf(np.nextafter(y, -np.inf))
    return [float(np.mean(below < level)) for level in LEVELS]
