"""Deep ensembles against their paper, computed in a second way."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.baselines import DeepEnsembleClassifier, DeepEnsembleRegressor

TINY = {
    "hidden_layer_sizes": (16,),
    "embedding": None,
    "max_iter": 5,
    "early_stopping": False,
    "random_state": 0,
}


def regressor(**params):
    return DeepEnsembleRegressor(**{**TINY, **params})


def classifier(**params):
    return DeepEnsembleClassifier(**{**TINY, **params})


def raw_outputs(model, X, member):
    """The outputs of one member, `(sample, output)`, as a loop over plain layers."""
    core = model.net_.module_.core
    h = scale_to_tensor(X, model.x_scaler_)
    for i, layer in enumerate([core.first, *core.rest]):
        h = torch.relu(h) if i else h
        h = h @ layer.weight[member].T + layer.bias[member, :, 0]
    return h.detach().double()


# Predictions


def test_moments_equal_the_moments_of_the_papers_mixture(regression_data):
    X, y = regression_data
    model = regressor(n_members=3).fit(X, y)
    scale, offset = model.y_scaler_.scale_[0], model.y_scaler_.mean_[0]
    raw = [raw_outputs(model, X, member) for member in range(3)]
    means = np.array([r[:, 0] * scale + offset for r in raw])
    variances = np.array([(torch.nn.functional.softplus(r[:, 1]) + 1e-7) * scale**2 for r in raw])
    # Section 2.4: mu* = mean mu_m, sigma*^2 = mean(sigma_m^2 + mu_m^2) - mu*^2
    expected_mean = means.mean(axis=0)
    expected_variance = (variances + means**2).mean(axis=0) - expected_mean**2
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5)
    np.testing.assert_allclose(std**2, expected_variance, rtol=1e-4)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.aleatoric**2, variances.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(parts.epistemic, means.std(axis=0), rtol=1e-3)
    dist = model.predict_dist(X)
    density = norm.pdf(y, means, np.sqrt(variances)).mean(axis=0)
    np.testing.assert_allclose(dist.pdf(y), density, rtol=1e-4)
    for own, other in ((dist.mean, mean), (dist.std, std), (dist.epistemic, parts.epistemic)):
        np.testing.assert_allclose(own, other, rtol=1e-5)


def test_probabilities_are_the_mean_of_the_members(classification_data):
    X, y = classification_data
    model = classifier(n_members=3, calibration=None).fit(X, y)
    logits = torch.stack([raw_outputs(model, X, member) for member in range(3)])
    expected = logits.softmax(dim=2).mean(dim=0).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-5)
    assert model.n_components_ == 3


def test_one_member_has_no_epistemic_uncertainty(regression_data):
    X, y = regression_data
    parts = regressor(n_members=1).fit(X, y).predict_uncertainty(X)
    np.testing.assert_array_equal(parts.epistemic, 0)
    assert (parts.aleatoric > 0).all()


def test_members_have_different_weights(regression_data):
    X, y = regression_data
    weight = regressor().fit(X, y).net_.module_.core.first.weight
    assert len(weight) == 5
    for member in range(1, 5):
        assert (weight[0] - weight[member]).abs().mean() > 0.1


# Training


def test_training_equals_a_loop_in_plain_torch():
    """One member, the paper's loss (eq. 1), full batches, plain gradient descent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    params = {
        "n_members": 1,
        "nll_beta": 0.0,
        "batch_size": 40,
        "max_iter": 8,
        "net_params": {"optimizer": torch.optim.SGD},
        "learning_rate": "constant",
        "learning_rate_init": 0.05,
        "averaging": 1,
    }
    model = regressor(**params).fit(X, y)
    start = regressor(**{**params, "max_iter": 1, "learning_rate_init": 1e-30}).fit(X, y)
    first, last = start.net_.module_.core.first, start.net_.module_.core.rest[0]
    tensors = [first.weight[0], first.bias[0, :, 0], last.weight[0], last.bias[0, :, 0]]
    tensors = [t.detach().clone().requires_grad_() for t in tensors]
    x = scale_to_tensor(X, model.x_scaler_)
    target = scale_to_tensor(y[:, None], model.y_scaler_)[:, 0]
    for _ in range(8):
        out = torch.relu(x @ tensors[0].T + tensors[1]) @ tensors[2].T + tensors[3]
        variance = torch.nn.functional.softplus(out[:, 1])
        loss = (variance.log() / 2 + (target - out[:, 0]) ** 2 / (2 * variance)).mean()
        gradients = torch.autograd.grad(loss, tensors)
        tensors = [
            (t - 0.05 * g).detach().requires_grad_()
            for t, g in zip(tensors, gradients, strict=True)
        ]
    core = model.net_.module_.core
    torch.testing.assert_close(core.first.weight[0], tensors[0], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(core.rest[0].weight[0], tensors[2], rtol=1e-3, atol=1e-5)


def test_the_adversarial_step_is_a_fraction_of_each_features_range(regression_data):
    X, y = regression_data
    X = np.column_stack([X, np.full(len(X), 3.0)])  # a constant feature has no step
    model = regressor(adversarial_epsilon=0.02).fit(X, y)
    step = model.net_.module_.adversarial_step[:, 0].numpy()
    expected = 0.02 * np.ptp(X[:, :3], axis=0) / X[:, :3].std(axis=0)
    np.testing.assert_allclose(step, [*expected, 0], rtol=1e-5)
    weights = np.where(X[:, 0] > 0.5, 0.0, 1.0)
    half = regressor(adversarial_epsilon=0.02).fit(X, y, sample_weight=weights)
    present = X[weights > 0, 0]
    expected = 0.02 * np.ptp(present) / present.std()
    np.testing.assert_allclose(half.net_.module_.adversarial_step[0, 0], expected, rtol=1e-5)


def test_adversarial_training_does_not_depend_on_the_units_of_x(regression_data):
    X, y = regression_data
    one = regressor(adversarial_epsilon=0.02).fit(X, y)
    other = regressor(adversarial_epsilon=0.02).fit(1024 * X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(1024 * X), rtol=1e-6)
    plain = regressor().fit(X, y)
    assert np.abs(one.predict(X) - plain.predict(X)).max() > 1e-4 * np.ptp(y)
    assert plain.net_.module_.adversarial_step is None


def test_the_range_grows_with_partial_fit(regression_data):
    X, y = regression_data
    order = np.argsort(X[:, 0])
    model = regressor(adversarial_epsilon=0.1)
    for rows in (order[:30], order[30:45], order[45:]):
        model.partial_fit(X[rows], y[rows])
    expected = 0.1 * np.ptp(X[:, 0]) / X[order[:30], 0].std()
    np.testing.assert_allclose(model.net_.module_.adversarial_step[0, 0], expected, rtol=1e-5)


def test_adversarial_training_makes_the_function_flatter(regression_data):
    X, y = regression_data
    params = {"max_iter": 60, "learning_rate_init": 0.02, "hidden_layer_sizes": (32, 32)}

    def slope(model):
        shifted = X + 0.01 * np.eye(3)[0]
        return np.abs(model.predict(shifted) - model.predict(X)).mean()

    plain = regressor(**params).fit(X, y)
    smooth = regressor(adversarial_epsilon=0.3, **params).fit(X, y)
    assert slope(smooth) < 0.8 * slope(plain)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_users_module_gets_embedded_rows(make, regression_data, classification_data):
    X, y = regression_data if make is regressor else classification_data
    model = make(module=torch.nn.Linear, n_members=2, embedding="sinusoidal").fit(X, y)
    members = model.net_.module_.core.members
    assert {member.in_features for member in members} == {7 * X.shape[1]}
    assert not torch.equal(members[0].weight, members[1].weight)
    adversarial = make(module=torch.nn.Linear, n_members=2, adversarial_epsilon=0.1).fit(X, y)
    assert np.isfinite(adversarial.predict(X, return_std=True)[1]).all()


def test_a_users_linear_module_is_linear_in_the_standardised_rows(regression_data):
    X, y = regression_data
    model = regressor(module=torch.nn.Linear, noise=None, n_members=2, max_iter=10).fit(X, y)
    x = (X - model.x_scaler_.mean_) / model.x_scaler_.scale_
    means = np.array(
        [
            x @ member.weight.detach().double().numpy()[0] + member.bias.item()
            for member in model.net_.module_.core.members
        ]
    )
    means = means * model.y_scaler_.scale_ + model.y_scaler_.mean_
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std, means.std(axis=0), rtol=1e-3)


def test_modules_of_the_wrong_width_are_rejected(regression_data):
    model = regressor(module=lambda n_in, n_out: torch.nn.Linear(n_in, n_out + 3))
    with pytest.raises(ValueError, match=r"module must map rows of width 3 to 2 outputs"):
        model.fit(*regression_data)
