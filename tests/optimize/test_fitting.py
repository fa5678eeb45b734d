"""Fits of the surrogate: scales, and the transformation of the values."""

import numpy as np

from tests.optimize._helpers import BOUNDS, bowl, make, quick

CROWDED = np.random.default_rng(0).uniform(size=(8, 2)) * [0.1, 1]  # near a corner


def tell(optimizer, X=CROWDED, f=bowl):
    optimizer.tell(X, f(X))
    return optimizer


def test_bounds_scale_the_parameters():
    scaler = tell(make()).estimator_.x_scaler_
    evenly = np.linspace(*np.transpose(BOUNDS), 10_001)
    x = scaler.transform(evenly)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-3)


def test_units_of_parameters_do_not_change_the_proposals():
    [x] = tell(make()).ask()
    scale, shift = np.array([2.0**10, 2.0**-10]), np.array([3.0, -5.0])
    other = make(np.array(BOUNDS) * scale[:, None] + shift[:, None])
    other.tell(CROWDED * scale + shift, bowl(CROWDED))
    [found] = other.ask()
    np.testing.assert_allclose((found - shift) / scale, x, rtol=1e-3, atol=1e-4)


def test_search_covers_a_parameter_that_was_constant_so_far():
    X = CROWDED.copy()
    X[:, 0] = 0.25
    [x] = tell(make(), X).ask()
    assert x[0] != 0.25
    _, gradient = tell(make(), X).estimator_.predict(X[:1], return_mean_grad=True)
    assert gradient[0] != 0


def test_target_transform_gives_the_proposals_of_transformed_values():
    [x] = tell(make(), f=lambda X: np.log(bowl(X))).ask()
    logarithmic = make(surrogate=quick().set_params(target_transform="log"))
    [found] = tell(logarithmic).ask()
    np.testing.assert_allclose(found, x, rtol=1e-2)
    # The model itself has the units of the values.
    means = logarithmic.estimator_.predict(CROWDED)
    np.testing.assert_allclose(means, bowl(CROWDED), rtol=0.02)


def test_recommended_surrogate_predicts_in_units_of_the_values():
    optimizer = tell(make(surrogate=None), f=lambda X: 1000 * bowl(X) ** 3)
    assert optimizer.estimator_.target_transform == "yeo-johnson"
    found = optimizer.estimator_.predict(CROWDED)
    np.testing.assert_allclose(found, 1000 * bowl(CROWDED) ** 3, rtol=0.05)
