import pytest
import torch

from benchmarks_uci.speed import prediction
from benchmarks_uci.speed.internals import read_network
from benchmarks_uci.speed.prediction import (
    N_ANCHORS,
    PASS_ROWS,
    compare_numbers,
    draw_features,
    fit_briefly,
    fit_model,
    forward_tiled,
    make_plain_network,
    predict_plain,
    run_passes_only,
)
from sk_deltauq import DeltaUQRegressor

# What the measurement sets
CHOSEN = "hidden_layer_sizes", "n_members", "random_state"


@pytest.fixture(scope="module")
def model():
    return fit_model(widening=0)


def test_tiling_gives_the_same_numbers(model):
    exact, public = compare_numbers(model, draw_features(50, 9, seed=1))
    assert exact.value < 1e-10
    assert public.value < 1e-4


def test_tiled_forward_is_the_papers_formula_pair_by_pair(model):
    network = read_network(model, torch.float64)
    x = torch.from_numpy(draw_features(3, 9, seed=1))
    with torch.inference_mode():
        tiled = forward_tiled(network, x)
    assert tiled.shape == (20, 3, 2)
    c = network.anchors[7]
    h = torch.cat([c, x[2] - c])
    for weight, bias in network.layers[:-1]:
        h = torch.relu(weight @ h + bias)
    weight, bias = network.layers[-1]
    torch.testing.assert_close(tiled[7, 2], weight @ h + bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 1024, 1025])
def test_passes_cover_every_pair(n_rows, monkeypatch):
    """In whole blocks of rows, each with all anchors."""
    pairs = []

    def counting(bias, weight, hidden, product=torch.baddbmm):
        pairs.append(hidden.shape[2])
        return product(bias, weight, hidden)

    monkeypatch.setattr(torch, "baddbmm", counting)
    run_passes_only(n_rows, 3)
    assert sum(pairs) == N_ANCHORS * PASS_ROWS * -(-n_rows // PASS_ROWS)


def test_plain_network_predicts_mean_and_std(model):
    mean, std = predict_plain(model, make_plain_network(), draw_features(5, 9, seed=1))
    assert mean.shape == std.shape == (5,)
    assert (std > 0).all()


def test_defaults_equal_the_estimator(monkeypatch):
    models = []

    def remember(model, shape):
        models.append(model)
        return fit_briefly(model, shape)

    monkeypatch.setattr(prediction, "fit_briefly", remember)
    one, five = prediction._measure_defaults(prediction.QUICK_CASES[0])
    changed = [model.get_params() for model in models]
    defaults = DeltaUQRegressor().get_params()
    for params, n_members in zip(changed, (1, 5), strict=True):
        assert params == {**defaults, **{key: params[key] for key in CHOSEN}}
        assert params["n_members"] == n_members
    for model in models:  # the embedding and the inflation are on
        assert model.net_.module_.core.embedding.n_outputs > 9
        assert model._predictor().inflation is not None
    assert (one.goal, five.goal) == (5, None)
    assert "one network" in one.what
    assert f"{models[1].n_components_} components" in five.what
