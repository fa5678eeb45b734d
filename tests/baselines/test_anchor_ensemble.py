"""Anchor ensembles against the paper's construction, computed in a second way."""

import numpy as np
import pytest
import torch

from sk_deltauq._methods.shifted import ShiftedNetwork
from sk_deltauq._networks.mlp import MLP, PlainNetwork
from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.baselines import AnchorEnsembleClassifier, AnchorEnsembleRegressor
from tests._helpers import make_spec

TINY = {
    "hidden_layer_sizes": (16,),
    "embedding": None,
    "max_iter": 5,
    "early_stopping": False,
    "random_state": 0,
}
UNTRAINED = {"max_iter": 1, "learning_rate_init": 1e-30}


def regressor(**params):
    return AnchorEnsembleRegressor(**{**TINY, **params})


def classifier(**params):
    return AnchorEnsembleClassifier(**{**TINY, **params})


def components(model, X):
    """The parameters of all components, each `(component, sample, output)`."""
    with torch.inference_mode():
        return model._predictor().module(scale_to_tensor(X, model.x_scaler_))


@pytest.fixture(params=[regressor, classifier], ids=lambda make: make.__name__)
def make(request):
    return request.param


@pytest.fixture
def data(make, regression_data, classification_data):
    return regression_data if make is regressor else classification_data


# The construction: section 3.1 of the paper


@pytest.mark.parametrize(
    "params",
    [{}, {"embedding": "sinusoidal"}, {"embedding": "periodic"}, {"module": torch.nn.Linear}],
)
def test_all_members_start_from_the_same_weights(make, data, params):
    model = make(**params, **UNTRAINED).fit(*data)
    core = model.net_.module_.core
    for member in range(1, 5):
        pairs = zip(core.member_tensors(0), core.member_tensors(member), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    other = make(random_state=1, **params, **UNTRAINED).fit(*data).net_.module_.core
    assert not torch.equal(core.member_tensors(0)[0], other.member_tensors(0)[0])


def test_training_makes_the_members_differ(make, data):
    weight = make().fit(*data).net_.module_.core.first.weight
    for member in range(1, 5):
        assert (weight[0] - weight[member]).abs().max() > 1e-3


@pytest.mark.parametrize("n_rows", [60, 3])
def test_each_member_has_a_training_row_as_its_anchor(make, data, n_rows):
    X, y = (a[:n_rows] for a in data)
    model = make().fit(X, y)
    assert model.anchors_.shape == (5, X.shape[1])
    assert all((row == X).all(axis=1).any() for row in model.anchors_)
    assert len(np.unique(model.anchors_, axis=0)) == min(5, n_rows)
    more = make(n_members=9).fit(X, y)
    np.testing.assert_array_equal(more.anchors_[:5], model.anchors_)


def test_anchors_are_drawn_in_proportion_to_the_weights(make, data):
    X, y = data
    weights = np.where(np.arange(len(X)) < 30, 1.0, 1e-9)
    model = make(n_members=20).fit(X, y, sample_weight=weights)
    assert all((row == X[:30]).all(axis=1).any() for row in model.anchors_)


def test_a_member_is_a_plain_network_on_shifted_rows(make, data):
    X, y = data
    model = make(embedding="periodic").fit(X, y)
    module = model.net_.module_
    x = scale_to_tensor(X, model.x_scaler_)
    anchors = scale_to_tensor(model.anchors_, model.x_scaler_)
    found = components(model, X)
    n_outputs = model.net_.criterion_.n_network_outputs
    spec = make_spec(
        X.shape[1], n_outputs, [0], embedding="periodic", sizes=(16,), activation="relu"
    )
    plain = PlainNetwork(MLP(spec))
    for member, anchor in enumerate(anchors):
        for own, stacked in zip(plain.parameters(), module.parameters(), strict=True):
            own.data = stacked.data[member : member + 1]
        with torch.inference_mode():
            raw = plain((x - anchor).T[None]).unsqueeze(2)
            expected = model.net_.criterion_.components(raw)
        torch.testing.assert_close(
            [part[member] for part in found], [part[0] for part in expected]
        )


def test_a_shift_is_another_bias_of_the_first_layer(make, data):
    """W (x - c) + b = W x + (b - W c), in float64."""
    X, y = data
    model = make().fit(X, y)
    module = model.net_.module_
    x = (X - model.x_scaler_.mean_) / model.x_scaler_.scale_
    c = (model.anchors_ - model.x_scaler_.mean_) / model.x_scaler_.scale_
    for member in range(5):
        tensors = [t.double().numpy() for t in module.core.member_tensors(member)]
        W, b, V, a = tensors[0], tensors[1][:, 0], tensors[2], tensors[3][:, 0]
        raw = np.maximum(x @ W.T + (b - W @ c[member]), 0) @ V.T + a
        found = module.components(scale_to_tensor(X, model.x_scaler_).T)[member, :, 0].detach().T
        np.testing.assert_allclose(found, raw, rtol=1e-3, atol=1e-5)


def test_members_with_the_same_anchor_are_equal(make, data):
    """With full batches the order of the rows has no effect: only the anchors differ."""
    X, y = data
    params = {"batch_size": len(X), "max_iter": 20, "learning_rate_init": 0.02}
    different = make(**params).fit(X, y)
    same = make(**params)
    set_anchors = ShiftedNetwork.set_anchors
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ShiftedNetwork,
            "set_anchors",
            lambda self, c: set_anchors(self, c[:1].repeat(len(c), 1)),
        )
        same.fit(X, y)
    spread = [components(model, X)[0].std(dim=0).mean() for model in (different, same)]
    assert spread[1] < 1e-3 * spread[0]


def test_epistemic_uncertainty_is_larger_in_extrapolation():
    X = np.random.default_rng(0).uniform(-2, 2, (80, 1))
    params = {"noise": None, "max_iter": 150, "learning_rate_init": 0.02}
    model = regressor(**params, hidden_layer_sizes=(32, 32)).fit(X, np.sin(3 * X[:, 0]))
    inside, beyond = (
        model.predict_uncertainty(np.linspace(low, high, 20)[:, None]).epistemic.mean()
        for low, high in ((-2, 2), (3, 4))
    )
    assert beyond > 4 * inside


# Training


def test_anchors_stay_while_training_continues(make, data):
    X, y = data
    model = make(warm_start=True).fit(X, y)
    anchors, shifts = model.anchors_, model.net_.module_.anchors
    for method in ("fit", "partial_fit"):
        getattr(model, method)(X[::-1], y[::-1])
        np.testing.assert_array_equal(model.anchors_, anchors)
        assert torch.equal(model.net_.module_.anchors, shifts)


def test_a_users_module_gets_shifted_rows(regression_data):
    X, y = regression_data
    model = regressor(module=torch.nn.Linear, noise=None, n_members=2, max_iter=10).fit(X, y)
    x = (X - model.x_scaler_.mean_) / model.x_scaler_.scale_
    c = (model.anchors_ - model.x_scaler_.mean_) / model.x_scaler_.scale_
    means = np.array(
        [
            (x - c[m]) @ member.weight.detach().double().numpy()[0] + member.bias.item()
            for m, member in enumerate(model.net_.module_.core.members)
        ]
    )
    means = means * model.y_scaler_.scale_ + model.y_scaler_.mean_
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std, means.std(axis=0), rtol=1e-3)
