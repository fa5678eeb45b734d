"""The predictor answers as `predict` does, in torch, and holds all that it needs."""

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines

FEW = {"max_iter": 10, "random_state": 0}
REGRESSORS = {
    "Delta-UQ": DeltaUQRegressor(**FEW, n_members=2),
    "Delta-UQ without noise": DeltaUQRegressor(**FEW, noise=None),
    "deep ensemble": baselines.DeepEnsembleRegressor(**FEW),
    "MC dropout": baselines.MCDropoutRegressor(**FEW),
    "PBP": baselines.PBPRegressor(**FEW),
}


@pytest.fixture(params=REGRESSORS)
def model(request, regression_data):
    return REGRESSORS[request.param].fit(*regression_data)


@pytest.fixture
def new():
    """Rows inside and outside the training rows."""
    return np.random.default_rng(3).uniform(-1, 3, size=(12, 3))


def test_components_have_the_moments_that_predict_returns(model, new):
    mean, std = model.predict(new, return_std=True)
    means, stds = model._predictor().components(torch.from_numpy(new))
    assert means.shape == stds.shape == (model.n_components_, 12, 1)
    variance = stds.square().mean(0) + means.var(0, correction=0)
    np.testing.assert_allclose(means.mean(0)[:, 0].detach(), mean, rtol=1e-5)
    np.testing.assert_allclose(variance.sqrt()[:, 0].detach(), std, rtol=1e-4)


def test_the_gradient_is_the_finite_difference(model, new):
    x = torch.tensor(new[:3], requires_grad=True)
    model._predictor().components(x)[0].mean(0).sum().backward()
    step = 1e-3
    for feature in range(3):
        shift = step * np.eye(3)[feature]
        difference = (model.predict(new[:3] + shift) - model.predict(new[:3] - shift)) / (2 * step)
        size = np.abs(x.grad.numpy()).max()
        np.testing.assert_allclose(x.grad[:, feature], difference, rtol=0.02, atol=0.02 * size)


def test_components_of_a_classifier_are_logits(classification_data):
    X, y = classification_data
    model = DeltaUQClassifier(**FEW).fit(X, y)
    (logits,) = model._predictor().components(torch.tensor(X))
    proba = logits.softmax(2).mean(0).detach()
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=1e-5, atol=1e-7)


def test_a_moved_predictor_is_a_copy(model, new):
    predictor = model._predictor()
    moved = predictor.to("cpu")
    for mine, other in zip(
        predictor.module.state_dict().values(), moved.module.state_dict().values(), strict=True
    ):
        assert torch.equal(mine, other)
        assert mine.data_ptr() != other.data_ptr()
    x = torch.from_numpy(new)
    for one, two in zip(predictor.components(x), moved.components(x), strict=True):
        assert torch.equal(one, two)


def test_the_state_determines_the_predictions(model, regression_data, new):
    """Put the numbers of one model into another one of the same shape."""
    X, y = regression_data
    other = type(model)(**{**model.get_params(), "random_state": 1, "max_iter": 3})
    predictor, target = model._predictor(), other.fit(X, 2 * y + X[:, 0])._predictor()
    state = predictor.state
    assert state.keys() == target.state.keys()
    for name in ("module", "inflation"):
        if (module := getattr(target, name)) is not None:
            prefix = name + "."
            of_module = {k.removeprefix(prefix): v for k, v in state.items() if prefix in k}
            module.load_state_dict(of_module)
    for name in ("x_scaler", "y_scaler"):
        getattr(target, name).mean_ = state[f"{name}.mean_"]
        getattr(target, name).scale_ = state[f"{name}.scale_"]
    target.std_factor[:] = state["std_factor"]
    x = torch.from_numpy(new)
    for one, two in zip(predictor.components(x), target.components(x), strict=True):
        assert torch.equal(one, two)
