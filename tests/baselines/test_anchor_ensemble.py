"""Anchor ensembles against the paper's construction, by a second route."""

import numpy as np
import pytest
import torch

from sk_deltauq._training.rows import Batches
from sk_deltauq._torch.networks import PlainMLP, ShiftedMLP
from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.baselines import AnchorEnsembleClassifier, AnchorEnsembleRegressor
from tests._helpers import assert_stacked_is_alone, embed

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
    with torch.inference_mode():
        return model._components(scale_to_tensor(X, model.x_scaler_))


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
    net = model.net_
    for member in range(1, 5):
        pairs = zip(net.member_tensors(0), net.member_tensors(member), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    other = make(random_state=1, **params, **UNTRAINED).fit(*data).net_
    assert not torch.equal(net.member_tensors(0)[0], other.member_tensors(0)[0])


def test_members_end_apart(make, data):
    weight = make().fit(*data).net_.module_.core.first.weight
    for member in range(1, 5):
        assert (weight[0] - weight[member]).abs().max() > 1e-3


@pytest.mark.parametrize("n_rows", [60, 3])
def test_anchors_are_training_rows_one_a_member(make, data, n_rows):
    X, y = (a[:n_rows] for a in data)
    model = make().fit(X, y)
    assert model.anchors_.shape == (5, X.shape[1])
    assert all((row == X).all(axis=1).any() for row in model.anchors_)
    assert len(np.unique(model.anchors_, axis=0)) == min(5, n_rows)
    more = make(n_members=9).fit(X, y)
    np.testing.assert_array_equal(more.anchors_[:5], model.anchors_)


def test_anchors_come_in_proportion_to_the_weights(make, data):
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
    plain = PlainMLP(
        embed("periodic", X.shape[1], [torch.Generator()]),
        module.rest[-1].bias.shape[1],
        hidden_layer_sizes=(16,),
        activation="relu",
        generators=[torch.Generator()],
    )
    for member, anchor in enumerate(anchors):
        for own, theirs in zip(plain.parameters(), module.parameters(), strict=True):
            own.data = theirs.data[member : member + 1]
        with torch.inference_mode():
            raw = plain((x - anchor).T[None]).unsqueeze(2)
            expected = model.net_.criterion_.components(raw)
        mine = [part[member] for part in found] if make is regressor else [found[member]]
        theirs = [part[0] for part in expected] if make is regressor else [expected[0]]
        torch.testing.assert_close(mine, theirs)


def test_a_shift_is_another_bias_of_the_first_layer(make, data):
    """W (x - c) + b = W x + (b - W c), in float64."""
    X, y = data
    model = make().fit(X, y)
    module = model.net_.module_
    x = (X - model.x_scaler_.mean_) / model.x_scaler_.scale_
    c = (model.anchors_ - model.x_scaler_.mean_) / model.x_scaler_.scale_
    for member in range(5):
        tensors = [t.double().numpy() for t in model.net_.member_tensors(member)]
        W, b, V, a = tensors[0], tensors[1][:, 0], tensors[2], tensors[3][:, 0]
        raw = np.maximum(x @ W.T + (b - W @ c[member]), 0) @ V.T + a
        found = module.components(scale_to_tensor(X, model.x_scaler_).T)[member, :, 0].detach().T
        np.testing.assert_allclose(found, raw, rtol=1e-3, atol=1e-5)


def test_one_anchor_for_all_is_one_network(make, data):
    """Without noise from the order of the rows, the anchors alone make members differ."""
    X, y = data
    params = {"batch_size": len(X), "max_iter": 20, "learning_rate_init": 0.02}
    apart = make(**params).fit(X, y)
    same = make(**params)
    set_anchors = ShiftedMLP.set_anchors
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ShiftedMLP, "set_anchors", lambda self, c: set_anchors(self, c[:1].expand_as(c))
        )
        same.fit(X, y)
    spread = [components(model, X) for model in (apart, same)]
    spread = [(s[0] if make is regressor else s).std(dim=0).mean() for s in spread]
    assert spread[1] < 1e-3 * spread[0]


def test_epistemic_uncertainty_is_larger_where_there_are_no_rows():
    X = np.random.default_rng(0).uniform(-2, 2, (80, 1))
    params = {"noise": None, "max_iter": 150, "learning_rate_init": 0.02}
    model = regressor(**params, hidden_layer_sizes=(32, 32)).fit(X, np.sin(3 * X[:, 0]))
    inside, beyond = (
        model.predict_uncertainty(np.linspace(low, high, 20)[:, None]).epistemic.mean()
        for low, high in ((-2, 2), (3, 4))
    )
    assert beyond > 4 * inside


# Training


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("hold_out", [False, True])
def test_stacked_members_are_the_members_trained_one_by_one(kind, hold_out):
    anchors = torch.tensor([[0.5, -1.0], [-0.3, 0.2], [1.0, 1.0]])

    def make_module(n_outputs, generators, members):
        settings = {"hidden_layer_sizes": (8, 8), "activation": "tanh"}
        module = ShiftedMLP(
            embed("periodic", 2, generators), n_outputs, generators=generators, **settings
        )
        module.set_anchors(anchors[members])
        return module

    assert_stacked_is_alone(make_module, kind=kind, hold_out=hold_out, batches=Batches)


def test_anchors_stay_while_training_goes_on(make, data):
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
