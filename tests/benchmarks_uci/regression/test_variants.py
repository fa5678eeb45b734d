import numpy as np
import pytest
import torch
from sklearn.base import clone

from benchmarks_uci.regression.variants import Concatenated, MeanOnly, Naive, ShuffledAnchors
from sk_deltauq import DeltaUQRegressor

# Without a hold-out one member is one network, also on few rows.
FEW = {"hidden_layer_sizes": 8, "max_iter": 5, "early_stopping": False, "random_state": 0}


@pytest.fixture
def fitted(regression_data):
    """`fitted(cls)`: a class fitted to the data, with its rows."""
    X, y = regression_data

    def fit(cls, **params):
        return cls(**FEW, **params).fit(X, y), X

    return fit


@pytest.mark.parametrize("cls", [Naive, MeanOnly])
def test_variant_predicts_a_distribution_that_agrees_with_the_std(fitted, cls):
    model, X = fitted(cls)
    mean, std = model.predict(X, return_std=True)
    dist = model.predict_dist(X)
    assert (std > 0).all()
    np.testing.assert_array_equal(model.predict(X), mean)
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(dist.std, std, rtol=1e-6)
    assert repr(clone(model)) == repr(model)


def test_naive_is_the_network_at_the_anchor_zero(fitted):
    naive, X = fitted(Naive, noise=None)
    full, _ = fitted(DeltaUQRegressor, noise=None)
    x = torch.from_numpy(full.x_scaler_.transform(X)).float().T.unsqueeze(0)
    with torch.no_grad():  # the same weights, called as in training
        answer = full.net_.module_.eval()(x, torch.zeros_like(x))[0, 0].double().numpy()
    expected = full.y_scaler_.inverse_transform(answer[:, np.newaxis])[:, 0]
    np.testing.assert_allclose(naive.predict(X), expected, rtol=1e-4)
    assert np.abs(naive.predict(X) - full.predict(X)).max() > 1e-3


def test_mean_only_has_the_same_mean_and_noise(fitted):
    mean_only, X = fitted(MeanOnly)
    full, _ = fitted(DeltaUQRegressor)
    mean, std = mean_only.predict(X, return_std=True)
    np.testing.assert_allclose(mean, full.predict(X), rtol=1e-6)
    np.testing.assert_allclose(std, full.predict_uncertainty(X)["aleatoric"], rtol=1e-6)
    assert (std < full.predict(X, return_std=True)[1]).all()


def test_concatenated_network_can_be_the_factorised_one(fitted):
    # W x + V c is the layer with weights [V + W, W] on [c, x - c].
    model, X = fitted(DeltaUQRegressor, noise=None, embedding=None)
    ours, d = model.net_.module_.eval(), X.shape[1]
    x, c = torch.randn(2, 1, d, 30, generator=torch.Generator().manual_seed(0)).unbind()
    theirs = Concatenated((8,))(2 * d, 1)
    linear, last = theirs[0], theirs[2]
    W, V, bias = _first_layer(ours, d)
    with torch.no_grad():
        linear.weight.copy_(torch.cat([V + W, W], dim=1))
        linear.bias.copy_(bias)
        expected = ours(x, c)[0]
        last.weight.copy_(ours.core.rest[0].weight[0])
        last.bias.copy_(ours.core.rest[0].bias[0].flatten())
        found = theirs(torch.cat([c[0], x[0] - c[0]]).T).T
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def _first_layer(module, d):
    """Weights of rows, weights of anchors, and biases, from the outputs of the layer."""
    zero, one = torch.zeros(1, d, d), torch.eye(d).unsqueeze(0)
    with torch.no_grad():
        bias = module.core.first(zero, zero)[0]
        return (
            module.core.first(one, zero)[0] - bias,
            module.core.first(zero, one)[0] - bias,
            bias[:, 0],
        )


@pytest.mark.parametrize("sizes", [(8,), (8, 4)])
def test_concatenated_network_has_its_widths(sizes):
    network = Concatenated(sizes)(6, 2)
    linear = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    widths = [(layer.in_features, layer.out_features) for layer in linear]
    assert widths == list(zip((6, *sizes), (*sizes, 2), strict=True))


def test_shuffled_anchors_are_the_rows_of_the_batch():
    rows = torch.arange(20.0).reshape(10, 2)
    inputs = torch.cat([torch.full_like(rows, 7), rows - 7], dim=1)
    shuffle = ShuffledAnchors().train()
    anchors, differences = shuffle(inputs).chunk(2, dim=1)
    torch.testing.assert_close(anchors + differences, rows)
    assert sorted(map(tuple, anchors.tolist())) == sorted(map(tuple, rows.tolist()))
    assert shuffle.eval()(inputs) is inputs


def test_shuffling_changes_the_model_and_is_reproducible(fitted):
    plain, X = fitted(DeltaUQRegressor, module=Concatenated((8,)))
    first, again = (fitted(DeltaUQRegressor, module=Concatenated((8,), True))[0] for _ in "12")
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    assert np.abs(first.predict(X) - plain.predict(X)).max() > 1e-4
