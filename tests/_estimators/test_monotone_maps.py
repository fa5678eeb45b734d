"""Maps of the targets: inverse, derivative, and continuation beyond the training targets."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer

from sk_deltauq._estimators.monotone_maps import (
    IdentityMap,
    LogMap,
    PiecewiseLinearMap,
    TransformerMap,
    YeoJohnsonMap,
    continue_map,
)

LOGNORMAL = np.exp(np.random.default_rng(0).normal(size=200))
SKEWED = LOGNORMAL - 2


def fit_power(y, method):
    transformer = PowerTransformer(method=method).fit(y[:, None])
    return TransformerMap(transformer, 1, float(np.ptp(transformer.transform(y[:, None]))))


MAPS = {
    "identity": (IdentityMap(), SKEWED),
    "log": (LogMap(0), LOGNORMAL),
    "log1p": (LogMap(1), LOGNORMAL),
    **{f"power {p}": (YeoJohnsonMap(p, 1.7), SKEWED) for p in (-2.0, 0.0, 0.5, 1.0, 2.0, 4.0)},
    "knots": (PiecewiseLinearMap(np.array([-2.0, 0, 1, 9]), np.array([-3.0, -1, 2, 3])), SKEWED),
    "yeo-johnson of scikit-learn": (fit_power(SKEWED, "yeo-johnson"), SKEWED),
    "box-cox of scikit-learn": (fit_power(LOGNORMAL, "box-cox"), LOGNORMAL),
    "decreasing": (
        TransformerMap(FunctionTransformer(np.reciprocal, np.reciprocal), -1, 20.0),
        LOGNORMAL,
    ),
}


@pytest.fixture(params=MAPS)
def continued(request):
    original, y = MAPS[request.param]
    return continue_map(original, y.min(), y.max()), y, original


def test_between_the_targets_it_is_the_original(continued):
    g, y, original = continued
    np.testing.assert_array_equal(g.forward(y), original.forward(y))
    np.testing.assert_allclose(g.inverse(g.forward(y)), y, rtol=1e-9, atol=1e-9)


def test_the_inverse_is_finite_increasing_and_no_steeper_than_needed(continued):
    g, y, _ = continued
    z = g.forward(np.array([y.min(), y.max()]))
    width = z[1] - z[0]
    far = np.linspace(z[0] - 100 * width, z[1] + 100 * width, 5001)
    values = g.inverse(far)
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()
    # An explosion, as of `exp`, would be of the order of 10^100.
    assert np.abs(values).max() < 1e7 * np.ptp(y)


def test_forward_and_inverse_agree_beyond_the_targets(continued):
    g, y, original = continued
    if isinstance(original, LogMap):
        points = np.linspace(y.min() / 9, y.max() + 3 * np.ptp(y), 301)
    else:
        points = np.linspace(y.min() - 0.001 * np.ptp(y), y.max() + 3 * np.ptp(y), 301)
    points = points[g.inverse(g.forward(points)) > y.min() - 1]
    np.testing.assert_allclose(g.inverse(g.forward(points)), points, rtol=1e-5, atol=1e-6)


def test_the_derivative_is_the_derivative(continued):
    g, y, _original = continued
    points = np.linspace(np.quantile(y, 0.02), np.quantile(y, 0.98), 57) + 1e-3
    points = np.append(points, y.max() + 2.5 * np.ptp(y))
    step = 1e-6
    slope = (g.forward(points + step) - g.forward(points - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(g.log_derivative(points)), slope, rtol=1e-3)


@pytest.mark.parametrize("shape", ["uniform", "normal"])
def test_at_and_beyond_the_ends_of_a_clipped_map_the_derivative_is_the_derivative(shape):
    transformer = QuantileTransformer(n_quantiles=20, output_distribution=shape)
    z = transformer.fit_transform(SKEWED[:, None])
    g = continue_map(TransformerMap(transformer, 1, float(np.ptp(z))), SKEWED.min(), SKEWED.max())
    for end, sign in ((SKEWED.min(), -1), (SKEWED.max(), 1)):
        points = end + sign * np.array([1.0, 5.0, 30.0])
        slope = (g.forward(points + 1e-3) - g.forward(points - 1e-3)) / 2e-3
        np.testing.assert_allclose(np.exp(g.log_derivative(points)), slope, rtol=1e-6)
        np.testing.assert_allclose(np.exp(g.log_derivative(np.array(end))), slope[0], rtol=1e-6)


@pytest.mark.parametrize("offset", [0, 1])
def test_a_logarithm_never_leaves_its_domain(offset):
    g = continue_map(LogMap(offset), 0.5, 7.0)
    assert g.inverse(np.array(-1e3)) >= -offset
    assert g.inverse(np.array(-300.0)) > -offset or offset
    assert g.forward(np.array(-float(offset))) == -np.inf
    assert g.forward(np.array(-5.0)) == -np.inf
    np.testing.assert_array_equal(g.inverse(np.array([-np.inf, np.inf])), [-offset, np.inf])


def test_pickle(continued):
    g, y, _ = continued
    again = pickle.loads(pickle.dumps(g))
    np.testing.assert_array_equal(again.forward(y), g.forward(y))


@pytest.mark.parametrize("power", [3, 10, 100])
def test_targets_of_many_magnitudes_cause_no_warning_of_numpy(power):
    y = LOGNORMAL**power
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = continue_map(LogMap(0), y.min(), y.max())
    np.testing.assert_allclose(found.inverse(found.forward(y)), y, rtol=1e-9)
