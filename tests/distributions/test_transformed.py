"""Transformed mixtures against the log-normal distribution of SciPy, and against draws."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from sk_deltauq._estimators.target_transform import fit_target_transform
from sk_deltauq.distributions import NormalMixture, TransformedMixture
from sk_deltauq.metrics import crps, nll, quantile_calibration_error

LOG = SimpleNamespace(forward=np.log, inverse=np.exp, log_derivative=lambda y: -np.log(y))
HALF = SimpleNamespace(
    forward=lambda y: y / 2,
    inverse=lambda z: 2 * z,
    log_derivative=lambda y: np.full_like(y, -np.log(2)),
)
SINH = SimpleNamespace(
    forward=np.arcsinh,
    inverse=np.sinh,
    log_derivative=lambda y: -0.5 * np.log1p(y**2),
)
MU, SIGMA = np.array([0.0, 1.0, -2.0]), np.array([0.5, 0.2, 0.9])
LOGNORMAL = stats.lognorm(s=SIGMA, scale=np.exp(MU))


@pytest.fixture
def lognormal():
    """Three log-normal distributions."""
    return TransformedMixture(NormalMixture(MU[None], SIGMA[None]), LOG)


@pytest.fixture
def mixed():
    """Mixtures of 4 components, 3 rows, 2 outputs, each output with its own map."""
    rng = np.random.default_rng(0)
    means, stds = rng.normal(size=(4, 3, 2)), rng.uniform(0.2, 0.6, (4, 3, 2))
    return TransformedMixture(NormalMixture(means, stds), [LOG, SINH])


def test_one_component_is_the_log_normal_of_scipy(lognormal):
    y, q = np.array([0.7, 2.0, 0.4]), np.array([0.01, 0.5, 0.9])
    np.testing.assert_allclose(lognormal.mean, LOGNORMAL.mean(), rtol=1e-9)
    np.testing.assert_allclose(lognormal.std, LOGNORMAL.std(), rtol=1e-7)
    np.testing.assert_allclose(lognormal.pdf(y), LOGNORMAL.pdf(y), rtol=1e-10)
    np.testing.assert_allclose(lognormal.log_pdf(1.3), LOGNORMAL.logpdf(1.3), rtol=1e-10)
    np.testing.assert_allclose(lognormal.cdf(y), LOGNORMAL.cdf(y), rtol=1e-10)
    expected = np.stack([LOGNORMAL.ppf(level) for level in q], axis=-1)
    np.testing.assert_allclose(lognormal.ppf(q), expected, rtol=1e-9)
    expected = np.stack(LOGNORMAL.interval(0.9), axis=-1)
    np.testing.assert_allclose(lognormal.interval(0.9), expected, rtol=1e-9)


@pytest.mark.parametrize("y", [1e-3, 0.3, 1.0, 4.0, 60.0])
def test_crps_is_the_closed_form_of_the_log_normal(lognormal, y):
    # Baran and Lerch (2015), eq. (5).
    z = (np.log(y) - MU) / SIGMA
    phi = stats.norm.cdf
    expected = y * (2 * phi(z) - 1) - 2 * np.exp(MU + SIGMA**2 / 2) * (
        phi(z - SIGMA) + phi(SIGMA / np.sqrt(2)) - 1
    )
    np.testing.assert_allclose(lognormal.crps(y), expected, rtol=1e-6, atol=1e-9)


def test_the_mean_deviation_is_the_closed_form_of_the_log_normal(lognormal):
    # Twice the mean shortfall below the mean
    expected = 2 * np.exp(MU + SIGMA**2 / 2) * (2 * stats.norm.cdf(SIGMA / 2) - 1)
    np.testing.assert_allclose(lognormal.mean_deviation, expected, rtol=1e-6)


def test_the_density_integrates_to_one_and_to_the_distribution_function(mixed):
    for row in range(3):
        for output in range(2):
            picked = TransformedMixture(
                NormalMixture(
                    mixed.latent.means[:, [row], output], mixed.latent.stds[:, [row], output]
                ),
                mixed.maps[output],
            )
            low, high = picked.ppf([1e-9, 1 - 1e-9])[0]

            def density(y, picked=picked):
                return float(picked.pdf(y)[0])

            middle = float(picked.ppf(0.5)[0])
            below = integrate.quad(density, low, middle, limit=200)[0]
            above = integrate.quad(density, middle, high, limit=200)[0]
            assert below == pytest.approx(0.5, abs=1e-6)
            assert above == pytest.approx(0.5, abs=1e-6)


def test_draws_agree_with_moments_crps_and_quantiles(mixed):
    draws = mixed.sample(200_000, random_state=0)
    assert draws.shape == (3, 2, 200_000)
    np.testing.assert_allclose(draws.mean(axis=-1), mixed.mean, atol=0.03 * mixed.std.max())
    np.testing.assert_allclose(draws.std(axis=-1), mixed.std, rtol=0.1)
    y = np.array([[0.5, -1.0], [2.0, 0.0], [1.0, 3.0]])
    other = mixed.sample(200_000, random_state=1)
    energy = np.abs(draws - y[..., None]).mean(axis=-1) - np.abs(draws - other).mean(axis=-1) / 2
    np.testing.assert_allclose(mixed.crps(y), energy, rtol=0.03)
    below = (draws <= mixed.ppf([0.3])).mean(axis=-1)
    np.testing.assert_allclose(below, 0.3, atol=0.01)


def test_a_linear_map_is_the_mixture_in_other_units(mixed):
    latent = NormalMixture(mixed.latent.means, mixed.latent.stds)
    dist = TransformedMixture(latent, HALF)
    scaled = NormalMixture(2 * latent.means, 2 * latent.stds)
    y = np.linspace(-2, 3, 6).reshape(3, 2)
    for name in ("mean", "std", "epistemic", "aleatoric"):
        np.testing.assert_allclose(getattr(dist, name), getattr(scaled, name), rtol=1e-9)
    for name in ("log_pdf", "pdf", "cdf"):
        np.testing.assert_allclose(getattr(dist, name)(y), getattr(scaled, name)(y), rtol=1e-9)
    np.testing.assert_allclose(dist.crps(y), scaled.crps(y), rtol=1e-5)


def test_epistemic_and_aleatoric_parts_have_the_latent_ratio(mixed):
    np.testing.assert_allclose(mixed.std**2, mixed.epistemic**2 + mixed.aleatoric**2)
    latent = mixed.latent
    np.testing.assert_allclose(
        mixed.epistemic / mixed.aleatoric, latent.epistemic / latent.aleatoric
    )


def test_point_masses_have_a_distribution_function_and_no_density():
    dist = TransformedMixture(NormalMixture([[0.0, 1.0]], [[0.0, 0.0]]), LOG)
    np.testing.assert_allclose(dist.mean, [1, np.e])
    np.testing.assert_array_equal(dist.std, 0)
    np.testing.assert_array_equal(dist.epistemic, 0)
    np.testing.assert_allclose(dist.crps([3.0, 1.0]), [2, np.e - 1])
    with pytest.raises(ValueError, match="density does not exist"):
        dist.log_pdf(1.0)


def test_rows_are_selected(mixed):
    part = mixed[[2, 0]]
    np.testing.assert_array_equal(part.mean, mixed.mean[[2, 0]])
    assert part.n_samples == 2
    assert part.n_components == 4
    assert mixed[1].mean.shape == (1, 2)
    assert repr(mixed) == "TransformedMixture(n_components=4, shape=(3, 2))"
    with pytest.raises(IndexError):
        mixed[[[0, 1]]]


def test_metrics_accept_transformed_mixtures(lognormal):
    y = np.array([0.7, 2.0, 0.4])
    assert nll(y, lognormal) == pytest.approx(-LOGNORMAL.logpdf(y).mean())
    assert crps(y, lognormal) == pytest.approx(lognormal.crps(y).mean())
    assert 0 <= quantile_calibration_error(y, lognormal) <= 1


def test_invalid_values_are_rejected(lognormal, mixed):
    with pytest.raises(ValueError, match="y must have the shape"):
        lognormal.cdf([1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        lognormal.log_pdf(np.nan)
    with pytest.raises(ValueError, match="maps must be one map"):
        TransformedMixture(mixed.latent, [LOG])
    with pytest.raises(ValueError, match="coverage must"):
        lognormal.interval(1.0)


def test_results_are_copies(lognormal):
    lognormal.mean[:] = 0
    lognormal.std[:] = 0
    assert (lognormal.mean > 0).all()
    assert (lognormal.std > 0).all()


def test_no_rows():
    empty = TransformedMixture(NormalMixture(np.ones((2, 0)), np.ones((2, 0))), HALF)
    assert empty.mean.shape == (0,)
    assert empty.crps(np.ones(0)).shape == (0,)


def test_mixtures_can_be_pickled(mixed):
    dist = TransformedMixture(mixed.latent, [_Plain(), _Plain()])
    again = pickle.loads(pickle.dumps(dist))
    np.testing.assert_array_equal(again.mean, dist.mean)


class _Plain:
    """A map that can be pickled."""

    def forward(self, y):
        return y

    def inverse(self, z):
        return z

    def log_derivative(self, y):
        return np.zeros_like(y)


def test_a_piecewise_linear_map_is_as_accurate_as_documented():
    """The second route is a fine sum over the quantiles."""
    rng = np.random.default_rng(0)
    (g,) = fit_target_transform(["quantile"], rng.lognormal(size=(1000, 1)), np.ones(1000)).maps
    means, stds = rng.normal(size=200), rng.uniform(0.1, 1, 200)
    dist = TransformedMixture(NormalMixture(means[None], stds[None]), g)
    levels = (np.arange(20_000) + 0.5) / 20_000
    values = g.inverse(means[:, None] + stds[:, None] * stats.norm.ppf(levels))
    np.testing.assert_array_less(np.abs(dist.mean - values.mean(axis=1)), 0.01 * dist.std)
    np.testing.assert_allclose(dist.std, values.std(axis=1), rtol=0.01)
    observed = g.inverse(rng.normal(size=200))
    # E|Y - y| - E|Y - Y'| / 2; the second term is a sum over the sorted values.
    half_spread = (values * (2 * levels - 1)).mean(axis=1)
    expected = np.abs(values - observed[:, None]).mean(axis=1) - half_spread
    found = dist.crps(observed)
    assert np.median(np.abs(found / expected - 1)) < 0.02
    np.testing.assert_allclose(found, expected, rtol=0.12)
    assert found.mean() == pytest.approx(expected.mean(), rel=0.005)
