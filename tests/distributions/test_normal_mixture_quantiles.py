"""Quantiles and intervals of mixtures of normal distributions, with and without point masses."""

import numpy as np
import pytest
from scipy import optimize, stats

from sk_deltauq.distributions import NormalMixture
from tests.distributions._mixtures import LEVELS, draw_mixture, list_rows


@pytest.mark.parametrize("n_components", [1, 2, 20])
@pytest.mark.parametrize("spread", [0.1, 1, 30])
def test_ppf_against_brentq(rng, n_components, spread):
    dist = draw_mixture(rng, (n_components, 3), spread)
    quantiles = dist.ppf(LEVELS)
    for normal, row, std in zip(list_rows(dist), quantiles, dist.std, strict=True):
        for q, x in zip(LEVELS, row, strict=True):
            # Compare in the smaller tail, which rounds less; 1 - q is exact in the upper half.
            tail, level = (normal.cdf, q) if q <= 0.5 else (normal.sf, 1 - q)

            def mismatch(y, tail=tail, level=level):
                return tail(y).mean() / level - 1

            root = optimize.brentq(mismatch, -300, 300, xtol=1e-13, rtol=1e-14)
            assert abs(x - root) < 1e-9 * std


@pytest.mark.parametrize("narrowest", [1e-12, 1e-3, 0.3])
def test_cdf_inverts_ppf(rng, narrowest):
    means = rng.normal(size=(20, 50, 2))
    stds = np.exp(rng.uniform(np.log(narrowest), 0, size=means.shape))
    quantiles = NormalMixture(means, stds).ppf(LEVELS)
    step = 1e-9 * NormalMixture(means, stds).std
    for column, q in enumerate(LEVELS):
        # A step in x instead of in the cdf, which may be steep.
        low, high = quantiles[..., column] - step, quantiles[..., column] + step
        normal = stats.norm(means, stds)
        if q <= 0.5:
            assert (normal.cdf(low).mean(axis=0) <= q * (1 + 1e-12)).all()
            assert (normal.cdf(high).mean(axis=0) >= q * (1 - 1e-12)).all()
        else:
            assert (normal.sf(low).mean(axis=0) >= (1 - q) * (1 - 1e-12)).all()
            assert (normal.sf(high).mean(axis=0) <= (1 - q) * (1 + 1e-12)).all()


def test_ppf_in_a_gap_between_components():
    # The cdf is 1/2 to the last bit over most of the gap; by symmetry the median is its middle.
    dist = NormalMixture([[0.0], [1.0]], [[0.02], [0.02]])
    assert dist.ppf(0.5)[0] == pytest.approx(0.5, abs=1e-9)


def test_ppf_is_correct_beside_a_narrow_spike():
    # Newton's step on the spike is shorter than 1e-14, but the root is elsewhere.
    dist = NormalMixture([[-1.0], [1.0], [0.0]], [[1.0], [1.0], [1e-15]])
    rest = NormalMixture([[-1.0], [1.0]], [[1.0], [1.0]])
    for q in (0.2, 0.8):
        expected = rest.ppf((3 * q - (q > 0.5)) / 2)[0]
        assert dist.ppf(q)[0] == pytest.approx(expected, abs=1e-9)


def test_ppf_of_point_masses_is_the_generalised_inverse(rng):
    means = rng.normal(size=(20, 30))
    dist = NormalMixture(means, np.zeros_like(means))
    levels = rng.uniform(size=40)
    expected = np.quantile(means, levels, axis=0, method="inverted_cdf").T
    np.testing.assert_array_equal(dist.ppf(levels), expected)
    np.testing.assert_array_equal(dist.ppf([0, 1]), np.stack([means.min(0), means.max(0)], -1))


def test_ppf_with_some_point_masses():
    # cdf: Phi(x) / 2 below 1, and 1 / 2 more from 1 on
    dist = NormalMixture([[0.0], [1.0]], [[1.0], [0.0]])
    jump = stats.norm.cdf(1) / 2
    quantiles = dist.ppf([0.25, jump - 1e-6, jump + 1e-6, 0.9, 0.95])[0]
    np.testing.assert_allclose(quantiles[0], 0, atol=1e-11)
    assert quantiles[1] < 1 - 1e-7
    np.testing.assert_allclose(quantiles[2:4], 1, atol=1e-12)
    np.testing.assert_allclose(quantiles[4], stats.norm.ppf(0.9), atol=1e-11)


def test_ppf_at_0_and_1():
    dist = NormalMixture([[0.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(dist.ppf([0, 1]), [[-np.inf, np.inf], [0, 1]])


def test_ppf_shapes_and_order(rng):
    dist = draw_mixture(rng, (3, 4, 2))
    assert dist.ppf(0.5).shape == (4, 2)
    assert dist.ppf([0.5]).shape == (4, 2, 1)
    levels = [0.9, 0.1, 0.5, 0.1]
    for column, q in enumerate(levels):
        np.testing.assert_allclose(dist.ppf(levels)[..., column], dist.ppf(q))
    assert dist.ppf([]).shape == (4, 2, 0)


def test_quantiles_never_cross(rng):
    dist = draw_mixture(rng, (20, 20))
    levels = np.sort(np.concatenate([rng.uniform(size=20), 0.3 + 1e-16 * np.arange(300)]))
    assert (np.diff(dist.ppf(levels), axis=-1) >= 0).all()


def test_ppf_scales_with_the_units(rng):
    means, stds = rng.normal(size=(20, 5)), np.exp(rng.normal(size=(20, 5)))
    expected = NormalMixture(means, stds).ppf(LEVELS)
    for unit in (1e-150, 1e-12, 1e12, 1e150):
        dist = NormalMixture(unit * means, unit * stds)
        np.testing.assert_allclose(dist.ppf(LEVELS) / unit, expected, rtol=1e-9)


def test_interval_is_equal_tailed(rng):
    dist = draw_mixture(rng, (6, 3, 2))
    lower, upper = np.moveaxis(dist.interval(0.8), -1, 0)
    np.testing.assert_allclose(dist.cdf(lower), 0.1)
    np.testing.assert_allclose(dist.cdf(upper), 0.9)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, np.nan], [[0.5]], "median"])
def test_ppf_rejects_invalid_levels(rng, q):
    with pytest.raises(ValueError, match="q must be"):
        draw_mixture(rng).ppf(q)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 90, np.nan])
def test_interval_rejects_invalid_coverages(rng, coverage):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        draw_mixture(rng).interval(coverage)
