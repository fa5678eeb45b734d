"""Features and targets of any scale, and constant features and targets."""

import numpy as np
import pandas as pd
import pytest

from sk_deltauq._validation import fit_input_scaler
from tests._helpers import (
    LEARN,
    N,
    assert_finite,
    assert_same_predictions,
    predict_all,
    regressor,
    table,
    target,
)


def test_constant_columns_are_ignored(make, y):
    with_constants = np.column_stack([table(), np.zeros(N), np.full(N, 1e12), np.full(N, 0.1)])
    model = make().fit(with_constants, y)
    reference = predict_all(model, with_constants)
    assert_finite(reference)
    # A new value in such a column changes nothing either.
    with_constants[:, 3:] = [1e300, -5, np.pi]
    assert_same_predictions(predict_all(model, with_constants), reference)


def test_constant_columns_alone_predict_the_mean_and_the_std_of_y(make, y):
    X = np.ones((N, 2))
    found = predict_all(make(**LEARN).fit(X, y), X)
    assert_finite(found)
    if make is regressor:
        np.testing.assert_allclose(found["predict"], y.mean(), atol=0.5 * y.std())
        np.testing.assert_allclose(found["std"], y.std(), rtol=0.4)
    else:
        share = np.mean(y == "a")
        np.testing.assert_allclose(found["predict_proba"][:, 0], share, atol=0.15)


@pytest.mark.parametrize("value", [0.0, 3.3, -1e12, 1e-12])
def test_a_constant_target_is_predicted_exactly(value):
    X = table()
    model = regressor().fit(X, np.full(N, value))
    found = predict_all(model, X)
    assert_finite(found)
    np.testing.assert_allclose(found["predict"], value, rtol=1e-14, atol=1e-30)
    # The std is a guess: n rows at the mean, and one prior row whose distance from the mean is the
    # absolute value of the target.
    n = len(np.unique(X, axis=0))
    guess = np.sqrt((1 + 1 / n) / (n + 1)) * (abs(value) or 1.0)
    np.testing.assert_allclose(found["std"], guess, rtol=1e-6)


def test_a_constant_output_beside_a_varying_output():
    X = table()
    mean, std = (
        regressor(**LEARN)
        .fit(X, np.column_stack([X[:, 0], np.full(N, 7.0)]))
        .predict(X, return_std=True)
    )
    np.testing.assert_allclose(mean[:, 1], 7, rtol=1e-14)
    assert np.corrcoef(mean[:, 0], X[:, 0])[0, 1] > 0.9
    np.testing.assert_allclose(std[:, 1], 7 * np.sqrt((1 + 1 / N) / (N + 1)), rtol=0.02)
    assert std[:, 0].max() < X[:, 0].std()


@pytest.mark.parametrize("scale", [2.0**40, 2.0**-40, 2.0**400, 2.0**-400])
@pytest.mark.parametrize("noise", ["heteroscedastic", None])
def test_the_scale_of_y_does_not_matter(scale, noise):
    X, y = table(), target(regressor)
    reference = predict_all(regressor(noise=noise).fit(X, y), X)
    found = predict_all(regressor(noise=noise).fit(X, y * scale), X)
    for method, value in reference.items():
        np.testing.assert_allclose(found[method] / scale, value, rtol=1e-12, err_msg=method)


@pytest.mark.parametrize("scale", [2.0**40, 2.0**-40, 2.0**300, 2.0**-300])
def test_the_scale_of_x_does_not_matter(make, y, scale):
    X = table()
    found = predict_all(make().fit(X * scale, y), X * scale)
    assert_same_predictions(found, predict_all(make().fit(X, y), X))


@pytest.mark.parametrize("offset", [1e9, -1e12])
def test_an_offset_of_y_costs_no_precision(offset):
    X, y = table(), target(regressor)
    reference = regressor().fit(X, y)
    model = regressor().fit(X, y + offset)
    np.testing.assert_allclose(model.predict(X) - offset, reference.predict(X), atol=1e-3)
    std, expected = (m.predict(X, return_std=True)[1] for m in (model, reference))
    np.testing.assert_allclose(std, expected, rtol=1e-3)


