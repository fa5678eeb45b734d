import numpy as np
import pytest
from scipy import stats

from benchmarks_uci.regression.external import MarginalGaussian
from benchmarks_uci.regression.metrics import CURVES, LEVELS, METRICS, SECONDS
from benchmarks_uci.regression.scores import correlate_ranks, count_below_quantiles, score
from sk_deltauq import NormalMixture

NAMES = [name for name in METRICS if name not in SECONDS]


@pytest.fixture(scope="module")
def y():
    return 5 + 2 * np.random.default_rng(0).standard_normal(400)


def scores_of(dist, y):
    return score(y, dist.mean, dist.std, dist)


def test_scores_of_one_normal_equal_scipy(y):
    model = MarginalGaussian().fit(None, y[:200])
    X, y = np.zeros((200, 1)), y[200:]
    normal = stats.norm(model.mean_, model.noise_std_)
    found = scores_of(model.predict_dist(X), y)
    lower, upper = normal.interval(0.9)
    samples = normal.rvs((2, 400_000), random_state=0)
    crps = np.mean([np.abs(samples[0] - value).mean() for value in y])
    crps -= np.abs(samples[0] - samples[1]).mean() / 2
    assert found["nll"] == pytest.approx(-normal.logpdf(y).mean())
    assert found["density_nll"] == pytest.approx(found["nll"])
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - model.mean_) ** 2)))
    assert found["crps"] == pytest.approx(crps, rel=0.01)
    assert found["coverage"] == pytest.approx(np.mean((lower <= y) & (y <= upper)))
    assert found["width"] == pytest.approx(upper - lower)
    assert found["std_error_correlation"] == 0
    frequencies = [np.mean(y <= normal.ppf(level)) for level in np.linspace(0.05, 0.95, 19)]
    assert found["quantile_frequencies"] == pytest.approx(frequencies)
    assert found["calibration_error"] == pytest.approx(
        np.mean(np.abs(np.subtract(frequencies, LEVELS)))
    )


def test_scores_are_plain_numbers(y):
    found = scores_of(MarginalGaussian().fit(None, y).predict_dist(np.zeros((400, 1))), y)
    assert [*found] == [*NAMES, *CURVES]
    assert all(type(found[name]) is float for name in NAMES)
    assert [type(value) for value in found["quantile_frequencies"]] == [float] * 19


def test_two_likelihoods_differ_for_a_mixture(y):
    means = np.stack([np.full(400, 3.0), np.full(400, 7.0)])
    found = scores_of(NormalMixture(means, np.ones_like(means)), y)
    density = (stats.norm.pdf(y, 3, 1) + stats.norm.pdf(y, 7, 1)) / 2
    # Variance 1 of the noise and 4 of the means
    assert found["nll"] == pytest.approx(-stats.norm.logpdf(y, 5, np.sqrt(5)).mean())
    assert found["density_nll"] == pytest.approx(-np.log(density).mean())


def test_units_of_the_target_shift_and_scale_the_scores(y):
    rng = np.random.default_rng(1)
    means, stds = rng.normal(5, 1, (3, 400)), rng.uniform(1, 3, (3, 400))
    one = scores_of(NormalMixture(means, stds), y)
    other = scores_of(NormalMixture(10 * means, 10 * stds), 10 * y)
    for name in ("nll", "density_nll"):
        assert other[name] == pytest.approx(one[name] + np.log(10))
    for name in ("rmse", "crps", "width"):
        assert other[name] == pytest.approx(10 * one[name])
    for name in ("coverage", "calibration_error", "std_error_correlation"):
        assert other[name] == pytest.approx(one[name])


def test_correlation_is_computed_from_ranks():
    rng = np.random.default_rng(0)
    std, error = rng.uniform(size=(2, 50))
    ranks = np.corrcoef(np.argsort(np.argsort(std)), np.argsort(np.argsort(error)))[0, 1]
    assert correlate_ranks(std, error) == pytest.approx(ranks)
    assert correlate_ranks(std, np.exp(5 * std)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("std", "error"), [([2.0, 2.0, 2.0], [1.0, 0.0, 3.0]), ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])]
)
def test_correlation_of_a_constant_is_zero(std, error):
    assert correlate_ranks(np.array(std), np.array(error)) == 0
    assert correlate_ranks(np.array([1.0]), np.array([2.0])) == 0


def test_value_at_a_point_mass_is_at_its_quantiles():
    y = np.array([1.0, 2.0])
    assert count_below_quantiles(y, NormalMixture([[1.0, 1.0]], [[0.0, 0.0]])) == [0.5] * 19
