import numpy as np
import pytest
from scipy import stats

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics import (
    coverage,
    crps,
    gaussian_crps,
    gaussian_nll,
    interval_score,
    mean_width,
    nll,
    quantile_calibration_error,
)


@pytest.mark.parametrize("shape", [(50,), (50, 2)])
def test_nll_equals_scipy(rng, shape):
    y, mean, std = rng.normal(size=shape), rng.normal(size=shape), rng.uniform(0.5, 2, size=shape)
    weight = rng.uniform(size=50)
    scores = -stats.norm(mean, std).logpdf(y).reshape(50, -1).mean(axis=1)
    assert gaussian_nll(y, mean, std) == pytest.approx(scores.mean())
    expected = (weight * scores).sum() / weight.sum()
    assert gaussian_nll(y, mean, std, sample_weight=weight) == pytest.approx(expected)
    dist = NormalMixture(mean[None], std[None])
    assert nll(y, dist, sample_weight=weight) == pytest.approx(expected)


def test_gaussian_crps_equals_closed_form(rng):
    y, mean, std = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.5, 2, size=50)
    z, normal = (y - mean) / std, stats.norm
    scores = std * (z * (2 * normal.cdf(z) - 1) + 2 * normal.pdf(z) - 1 / np.sqrt(np.pi))
    assert gaussian_crps(y, mean, std) == pytest.approx(scores.mean())
    assert crps(y, NormalMixture([mean], [std])) == pytest.approx(scores.mean())
    assert gaussian_crps(y, mean, np.zeros(50)) == pytest.approx(np.abs(y - mean).mean())


def test_interval_score_equals_its_definition():
    y, lower, upper = [0.0, 3.0, -2.0], [-1.0, 0.0, 0.0], [1.0, 2.0, 1.0]
    expected = (2 + (2 + 2 / 0.2 * 1) + (1 + 2 / 0.2 * 2)) / 3
    assert interval_score(y, lower, upper, coverage=0.8) == pytest.approx(expected)


def test_interval_score_is_lowest_for_the_true_quantiles(rng):
    y = rng.normal(size=20_000)

    def score(width):
        return interval_score(y, np.full_like(y, -width), np.full_like(y, width), 0.9)

    assert score(1.645) < min(score(1.4), score(1.9))


def test_coverage_and_mean_width_by_hand():
    y, lower, upper = [[0.0, 3.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [1.0, 4.0]]
    assert coverage(y, lower, upper) == 0.75
    assert coverage(y, lower, upper, sample_weight=[1, 0]) == 0.5
    assert mean_width(lower, upper) == 2
    assert mean_width(lower, upper, sample_weight=[1, 3]) == pytest.approx((1.5 + 3 * 2.5) / 4)


def test_calibration_error_of_the_true_distribution_is_small(rng):
    dist = NormalMixture(rng.normal(size=(5, 20_000)), rng.uniform(0.5, 1, size=(5, 20_000)))
    y = dist.sample(1, random_state=1)[:, 0]
    assert quantile_calibration_error(y, dist) < 0.006


def test_calibration_error_of_half_the_true_std(rng):
    y = rng.normal(size=(40_000, 2))
    levels = np.linspace(0.1, 0.9, 9)
    observed = stats.norm.cdf(stats.norm.ppf(levels) / 2)
    dist = NormalMixture(np.zeros((1, 40_000, 2)), np.full((1, 40_000, 2), 0.5))
    error = quantile_calibration_error(y, dist, quantiles=levels)
    assert error == pytest.approx(np.abs(observed - levels).mean(), abs=0.006)


@pytest.mark.parametrize("std", [0.0, 0.3])
def test_calibration_error_counts_values_up_to_the_quantile(rng, std):
    # Rounding matters at multiples of 1 / n_components and at values equal to point masses.
    means, levels = rng.normal(size=(20, 200)), np.arange(1, 20) / 20
    dist = NormalMixture(means, np.full_like(means, std))
    y = np.where(rng.uniform(size=200) < 0.5, means[3], rng.normal(size=200))
    weight = rng.uniform(size=200)
    observed = np.average(y[:, None] <= dist.ppf(levels), axis=0, weights=weight)
    error = quantile_calibration_error(y, dist, sample_weight=weight)
    assert error == pytest.approx(np.abs(observed - levels).mean())


@pytest.mark.parametrize("value", [0, 1.5, "a", None, [0.9]])
def test_interval_score_rejects_invalid_coverage(value):
    with pytest.raises(ValueError, match="coverage must be one number strictly between 0 and 1"):
        interval_score([1.0], [0.0], [2.0], value)


def test_one_sided_intervals_can_have_an_infinite_end():
    y, upper = np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 1.5)
    lower = np.full(4, -np.inf)
    assert coverage(y, lower, upper) == 0.5
    assert mean_width(lower, upper) == np.inf
    with pytest.raises(ValueError, match="lower must not contain NaN"):
        coverage(y, np.full(4, np.nan), upper)
