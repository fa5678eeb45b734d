import copy

import pytest
import torch

from benchmarks_uci.speed.prediction import (
    N_ANCHORS,
    PASS_ROWS,
    features,
    fitted_model,
    forward_tiled,
    passes_alone,
    plain_network,
    predict_plain,
    same_numbers,
)


@pytest.fixture(scope="module")
def model():
    return fitted_model(widening=0)


def test_tiling_gives_the_same_numbers(model):
    exact, public = same_numbers(model, features(50, 9, seed=1))
    assert exact.value < 1e-10
    assert public.value < 1e-4


def test_tiled_forward_is_the_papers_formula_pair_by_pair(model):
    module = copy.deepcopy(model.net_.module_).double()
    x = torch.from_numpy(features(3, 9, seed=1))
    with torch.inference_mode():
        tiled = forward_tiled(module, x, module.anchors).view(20, 3, 2)
        pair = module(x[None, 2:].mT, module.anchors[None, 7:8].mT)  # (member, output, sample)
    torch.testing.assert_close(tiled[7, 2], pair[0, :, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 1024, 1025])
def test_passes_are_over_every_pair(n_rows, monkeypatch):
    """A whole number of blocks of rows, each with all of the anchors."""
    pairs = []

    def counting(bias, weight, hidden, product=torch.baddbmm):
        pairs.append(hidden.shape[2])
        return product(bias, weight, hidden)

    monkeypatch.setattr(torch, "baddbmm", counting)
    passes_alone(n_rows, 3)
    assert sum(pairs) == N_ANCHORS * PASS_ROWS * -(-n_rows // PASS_ROWS)


def test_plain_network_predicts_mean_and_std(model):
    mean, std = predict_plain(model, plain_network(), features(5, 9, seed=1))
    assert mean.shape == std.shape == (5,)
    assert (std > 0).all()
