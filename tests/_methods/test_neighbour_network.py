"""What networks see of the neighbours of a row at prediction."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from sk_deltauq._methods.metric import Metric
from sk_deltauq._methods.neighbours import NearestAnchors
from tests._helpers import make_spec
from tests._methods.neighbour_data import (
    SPLIT,
    D,
    M,
    N,
    make_context,
    make_data,
    make_network,
    take_rows,
)


def perceptron(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))


def use_metric(network, data, scale):
    """Give all members and heads the same metric: one scale for all features."""
    scales = torch.full((M, 2, D), scale)
    metric = Metric(torch.ones(D), scales, torch.zeros(M, 0, D, D))
    network.set_pool(network.pool_rows, metric, network.subsets)


def test_logits_are_added_to_the_logarithm_of_the_shares_of_the_classes():
    """With all weights at zero, the probabilities are the smoothed shares of the neighbours."""
    data = make_data()
    data = replace(data, y=(torch.arange(N) % 3).float()[:, None])
    method = NearestAnchors(1, 6, n_classes=3)
    network = method.network(make_spec(D, 3, range(M), sizes=()))
    method.draw(network, make_context(data))
    assert network.n_targets == 3
    use_metric(network, data, 0.7)
    with torch.no_grad():
        network.core.first.weight.zero_()
        network.core.first.bias.zero_()
        x = make_data(4, seed=1).x
        found = network.components(x.T)[:, :, 0].softmax(dim=1)  # (member, class, sample)
    for s, row in enumerate(x):
        nearest = (data.x - row).square().sum(dim=1).topk(6, largest=False).indices
        weights = (0.7 * (data.x[nearest] - row)).square().sum(dim=1).neg().softmax(dim=0)
        shares = torch.stack([weights[data.y[nearest, 0] == k].sum() for k in range(3)])
        expected = (shares + 0.05) / 1.15
        torch.testing.assert_close(found[:, :, s], expected.expand(M, 3), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("module", [None, perceptron])
@pytest.mark.parametrize("embedding", [None, "sinusoidal"])
def test_components_are_forward_passes_with_each_subset(module, embedding):
    data = make_data()
    _, network, _ = make_network(data, module=module, embedding=embedding)
    use_metric(network, data, 0.7)
    x = make_data(5, seed=1).x
    assert network.n_components == M * 4
    with torch.inference_mode():
        found = network.components(x.T)
        assert found.shape == (M, 2, 4, 5)
        distance = (network.pool.x[None] - x[:, None]).square().sum(dim=2)
        near = distance.topk(6, largest=False).indices.expand(M, -1, -1)
        rows = x.expand(M, -1, -1)
        for j, subset in enumerate(network.subsets):
            features, level = network.describe(rows, near, subset.expand(M, 5, 1, -1))
            expected = network(rows.transpose(1, 2), features.squeeze(2), level.squeeze(2))
            torch.testing.assert_close(found[:, :, j], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(network.components(x.T, limit=2), found[:, :, :2])


def test_the_output_is_the_difference_from_the_mean_target_of_the_neighbours():
    """With all weights of the last layer at zero the mean is a Nadaraya-Watson estimate."""
    data = make_data()
    _, network, _ = make_network(data, n_anchors=1, sizes=())
    use_metric(network, data, 0.7)
    with torch.no_grad():
        network.core.first.weight.zero_()
        network.core.first.bias.zero_()
        x = make_data(4, seed=1).x
        found = network.components(x.T)[:, 0, 0]  # (member, sample)
    for s, row in enumerate(x):
        squares = (data.x - row).square().sum(dim=1)
        nearest = squares.topk(6, largest=False).indices
        distance = (0.7 * (data.x[nearest] - row)).square().sum(dim=1)
        expected = (distance.neg().softmax(dim=0) * data.y[nearest, 0]).sum()
        torch.testing.assert_close(found[:, s], expected.expand(M), rtol=1e-4, atol=1e-5)


def test_the_search_with_a_graph_finds_the_same_rows():
    data = make_data(700)
    _, network, _ = make_network(data)
    x = make_data(9, seed=1).x.T.clone().requires_grad_()
    with_graph = network.components(x)
    with torch.inference_mode():
        without = network.components(x.detach())
    torch.testing.assert_close(with_graph, without)
    with_graph.sum().backward()
    assert x.grad.abs().min() > 0


def test_each_member_may_have_samples_of_its_own():
    _, network, _ = make_network(make_data())
    x = torch.stack([make_data(5, seed=1).x.T, make_data(5, seed=2).x.T])
    with torch.inference_mode():
        found = network.components(x)
        for m in range(M):
            torch.testing.assert_close(found[m], network.components(x[m])[m])


def test_descriptions_of_held_out_rows_are_remembered_by_their_content():
    data = make_data()
    method, network, _ = make_network(data)
    method.batches(network, take_rows(data, SPLIT), 8)
    x = make_data(5, seed=1).x.T
    with torch.inference_mode():
        first = network.components(x, limit=2)
        assert len(network._descriptions) == 1
        torch.testing.assert_close(network.components(x.clone(), limit=2), first)
        assert len(network._descriptions) == 1
        assert not torch.equal(network.components(x + 1, limit=2), first)
        torch.testing.assert_close(network.components(x, limit=1), first[:, :, :1])
    assert len(network._descriptions) == 3
    method.finish(network)
    assert not network._descriptions
