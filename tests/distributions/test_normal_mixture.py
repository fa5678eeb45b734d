"""Mixtures of normal distributions against SciPy: moments, densities, CRPS, draws, and errors."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from sk_deltauq.distributions import NormalMixture, _arrays
from tests.distributions._mixtures import LEVELS, draw_mixture, list_rows


def integrate_between(function, low, high):
    return integrate.quad(function, low, high, limit=500, epsabs=1e-11)[0]


# Moments and their parts


def test_moments_against_integration(rng):
    dist = draw_mixture(rng)
    for normal, mean, std in zip(list_rows(dist), dist.mean, dist.std, strict=True):
        first = integrate_between(lambda y, normal=normal: y * normal.pdf(y).mean(), -40, 40)
        second = integrate_between(lambda y, normal=normal: y**2 * normal.pdf(y).mean(), -40, 40)
        assert mean == pytest.approx(first, abs=1e-8)
        assert std == pytest.approx(np.sqrt(second - first**2), rel=1e-8)


def test_the_mean_deviation_against_integration(rng):
    dist = draw_mixture(rng)
    for normal, mean, found in zip(list_rows(dist), dist.mean, dist.mean_deviation, strict=True):

        def weigh(y, normal=normal, mean=mean):
            return abs(y - mean) * normal.pdf(y).mean()

        expected = integrate_between(weigh, -40, mean) + integrate_between(weigh, mean, 40)
        assert found == pytest.approx(expected, rel=1e-8)


def test_the_mean_deviation_of_point_masses():
    dist = NormalMixture([[0.0, 5.0], [4.0, 5.0]], np.zeros((2, 2)))
    np.testing.assert_allclose(dist.mean_deviation, [2.0, 0.0])


def test_law_of_total_variance(rng):
    dist = draw_mixture(rng, (7, 5, 2))
    assert dist.mean.shape == dist.std.shape == (5, 2)
    np.testing.assert_allclose(dist.epistemic, dist.means.std(axis=0))
    np.testing.assert_allclose(dist.aleatoric, np.sqrt((dist.stds**2).mean(axis=0)))
    np.testing.assert_allclose(dist.std**2, dist.epistemic**2 + dist.aleatoric**2)


def test_a_given_aleatoric_part_is_kept(rng):
    share = np.array([0.1, 0.2, 0.3, 100.0])
    dist = draw_mixture(rng, aleatoric=share)
    np.testing.assert_array_equal(dist.aleatoric, share)
    np.testing.assert_allclose(
        dist.epistemic, np.sqrt(np.maximum(dist.std**2 - share**2, 0)), rtol=1e-12
    )
    assert dist.epistemic[-1] == 0


@pytest.mark.parametrize("level", [0.1, 1e12, 1e-12])
def test_equal_components_have_no_epistemic_part(level):
    dist = NormalMixture(np.full((20, 3), level), np.full((20, 3), 1e-3 * level))
    assert (dist.epistemic == 0).all()
    assert (dist.mean == level).all()
    np.testing.assert_allclose(dist.std, 1e-3 * level)


# Density and distribution function


def test_log_pdf_against_scipy(rng):
    dist, y = draw_mixture(rng, (6, 5, 2)), rng.normal(size=(5, 2))
    expected = np.log(stats.norm(dist.means, dist.stds).pdf(y).mean(axis=0))
    np.testing.assert_allclose(dist.log_pdf(y), expected, rtol=1e-12)
    np.testing.assert_allclose(dist.pdf(y), np.exp(expected), rtol=1e-12)


def test_log_pdf_in_the_tails():
    dist = NormalMixture([[0.0], [1.0]], [[1.0], [1.0]])
    y = 1e6
    # The nearer component alone counts.
    expected = stats.norm(1, 1).logpdf(y) - np.log(2)
    np.testing.assert_allclose(dist.log_pdf(y), [expected], rtol=1e-14)
    assert dist.log_pdf(np.inf) == -np.inf


def test_cdf_against_scipy(rng):
    dist, y = draw_mixture(rng, (6, 5, 2)), rng.normal(size=(5, 2))
    expected = stats.norm(dist.means, dist.stds).cdf(y).mean(axis=0)
    np.testing.assert_allclose(dist.cdf(y), expected, rtol=1e-12)
    assert (dist.cdf(-np.inf) == 0).all()
    assert (dist.cdf(np.inf) == 1).all()


def test_cdf_of_point_masses_is_a_step():
    dist = NormalMixture([[0.0], [1.0]], [[0.0], [0.0]])
    cdf = [dist.cdf(y)[0] for y in (-1e-300, 0, 0.999, 1, np.inf)]
    assert cdf == [0, 0.5, 0.5, 1, 1]


# Continuous ranked probability score


def test_crps_against_integration(rng):
    dist, y = draw_mixture(rng), rng.normal(scale=2, size=4)
    for normal, observed, score in zip(list_rows(dist), y, dist.crps(y), strict=True):
        expected = integrate_between(lambda x, n=normal: n.cdf(x).mean() ** 2, -40, observed)
        expected += integrate_between(lambda x, n=normal: n.sf(x).mean() ** 2, observed, 40)
        assert score == pytest.approx(expected, abs=1e-8)


def test_crps_of_point_masses(rng):
    means, y = rng.normal(size=(6, 4)), rng.normal(size=4)
    gaps = np.abs(means[:, None] - means[None]).mean(axis=(0, 1))
    expected = np.abs(means - y).mean(axis=0) - gaps / 2
    np.testing.assert_allclose(NormalMixture(means, np.zeros_like(means)).crps(y), expected)
    almost = NormalMixture(means, np.full_like(means, 1e-9))
    np.testing.assert_allclose(almost.crps(y), expected, atol=1e-8)
    single = NormalMixture(means[:1], np.zeros((1, 4)))
    np.testing.assert_array_equal(single.crps(y), np.abs(means[0] - y))
    assert (single.crps(means[0]) == 0).all()


# Draws


@pytest.mark.parametrize("source", [0, np.random.RandomState(0), np.random.default_rng(0)])
def test_sample_moments(rng, source):
    dist = draw_mixture(rng, (5, 3, 2))
    draws = dist.sample(40_000, random_state=source)
    assert draws.shape == (3, 2, 40_000)
    error = dist.std / 200
    assert (np.abs(draws.mean(axis=-1) - dist.mean) < 5 * error).all()
    np.testing.assert_allclose(draws.std(axis=-1), dist.std, rtol=0.05)
    for q in (0.1, 0.7):
        below = (draws <= dist.ppf(q)[..., None]).mean(axis=-1)
        np.testing.assert_allclose(below, q, atol=0.015)


def test_outputs_of_a_draw_share_the_component():
    dist = NormalMixture([[[-1.0, -5.0]], [[1.0, 5.0]]], np.zeros((2, 1, 2)))
    first, second = dist.sample(100, random_state=0)[0]
    np.testing.assert_array_equal(second, 5 * first)


def test_one_seed_gives_the_same_sample(rng):
    dist = draw_mixture(rng)
    np.testing.assert_array_equal(dist.sample(3, random_state=1), dist.sample(3, random_state=1))
    assert (dist.sample() != dist.sample()).any()
    assert dist.sample().shape == (4, 1)


# Rows, arguments and errors


def test_rows_are_selected(rng):
    dist = draw_mixture(rng, aleatoric=np.full(4, 0.5))
    mask = np.array([True, False, True, False])
    for rows, expected in [
        (slice(1, 3), [1, 2]),
        ([3, 0], [3, 0]),
        (mask, [0, 2]),
        (pd.Series(mask), [0, 2]),
        (-1, [3]),
        ([], []),
    ]:
        part = dist[rows]
        np.testing.assert_array_equal(part.means, dist.means[:, expected])
        np.testing.assert_array_equal(part.epistemic, dist.epistemic[expected])
    assert np.shares_memory(dist[1:].means, dist.means)
    for rows in (4, (0, 1), None):
        with pytest.raises(IndexError):
            dist[rows]


def test_no_rows():
    dist = NormalMixture(np.empty((3, 0)), np.empty((3, 0)))
    assert dist.mean.shape == dist.std.shape == dist.crps([]).shape == (0,)
    assert dist.ppf([0.1, 0.9]).shape == (0, 2)
    assert dist.sample(5).shape == (0, 5)


def test_the_mixture_and_the_arrays_of_the_caller_are_independent(rng):
    means, stds = rng.normal(size=(3, 4)), np.ones((3, 4))
    dist = NormalMixture(means, stds)
    before = dist.mean
    means[:] = 7
    np.testing.assert_array_equal(dist.mean, before)
    with pytest.raises(ValueError, match="read-only"):
        dist.means[0, 0] = 1
    before[:] = 0  # the caller may change results
    means.flags.writeable = False
    assert np.shares_memory(NormalMixture(means, stds).means, means)


def test_containers_and_dtypes(rng):
    means, stds = rng.normal(size=(3, 4)).astype(np.float32), np.ones((3, 4), dtype=int)
    dist = NormalMixture(means, stds)
    assert dist.means.dtype == dist.stds.dtype == np.float64
    y = pd.Series([0, 1, 2, 3], index=[9, 8, 7, 6], dtype="Int64")
    np.testing.assert_array_equal(dist.crps(y), dist.crps(np.arange(4.0)))
    np.testing.assert_array_equal(dist.cdf(0), dist.cdf(np.zeros(4)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(dist)).mean, dist.mean)
    assert repr(dist) == "NormalMixture(n_components=3, shape=(4,))"


@pytest.mark.parametrize(
    ("means", "stds", "message"),
    [
        ([0.0], [1.0], "means must have 2 or 3 axes"),
        ([[0.0]], [[1.0, 1.0]], "stds must have the shape of means"),
        ([[0.0]], [[-1.0]], "stds must not be negative, got a minimum of -1"),
        ([[np.nan]], [[1.0]], "means must be finite"),
        ([[0.0]], [[np.inf]], "stds must be finite"),
        ([["a"]], [[1.0]], "means must be real numbers"),
        ([[1j]], [[1.0]], "means must be real numbers"),
        ([[None]], [[1.0]], "means must be"),
        (np.empty((0, 3)), np.empty((0, 3)), "means must have at least one component"),
    ],
)
def test_invalid_components_are_rejected(means, stds, message):
    with pytest.raises(ValueError, match=message):
        NormalMixture(means, stds)


def test_an_invalid_aleatoric_part_is_rejected():
    for aleatoric, message in [([1.0, 1.0], "shape of one component"), ([-1.0], "negative")]:
        with pytest.raises(ValueError, match=f"aleatoric must .*{message}"):
            NormalMixture([[0.0]], [[1.0]], aleatoric=aleatoric)


@pytest.mark.parametrize("method", ["log_pdf", "pdf", "cdf", "crps"])
def test_other_shapes_and_nan_are_rejected(rng, method):
    evaluate = getattr(draw_mixture(rng), method)
    for y in (np.zeros((4, 1)), np.zeros(3), np.zeros((4, 4)), [0.0]):
        with pytest.raises(ValueError, match=r"y must have the shape of the distribution, \(4,\)"):
            evaluate(y)
    with pytest.raises(ValueError, match="NaN"):
        evaluate([0, 1, 2, np.nan])


def test_point_masses_have_no_density():
    dist = NormalMixture([[0.0], [0.0]], [[1.0], [0.0]])
    with pytest.raises(ValueError, match=r"density does not exist.*crps"):
        dist.log_pdf([0.0])


def test_chunks_do_not_change_the_results(rng, monkeypatch):
    dist, y = draw_mixture(rng, (5, 40, 2)), rng.normal(size=(40, 2))

    def compute_all():
        return [dist.mean, dist.std, dist.log_pdf(y), dist.cdf(y), dist.crps(y), dist.ppf(LEVELS)]

    whole = compute_all()
    monkeypatch.setattr(_arrays, "_CHUNK_FLOATS", 64)
    for expected, chunked in zip(whole, compute_all(), strict=True):
        np.testing.assert_allclose(chunked, expected, rtol=1e-12)


def test_memory_is_bounded(rng):
    dist = draw_mixture(rng, (100, 4_000))  # 3 MB; all pairs at once would take 320 MB
    y = np.zeros(4_000)
    for compute in (
        lambda: dist.std,
        lambda: dist[:300].crps(y[:300]),
        lambda: dist.log_pdf(y),
        lambda: dist[:300].ppf(np.linspace(0.1, 0.9, 9)),
    ):
        tracemalloc.start()
        compute()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 30e6


@pytest.mark.parametrize("unit", [1e-300, 1e155, 1e300])
def test_moments_and_quantiles_scale_with_extreme_units(rng, unit):
    """Squares of such numbers are zero or infinite."""
    means, stds = rng.normal(size=(4, 3)), rng.uniform(0.1, 1, size=(4, 3))
    small, large = NormalMixture(means, stds), NormalMixture(unit * means, unit * stds)
    for name in ("mean", "std", "epistemic", "aleatoric"):
        np.testing.assert_allclose(getattr(large, name) / unit, getattr(small, name), rtol=1e-9)
    np.testing.assert_allclose(large.ppf([0.05, 0.5]) / unit, small.ppf([0.05, 0.5]), rtol=1e-6)


def test_numpy_has_no_floating_point_errors_to_raise(rng):
    dist = NormalMixture(rng.normal(size=(3, 2)), np.full((3, 2), 0.1))
    with np.errstate(all="raise"):
        dist.interval(0.9999)
        dist.log_pdf(np.full(2, 1e3))
        dist.cdf(np.full(2, 40.0))


@pytest.mark.parametrize(("seed", "error"), [("a", TypeError), (-1, ValueError)])
def test_invalid_seeds_are_rejected(seed, error):
    dist = NormalMixture(np.zeros((1, 2)), np.ones((1, 2)))
    with pytest.raises(error, match="random_state must be a non-negative int"):
        dist.sample(random_state=seed)