def test_float32_rows_far_from_zero_keep_their_precision(make, y):
    X = table() + 2.0**20
    found = predict_all(make().fit(X.astype(np.float32), y), X.astype(np.float32))
    assert_same_predictions(found, predict_all(make().fit(X, y), X))


def test_values_whose_variance_overflows_are_rejected(make, y):
    with pytest.raises(ValueError, match=r"X has values too large.*Rescale X"):
        make().fit(table() * 1e200, y)
    with pytest.raises(ValueError, match=r"y has values too large.*Rescale y"):
        regressor().fit(table(), target(regressor) * 1e300)


def test_a_target_whose_variance_underflows_is_rejected():
    with pytest.raises(ValueError, match=r"y has values too small for their variance.* Rescale y"):
        regressor().fit(table(), target(regressor) * 1e-300)


@pytest.mark.parametrize("far", [1e6, 1e20, 1e300, 1.7e308])
def test_extreme_rows_have_finite_predictions_without_warnings(make, y, far):
    model = make().fit(table() * 1e-3, y)
    assert_finite(predict_all(model, np.array([[far, -far, far], [0, 0, far]])))


@pytest.mark.parametrize("n", [N, 20_000])
def test_small_changes_on_a_large_offset_are_detected(n):
    X = np.random.default_rng(0).uniform(size=(n, 2))
    exact = X - 0.5 + np.array([1e12, 0])  # rounds to multiples of 2**-13
    scaler = fit_input_scaler(exact, np.ones(n))
    assert not scaler.constant_.any()
    rounded = exact[:, 0] - 1e12
    np.testing.assert_allclose(scaler.scale_[0], rounded.std(), rtol=1e-9)
    np.testing.assert_allclose(scaler.mean_[0] - 1e12, rounded.mean(), atol=2**-13)
    model = regressor().fit(exact, X[:, 0])
    assert np.ptp(model.predict(exact)) > 0


@pytest.mark.parametrize(("weight", "floor"), [(1.0, 0.0), (1e-6, 0.5)])
def test_values_of_tiny_weight_do_not_become_extreme_inputs(weight, floor):
    X, weights = np.column_stack([np.zeros(300), np.linspace(-1, 1, 300)]), np.ones(300)
    X[:2, 0], weights[:2] = [1, 2], weight
    scales = fit_input_scaler(X, weights).scale_
    mean = np.average(X, axis=0, weights=weights)
    std = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(scales, np.maximum(std, [floor, 0]), rtol=1e-12)
    assert fit_input_scaler(X, weights, more_to_come=True).scale_[0] < 1


def test_an_extreme_value_of_tiny_weight_does_not_change_the_scale():
    X, weights = np.random.default_rng(0).normal(size=(300, 1)), np.ones(300)
    X[0], weights[0] = 1e6, 1e-14
    scale = fit_input_scaler(X, weights).scale_
    np.testing.assert_allclose(scale, X[1:].std(), rtol=0.01)


@pytest.mark.parametrize("value", [0.1, -1e12, 3e-9])
def test_columns_that_vary_by_rounding_errors_are_constant(value):
    X = np.full((N, 1), value)
    X[::2] = np.nextafter(value, np.inf)
    assert fit_input_scaler(X, np.ones(N)).constant_.all()
    X[::2] = value * (1 + 1e-14)
    assert not fit_input_scaler(X, np.ones(N)).constant_.any()


def test_the_error_names_the_column_whose_variance_over_or_underflows():
    X = pd.DataFrame(table(), columns=list("abc"))
    for factor, word in ((1e200, "large"), (1e-200, "small")):
        with pytest.raises(ValueError, match=rf"X has values too {word}.*\(column 'b', "):
            regressor().fit(X.assign(b=X["b"] * factor), target(regressor))


def test_the_error_names_a_constant_column_that_varies_later(make, y):
    X = pd.DataFrame(table(), columns=list("abc"))
    model = make(warm_start=True).fit(X.assign(b=3.0), y)
    with pytest.raises(ValueError, match="X varies in column 'b', which was constant"):
        model.fit(X, y)
