"""Predictions of `DeltaUQRegressor`: shapes, units, and agreement of all methods."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.exceptions import DataConversionWarning

from sk_deltauq._validation import scale_to_tensor
from tests._deltauq_data import NOISES
from tests._helpers import assert_finite, predict_all, regressor


@pytest.fixture(scope="module", params=NOISES, ids=str)
def fitted(request, regression_data):
    """A model of each noise kind, with two members."""
    X, y = regression_data
    return regressor(noise=request.param, n_members=2, max_iter=20).fit(X, y)


@pytest.fixture(scope="module")
def X(regression_data):
    return regression_data[0]


# Shapes and units


@pytest.mark.parametrize("shape", [(), (1,), (2,)], ids=["1-D", "one column", "two columns"])
def test_predictions_have_the_shape_of_y(regression_data, shape):
    X, y = regression_data
    Y = np.tile(y[:, None], (1, *shape)) if shape else y
    if shape == (1,):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            model = regressor().fit(X, Y)
    else:
        model = regressor().fit(X, Y)
    expected = (7, 2) if shape == (2,) else (7,)
    found = predict_all(model, X[:7])
    assert {k: v.shape for k, v in found.items()} == {
        "predict": expected,
        "std": expected,
        "predict_uncertainty.epistemic": expected,
        "predict_uncertainty.aleatoric": expected,
        "predict_uncertainty.total": expected,
        "predict_interval": (*expected, 2),
        "predict_quantiles": (*expected, 3),
        "sample_y": (*expected, 2),
    }
    assert {v.dtype for v in found.values()} == {np.dtype(np.float64)}
    assert_finite(found)
    assert model.n_outputs_ == (2 if shape == (2,) else 1)
    assert model.predict(X[:7]).shape == expected
    assert model.predict_dist(X[:7]).mean.shape == expected
    np.testing.assert_array_equal(model.predict(X[:7]), found["predict"])


@pytest.mark.parametrize("noise", NOISES)
def test_predictions_are_in_the_units_of_y(regression_data, noise):
    X, y = regression_data
    found = predict_all(regressor(noise=noise).fit(X, y), X)
    scaled = predict_all(regressor(noise=noise).fit(X, 1024 * y), X)
    for method in found:
        np.testing.assert_allclose(scaled[method], 1024 * found[method], rtol=1e-12)


def test_each_output_has_its_own_units(regression_data):
    X, y = regression_data
    Y = np.column_stack([y, 1e3 * y[::-1] - 7e5])
    mean, std = regressor(max_iter=30).fit(X, Y).predict(X, return_std=True)
    assert np.all(np.abs(mean - Y.mean(axis=0)) < 3 * Y.std(axis=0))
    ratio = std[:, 1] / std[:, 0]
    assert ratio.min() > 200
    assert ratio.max() < 5000


# Predictions


def test_prediction_equals_equation_6_of_the_paper_in_a_loop_over_anchors(regression_data):
    X, y = regression_data
    model = regressor(max_iter=10, widening=0).fit(X, y)
    module, scale = model.net_.module_, model.y_scaler_.scale_[0]
    x, anchors = (scale_to_tensor(rows, model.x_scaler_) for rows in (X, model.anchors_))
    means, variances = [], []
    with torch.inference_mode():
        for anchor in anchors:
            raw = module(x.T[None], anchor[:, None].expand(-1, len(x))[None])[0].double()
            means.append(raw[0] * scale + model.y_scaler_.mean_[0])
            variances.append((torch.nn.functional.softplus(raw[1]) + 1e-7) * scale**2)
    means, variances = np.array(means), np.array(variances)
    assert means.shape == (5, 60)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    epistemic = means.std(axis=0, ddof=1)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, epistemic, rtol=1e-3)
    np.testing.assert_allclose(parts.aleatoric**2, variances.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std**2, epistemic**2 + variances.mean(axis=0), rtol=1e-4)


def test_total_variance_is_the_sum_of_its_parts(fitted, X):
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(parts.total**2, parts.epistemic**2 + parts.aleatoric**2, rtol=1e-12)
    np.testing.assert_array_equal(parts.total, fitted.predict(X, return_std=True)[1])
    assert (parts.epistemic > 0).all()
    assert np.ptp(parts.epistemic) > 0
    assert (parts.aleatoric > 0).all() == (fitted.noise is not None)
    if fitted.noise is None:
        np.testing.assert_array_equal(parts.aleatoric, 0)


def test_distribution_agrees_with_the_other_methods(fitted, X):
    dist, found = fitted.predict_dist(X), predict_all(fitted, X)
    # The moments are sums in float32, centred at one of the components.
    assert (np.abs(dist.mean - found["predict"]) < 1e-6 * dist.std).all()
    np.testing.assert_allclose(dist.std, found["std"], rtol=1e-5)
    for part in ("epistemic", "aleatoric"):
        np.testing.assert_allclose(
            getattr(dist, part), found[f"predict_uncertainty.{part}"], rtol=1e-5
        )
    np.testing.assert_array_equal(dist.interval(0.9), found["predict_interval"])
    np.testing.assert_array_equal(dist.ppf([0.1, 0.5, 0.9]), found["predict_quantiles"])
    np.testing.assert_array_equal(dist.sample(2, random_state=0), found["sample_y"])
    assert dist.n_components == (1 if fitted.noise is None else 10)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_interval_has_the_requested_coverage_and_equal_tails(fitted, X, coverage):
    lower, upper = fitted.predict_interval(X, coverage=coverage).T
    dist = fitted.predict_dist(X)
    np.testing.assert_allclose(dist.cdf(lower), (1 - coverage) / 2, atol=1e-6)
    np.testing.assert_allclose(dist.cdf(upper), (1 + coverage) / 2, atol=1e-6)


def test_without_a_noise_model_the_distribution_is_one_normal(regression_data):
    X, y = regression_data
    model = regressor(noise=None).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, coverage=0.8).T
    np.testing.assert_allclose(lower, mean + std * norm.ppf(0.1), rtol=1e-7)
    np.testing.assert_allclose(upper, mean + std * norm.ppf(0.9), rtol=1e-7)


def test_quantiles_follow_the_order_of_levels_and_never_cross(fitted, X):
    levels = np.array([0.9, 0.001, 0.5, 0.25, 0.999])
    quantiles = fitted.predict_quantiles(X, levels)
    order = np.argsort(levels)
    assert (np.diff(quantiles[:, order], axis=1) > 0).all()
    np.testing.assert_array_equal(quantiles[:, [2]], fitted.predict_quantiles(X, 0.5))
    interval = fitted.predict_interval(X, coverage=0.998)
    np.testing.assert_allclose(interval, quantiles[:, [1, 4]], rtol=1e-9)


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan])
def test_invalid_quantiles_and_coverages_are_rejected(fitted, X, level):
    with pytest.raises(ValueError, match=r"quantiles must be levels in \[0, 1\]"):
        fitted.predict_quantiles(X, [0.5, level])
    with pytest.raises(ValueError, match="coverage must be one number"):
        fitted.predict_interval(X, coverage=level)


def test_samples_have_the_moments_of_the_prediction(fitted, X):
    n = 4000
    samples = fitted.sample_y(X, n, random_state=3)
    mean, std = fitted.predict(X, return_std=True)
    assert np.abs((samples.mean(axis=1) - mean) / std).max() < 5 / np.sqrt(n)
    np.testing.assert_allclose(samples.std(axis=1), std, rtol=0.1)
    again = fitted.sample_y(X, n, random_state=3)
    np.testing.assert_array_equal(samples, again)
    assert not np.allclose(samples, fitted.sample_y(X, n, random_state=4))
    assert fitted.sample_y(X).shape == (60, 1)


def test_one_component_has_no_epistemic_uncertainty(regression_data):
    X, y = regression_data
    model = regressor(n_anchors=1, widening=0).fit(X, y)
    assert_finite(predict_all(model, X))
    np.testing.assert_array_equal(model.predict_uncertainty(X).epistemic, 0)
