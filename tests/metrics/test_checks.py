import numpy as np
import pandas as pd
import pytest

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics import (
    brier_score,
    coverage,
    crps,
    expected_calibration_error,
    gaussian_crps,
    gaussian_nll,
    interval_score,
    mean_width,
    nll,
    ood_auroc,
    quantile_calibration_error,
)


def test_metrics_accept_all_containers_and_precisions(rng):
    y, mean, std = rng.normal(size=(3, 20)).astype(np.float32)
    std = np.exp(std)
    expected = gaussian_nll(*(a.astype(float) for a in (y, mean, std)))
    index = np.arange(20)[::-1]
    for convert in (np.asarray, list, lambda a: pd.Series(a, index=index), pd.array):
        score = gaussian_nll(convert(y), mean, convert(std), sample_weight=convert(np.ones(20)))
        assert score == pytest.approx(expected, rel=1e-12)
        assert type(score) is float
        assert type(nll(convert(y), NormalMixture([mean], [std]))) is float


def test_rows_of_weight_zero_do_not_count(rng):
    y, mean, std = rng.normal(size=10), rng.normal(size=10), rng.uniform(1, 2, size=10)
    dist, keep = NormalMixture([mean], [std]), np.arange(10) > 3
    for metric in (nll, crps, quantile_calibration_error):
        whole = metric(y, dist, sample_weight=keep)
        assert whole == pytest.approx(metric(y[keep], dist[keep]))


ROWS = np.array([1.0, 2.0, 3.0])
THREE = NormalMixture(np.zeros((1, 3)), np.ones((1, 3)))
PROBA = np.full((3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_nll(ROWS, ROWS[:, None], ROWS), "mean must have the shape of y_true"),
        (lambda: gaussian_nll(ROWS, ROWS, ROWS[:2]), "std must have the shape of y_true"),
        (lambda: gaussian_nll(ROWS, ROWS, [1, 0, 1]), "std must be positive, got a minimum of 0"),
        (lambda: gaussian_nll(ROWS, ROWS, [1, -1, 1]), "std must be positive"),
        (lambda: gaussian_crps(ROWS, ROWS, -ROWS), "stds must not be negative"),
        (lambda: gaussian_nll([np.nan, 1, 2], ROWS, ROWS), "y_true must not contain NaN"),
        (lambda: gaussian_nll([], [], []), "y_true must have at least one row"),
        (lambda: gaussian_nll(["a", "b"], [0, 1], [1, 1]), "y_true must be real numbers"),
        (
            lambda: coverage([[1, 2], [3]], [0, 0], [1, 1]),
            "y_true must be an array",
        ),
        (lambda: mean_width(0.0, 1.0), r"lower must have at least one row, got shape \(\)"),
        (lambda: gaussian_nll([0, 1, np.inf], ROWS, ROWS), "y_true must not contain infinity"),
        (lambda: brier_score([0, 1], [0.5, 0.5]), "pass both columns of predict_proba"),
        (lambda: nll(ROWS[:, None], THREE), "y must have the shape of the distribution"),
        (lambda: nll(ROWS, THREE, labels=[1]), "labels must be None"),
        (lambda: crps(ROWS[:2], THREE), "y must have the shape of the distribution"),
        (lambda: crps([0, 1, np.nan], THREE), "y_true must not contain NaN"),
        (lambda: interval_score(ROWS, ROWS, ROWS, coverage=90), "strictly between 0 and 1"),
        (lambda: interval_score(ROWS, ROWS, ROWS - 1), "lower must not exceed upper"),
        (lambda: coverage(ROWS, ROWS[:2], ROWS), "lower must have the shape of y_true"),
        (lambda: mean_width(ROWS, ROWS[:2]), "upper must have the shape of lower"),
        (lambda: quantile_calibration_error(ROWS, THREE, quantiles=[0, 0.5]), "quantiles must be"),
        (
            lambda: quantile_calibration_error(ROWS, THREE, quantiles=[np.nan]),
            "must not contain",
        ),
        (lambda: brier_score([0, 1, 1], PROBA), "labels must name the 3 columns"),
        (lambda: brier_score([0, 1, 2], PROBA, labels=[0, 1, 3]), "y_true must contain labels"),
        (lambda: brier_score(["a", "b", "c"], PROBA, labels=[0, 1, 2]), "y_true must contain"),
        (
            lambda: brier_score([0, 1, 1], PROBA, labels=[0, 1, 1]),
            "must name each class once",
        ),
        (lambda: brier_score([None, "a", "b"], PROBA), "y_true must be a 1-D array of labels"),
        (lambda: brier_score([0, 1, 2], 2 * PROBA), "must be probabilities"),
        (lambda: brier_score([0, 1, 2, 2], PROBA), "as many rows, got 4 and 3"),
        (lambda: brier_score([0, 1, 2], np.nan * PROBA), "y_proba must not contain NaN"),
        (lambda: expected_calibration_error([0, 1, 2], PROBA, n_bins=0), "n_bins must be"),
        (lambda: nll(ROWS, THREE, sample_weight=[1, 1]), "sample_weight must have shape"),
        (lambda: nll(ROWS, THREE, sample_weight=[1, 1, -1]), "sample_weight must not be negative"),
        (lambda: nll(ROWS, THREE, sample_weight=[0, 0, 0]), "not 0 throughout"),
        (lambda: ood_auroc([np.nan], [1.0]), "in_scores must not contain NaN"),
        (lambda: ood_auroc([0.1], [[0.5]]), "out_scores must have shape"),
        (lambda: gaussian_nll([10**400], [0], [1]), "y_true must be real numbers: int too large"),
    ],
)
def test_metrics_reject_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("metric", "method"),
    [(nll, "log_pdf"), (crps, "crps"), (quantile_calibration_error, "cdf")],
)
def test_metrics_reject_arguments_in_the_wrong_order(metric, method):
    message = f"dist must be a distribution with the method {method}, .*, got ndarray"
    with pytest.raises(TypeError, match=message):
        metric(THREE, ROWS)
