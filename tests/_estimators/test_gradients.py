"""Gradients of `predict` at one row, against finite differences and `to_torch`."""

import numpy as np
import pandas as pd
import pytest
import torch

from sk_deltauq import DeltaUQRegressor, baselines
from tests._helpers import regressor, table, target

GRADIENTS = {"return_std": True, "return_mean_grad": True, "return_std_grad": True}
MODELS = {
    "Delta-UQ": DeltaUQRegressor(max_iter=20, activation="tanh", random_state=0),
    "deep ensemble": baselines.DeepEnsembleRegressor(max_iter=20, random_state=0),
    "PBP": baselines.PBPRegressor(max_iter=3, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scale", [1.0, 4.0], ids=["inside", "out of distribution"])
def test_gradients_equal_finite_differences(model, regression_data, scale):
    X, y = regression_data
    model.fit(X, y)
    row = scale * X[:1]
    mean, std, mean_grad, std_grad = model.predict(row, **GRADIENTS)
    assert (mean, std) == model.predict(row, return_std=True)
    assert mean_grad.shape == std_grad.shape == (3,)
    assert mean_grad.dtype == std_grad.dtype == np.float64
    module, step = model.to_torch().double(), 1e-5 * np.eye(3)
    above, below = (module(torch.from_numpy(row + sign * step)) for sign in (1, -1))
    for name, found in (("mean", mean_grad), ("std", std_grad)):
        slopes = ((getattr(above, name) - getattr(below, name)) / 2e-5).numpy()
        np.testing.assert_allclose(found, slopes, rtol=1e-2, atol=1e-2 * np.abs(slopes).max())


def test_the_result_has_the_requested_parts(regression_data):
    X, y = regression_data
    model = regressor().fit(X, y)
    row = X[:1]
    mean, mean_grad = model.predict(row, return_mean_grad=True)
    full = model.predict(row, **GRADIENTS, coverage=0.5, quantiles=[0.5])
    assert [part.shape for part in full] == [(1,), (1,), (3,), (3,), (1, 2), (1, 1)]
    assert mean == full[0]
    np.testing.assert_array_equal(mean_grad, full[2])
    same = model.predict(row.astype(np.float32).tolist(), **GRADIENTS)
    np.testing.assert_allclose(same[2], mean_grad, rtol=1e-3)


def test_a_constant_feature_has_no_gradient(regression_data):
    X, y = regression_data
    X = np.column_stack([X, np.ones(len(X))])
    _, _, mean_grad, std_grad = regressor().fit(X, y).predict(X[:1], **GRADIENTS)
    assert mean_grad[3] == std_grad[3] == 0
    assert mean_grad[:3].all()


def test_a_point_mass_has_no_gradient():
    model = regressor(noise=None, n_anchors=1, widening=0).fit(table(), target(regressor))
    _, std, mean_grad, std_grad = model.predict(table()[:1], **GRADIENTS)
    assert std == 0
    assert mean_grad.any()
    assert not std_grad.any()


def test_the_settings_of_the_host_do_not_count(regression_data):
    X, y = regression_data
    model = regressor().fit(X, y)
    expected = model.predict(X[:1], **GRADIENTS)
    with torch.inference_mode():
        found = model.predict(X[:1], **GRADIENTS)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "keywords",
    [
        {"return_std_grad": True},
        {"return_std": True, "return_std_grad": True},
        {"return_mean_grad": True, "return_std_grad": True},
    ],
)
def test_the_gradient_of_the_std_comes_after_the_others(regression_data, keywords):
    X, y = regression_data
    with pytest.raises(ValueError, match="needs return_std=True and return_mean_grad=True too"):
        regressor().fit(X, y).predict(X[:1], **keywords)


@pytest.mark.parametrize("keywords", [{"return_mean_grad": True}, GRADIENTS])
def test_several_rows_have_no_gradient(regression_data, keywords):
    X, y = regression_data
    with pytest.raises(ValueError, match=r"grad=True takes one row at a time.* got 2 rows"):
        regressor().fit(X, y).predict(X[:2], **keywords)


def test_models_without_one_derivative_per_feature():
    X, y = table(), target(regressor)
    frame = pd.DataFrame(X, columns=list("abc")).assign(b=np.where(X[:, 1] > 4, "x", "y"))
    positive = y - y.min() + 1
    cases = [
        (regressor().fit(X, X[:, :2]), X, "model of one output, and this one has 2"),
        (regressor().fit(frame, y), frame, "categories and missing values have no derivative"),
        (regressor(target_transform="log").fit(X, positive), X, "target_transform='log'"),
    ]
    for model, rows, message in cases:
        with pytest.raises(ValueError, match=f"(?s){message}.*to_torch"):
            model.predict(rows[:1], return_mean_grad=True)
