"""Bayes by Backprop against its paper, computed in a second way."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_friedman1
from sklearn.linear_model import BayesianRidge
from torch.distributions import Normal, kl_divergence

from sk_deltauq._methods.variational import BayesianMLP
from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.baselines import VariationalBNNClassifier, VariationalBNNRegressor

TINY = {
    "hidden_layer_sizes": (16, 12),
    "n_draws": 6,
    "embedding": None,
    "max_iter": 5,
    "early_stopping": False,
    "random_state": 0,
}


def regressor(**params):
    return VariationalBNNRegressor(**{**TINY, **params})


def classifier(**params):
    return VariationalBNNClassifier(**{**TINY, **params})


def raw_outputs(model, X):
    """`(component, sample, output)`: a loop over members and draws, with plain layers."""
    module, outputs = model.net_.module_, []
    for member, draws in enumerate(module.draws):
        for draw in draws:
            h, noise = scale_to_tensor(X, model.x_scaler_), draw
            for layer in module.layers:
                h = torch.relu(h) if layer is not module.core.first else h
                eps, noise = noise.split([layer.n_weights, len(noise) - layer.n_weights])
                std = layer.log_std[member].exp()
                weights = layer.mean[member] + std * eps.view(std.shape)
                h = torch.nn.functional.linear(h, weights[:, :-1], weights[:, -1])
            outputs.append(h.detach().double())
    return torch.stack(outputs)


# Predictions


@pytest.mark.parametrize("n_members", [1, 2])
def test_prediction_is_a_loop_over_draws(regression_data, n_members):
    X, y = regression_data
    model = regressor(n_members=n_members).fit(X, y)
    raw = raw_outputs(model, X)
    assert len(raw) == model.n_components_ == 6 * n_members
    scale, offset = model.y_scaler_.scale_[0], model.y_scaler_.mean_[0]
    means = raw[..., 0].numpy() * scale + offset
    variances = (torch.nn.functional.softplus(raw[..., 1]) + 1e-7).numpy() * scale**2
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    second_moment = (variances + means**2).mean(axis=0)
    np.testing.assert_allclose(std**2 + mean**2, second_moment, rtol=1e-5)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, means.std(axis=0), rtol=1e-3)


def test_probabilities_are_the_mean_over_draws(classification_data):
    X, y = classification_data
    model = classifier(n_members=2, calibration=None).fit(X, y)
    expected = raw_outputs(model, X).softmax(dim=2).mean(dim=0).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-5)


def test_draws_stay_while_training_continues(regression_data):
    X, y = regression_data
    model = regressor(warm_start=True).fit(X, y)
    draws = model.net_.module_.draws
    assert draws.shape == (1, 6, model.net_.module_.n_weights)
    for method in (model.fit, model.partial_fit):
        assert method(X, y).net_.module_.draws.equal(draws)
    more = regressor(n_draws=9).fit(X, y).net_.module_
    assert more.draws[:, :6].equal(draws)
    with pytest.raises(ValueError, match="another prior_std"):
        model.set_params(prior_std=0.3).fit(X, y)


# Training


@pytest.mark.filterwarnings("ignore:.*reached max_iter")
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_loss_is_the_evidence_lower_bound_per_row(regression_data, n_outputs):
    X, y = regression_data
    y = y if n_outputs == 1 else np.column_stack([y, y**2])
    losses = {}
    for kl_weight in (0.0, 0.3):
        model = regressor(
            kl_weight=kl_weight,
            prior_std=0.7,
            n_members=2,
            batch_size=len(X),
            max_iter=1,
            learning_rate_init=1e-12,  # so small that the weights do not change
        )
        model.fit(X, y)
        losses[kl_weight] = model.loss_curve_[0]
    prior = Normal(torch.tensor(0.0), torch.tensor(0.7))
    divergence = sum(
        kl_divergence(Normal(layer.mean, layer.log_std.exp()), prior).sum().item() / 2
        for layer in model.net_.module_.layers
    )
    share = 0.3 / (len(X) * n_outputs)
    np.testing.assert_allclose(losses[0.3] - losses[0.0], share * divergence, rtol=1e-4)


def test_rows_of_earlier_calls_count_in_the_weight_of_the_prior(regression_data):
    X, y = regression_data
    model = regressor().partial_fit(X, y).partial_fit(X[:10], y[:10])
    assert model.net_.module_.n_rows == len(X) + 10
    held_out = regressor(early_stopping=True, validation_fraction=0.25).fit(X, y)
    assert held_out.net_.module_.n_rows == len(X) - len(X) // 4
    model = regressor(warm_start=True).fit(X, y).fit(X, y)
    assert model.net_.module_.n_rows == len(X)


def test_each_training_sample_has_its_own_noise(regression_data):
    X, y = regression_data
    seen, forward = [], BayesianMLP.forward

    def spy(self, x, noise):
        seen.append(noise.clone())
        return forward(self, x, noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BayesianMLP, "forward", spy)
        regressor(n_members=2, batch_size=15, max_iter=4).fit(X, y)
    assert [noise.shape for noise in seen] == [(2, 16 + 12 + 2, 15)] * 16
    noise = torch.cat(seen, dim=2)
    assert len(noise.unique()) > 0.99 * noise.numel()


# The learnt posterior


def linear_data(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=n)


def bayesian_linear_model(**params):
    settings = {
        "hidden_layer_sizes": (),
        "noise": "homoscedastic",
        "kl_weight": 1.0,
        "prior_std": 10.0,
        "n_draws": 200,
        "learning_rate_init": 0.03,
        "max_iter": 250,
        "n_iter_no_change": 250,
        "tol": 0,
        "batch_size": 64,
    }
    return regressor(**{**settings, **params})


@pytest.mark.filterwarnings("ignore:.*reached max_iter")
def test_the_posterior_of_a_linear_model_equals_the_exact_posterior():
    # The features are nearly uncorrelated, so the exact posterior nearly factorises.
    X, y = linear_data(64)
    model = bayesian_linear_model().fit(X, y)
    exact = BayesianRidge().fit(X, y)
    layer = model.net_.module_.core.first
    scale = model.y_scaler_.scale_[0] / model.x_scaler_.scale_
    np.testing.assert_allclose(
        layer.mean[0, 0, :3].detach().numpy() * scale, exact.coef_, atol=0.12
    )
    stds = layer.log_std[0, 0, :3].exp().detach().numpy() * scale
    np.testing.assert_allclose(stds, np.sqrt(np.diag(exact.sigma_)), rtol=0.25)
    assert abs(model.noise_std_ / exact.alpha_**-0.5 - 1) < 0.15


@pytest.mark.filterwarnings("ignore:.*reached max_iter")
def test_epistemic_uncertainty_falls_with_more_rows_and_grows_in_extrapolation():
    found = {}
    for n in (32, 512):
        model = bayesian_linear_model(max_iter=250 if n == 32 else 60).fit(*linear_data(n))
        found[n] = model.predict_uncertainty(np.outer([0.5, 5.0], np.ones(3))).epistemic
    assert found[512][0] < 0.5 * found[32][0]
    for near, far in found.values():
        assert far > 3 * near


def test_tempering_narrows_the_posterior(regression_data):
    X, y = regression_data
    spread = [
        regressor(kl_weight=kl_weight, max_iter=60, learning_rate_init=0.03, n_draws=50)
        .fit(X, y)
        .predict_uncertainty(X)
        .epistemic.mean()
        for kl_weight in (0.01, 1.0)
    ]
    assert spread[0] < 0.7 * spread[1]


def test_a_narrow_prior_keeps_the_weights_small(classification_data):
    X, y = classification_data
    norms = [
        classifier(prior_std=prior_std, kl_weight=1.0, max_iter=30, learning_rate_init=0.03)
        .fit(X, y)
        .net_.module_.core.first.mean.square()
        .mean()
        .item()
        for prior_std in (0.05, 1.0)
    ]
    assert norms[0] < 0.5 * norms[1]


@pytest.mark.parametrize(("noise", "expected"), [("heteroscedastic", 60), (None, 120)])
def test_the_divergence_is_divided_by_the_number_of_training_rows(noise, expected):
    X, y = make_friedman1(120, random_state=0)
    model = VariationalBNNRegressor(
        noise=noise, validation_fraction=0.5, max_iter=3, hidden_layer_sizes=(4,), random_state=0
    ).fit(X, y)
    assert model.net_.module_.n_rows == expected
    model.partial_fit(X[:10], y[:10])
    assert model.net_.module_.n_rows == 60 + 10
