"""Calibration on simulated data with known truth."""

import numpy as np
import pytest

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from sk_deltauq.metrics import coverage, expected_calibration_error, quantile_calibration_error


def noisy_sine(rng, n):
    X = rng.uniform(-2, 2, size=(n, 3))
    std = 0.1 + 0.3 * np.abs(X[:, 1])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + std * rng.standard_normal(n)


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic"])
def test_intervals_of_five_members_have_their_coverage(noise):
    covered = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = noisy_sine(rng, 600)
        X_new, y_new = noisy_sine(rng, 2000)
        model = DeltaUQRegressor(n_members=5, noise=noise, random_state=seed).fit(X, y)
        covered.append(coverage(y_new, *model.predict_interval(X_new, 0.9).T))
    assert 0.87 < np.mean(covered) < 0.94
    # Held-out rows of one data set leave a standard error of about 0.02.
    assert np.min(covered) > 0.82


@pytest.mark.parametrize(("n", "tolerance"), [(300, 0.15), (1000, 0.05)])
def test_std_factors_match_the_errors_of_the_ensemble_mean(n, tolerance):
    """On new rows, the squared errors of the mean equal the predicted variances.

    The squared errors of one member are larger. With few rows, held-out rows look better than new
    rows, because they chose the epoch.
    """
    of_all, of_one = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = noisy_sine(rng, n)
        X_new, y_new = noisy_sine(rng, 2000)
        model = DeltaUQRegressor(n_members=5, widening=0, random_state=seed).fit(X, y)
        dist = model.predict_dist(X_new)
        of_all.append(np.mean((y_new - dist.mean) ** 2 / dist.std**2))
        means, stds = (part.reshape(5, 20, -1) for part in (dist.means, dist.stds))
        variance = means.var(axis=1, ddof=1) + (stds**2).mean(axis=1)
        squared_z = (y_new - means.mean(axis=1)) ** 2 / variance
        of_one.append(np.mean(squared_z))
    assert np.mean(of_all) == pytest.approx(1, abs=tolerance)
    assert np.mean(of_one) - np.mean(of_all) > 0.05, "the members must differ for this test"


def test_quantiles_are_calibrated_on_many_rows():
    rng = np.random.default_rng(0)
    X, y = noisy_sine(rng, 5000)
    X_new, y_new = noisy_sine(rng, 5000)
    model = DeltaUQRegressor(n_members=5, random_state=0).fit(X, y)
    assert quantile_calibration_error(y_new, model.predict_dist(X_new)) < 0.02


def test_epistemic_uncertainty_is_larger_in_a_gap_of_the_data():
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-3, 3, size=300)
        x = x[np.abs(x) > 1][:, np.newaxis]  # a gap in the middle
        y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(len(x))
        model = DeltaUQRegressor(n_members=5, random_state=seed).fit(x, y)
        gap = model.predict_uncertainty(np.linspace(-0.7, 0.7, 50)[:, np.newaxis]).epistemic
        ratios.append(gap.mean() / model.predict_uncertainty(x).epistemic.mean())
    assert np.median(ratios) > 1.2


def test_class_probabilities_are_calibrated():
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4000, 3))
        p = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1] ** 2 + 1))
        y = (rng.uniform(size=4000) < p).astype(int)
        model = DeltaUQClassifier(n_members=5, random_state=seed).fit(X[:2000], y[:2000])
        errors.append(expected_calibration_error(y[2000:], model.predict_proba(X[2000:])))
    assert np.mean(errors) < 0.03
