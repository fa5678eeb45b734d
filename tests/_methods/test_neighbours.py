"""Anchors that know their target: what the networks see in training and at prediction."""

import numpy as np
import pytest
import torch
from torch import nn

from sk_deltauq._methods.neighbours import NearestAnchors, _draw_subsets, _measure_unit
from sk_deltauq._methods.pool import PoolRows
from sk_deltauq._training.method import DrawContext
from sk_deltauq._validation import FitData
from tests._helpers import make_settings, make_spec, make_training_rows

M, D, N = 2, 3, 40


def perceptron(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))


def make_data(n=N, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(n, D)).astype(np.float32))
    y = torch.from_numpy(rng.normal(size=(n, 1)).astype(np.float32))
    return FitData(x.numpy().astype(float), x, y, torch.ones(n), None, groups)


def make_context(data, *, call=0, previous=None, earlier=None):
    return DrawContext(
        data=data,
        seed=3,
        call=call,
        settings=make_settings(),
        n_train=len(data.x),
        n_held_out=0,
        previous=previous,
        earlier=earlier,
    )


def make_network(data, n_anchors=4, n_neighbors=6, module=None, **changes):
    method = NearestAnchors(n_anchors, n_neighbors, module=module)
    network = method.network(make_spec(D, 2, range(M), **changes))
    return method, network, method.draw(network, make_context(data))


def take_rows(data, train, held_out=None):
    return make_training_rows(
        x=data.x,
        y=data.y,
        weights=data.weights,
        train=torch.tensor(train),
        held_out=held_out,
        generators=[torch.Generator().manual_seed(m) for m in range(M)],
    )


SPLIT = [[i for i in range(N) if i % 4 != m] for m in range(M)]


# Prediction


@pytest.mark.parametrize("module", [None, perceptron])
@pytest.mark.parametrize("embedding", [None, "sinusoidal"])
def test_components_are_forward_passes_with_each_subset(module, embedding):
    data = make_data()
    _, network, _ = make_network(data, module=module, embedding=embedding)
    x = make_data(5, seed=1).x.T
    assert network.n_components == M * 4
    with torch.inference_mode():
        found = network.components(x)
        assert found.shape == (M, 2, 4, 5)
        distance = (data.x[None] - x.T[:, None]).square().sum(dim=2)
        nearest = distance.topk(6, largest=False).indices  # (sample, neighbour)
        numbers = [
            [(network.pool.x == data.x[i]).all(1).nonzero().item() for i in row] for row in nearest
        ]
        numbers = torch.tensor(numbers).T.expand(M, -1, -1)  # (member, neighbour, sample)
        for j, subset in enumerate(network.subsets):
            used = subset[None, :, None].expand(M, -1, 5)
            expected = network(x.expand(M, -1, -1), numbers, used)
            torch.testing.assert_close(found[:, :, j], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(network.components(x, limit=2), found[:, :, :2])


def test_the_output_is_the_difference_from_the_mean_target_of_the_neighbours():
    """With all weights of the last layer at zero the mean is a Nadaraya-Watson estimate."""
    data = make_data()
    _, network, _ = make_network(data, n_anchors=1, sizes=())
    with torch.no_grad():
        network.core.first.weight.zero_()
        network.core.first.bias.zero_()
        network.core.selection.metric.fill_(0.7)
        x = make_data(4, seed=1).x
        found = network.components(x.T)[:, 0, 0]  # (member, sample)
    for s, row in enumerate(x):
        squares = (data.x - row).square().sum(dim=1)
        nearest = squares.topk(6, largest=False).indices
        distance = (0.7 * (data.x[nearest] - row) / network.unit).square().sum(dim=1)
        expected = (distance.neg().softmax(dim=0) * data.y[nearest, 0]).sum()
        torch.testing.assert_close(found[:, s], expected.expand(M), rtol=1e-4, atol=1e-5)


def test_the_search_with_a_graph_gives_the_same_answer():
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


# Training


def test_a_member_never_sees_the_targets_that_it_holds_out():
    data = make_data()
    method, network, _ = make_network(data)
    rows = take_rows(data, SPLIT)
    (inputs, _), *_ = method.batches(network, rows, N)
    with torch.no_grad():
        before = network(*inputs)
        held_out = data.x[::4].T.expand(M, -1, -1)
        with torch.inference_mode():
            scores = network.components(held_out)
    changed = data.y.clone()
    changed[::4] += 100.0  # member 0 holds these rows out
    network.pool_y = changed
    method.batches(network, rows, N)
    with torch.no_grad():
        after = network(*inputs)
        with torch.inference_mode():
            scores_after = network.components(held_out)
    torch.testing.assert_close(after[0], before[0])
    torch.testing.assert_close(scores_after[0], scores[0])
    assert (after[1] - before[1]).abs().max() > 1
    method.finish(network)
    with torch.inference_mode():
        assert (network.components(held_out)[0] - scores[0]).abs().max() > 1


def test_the_own_target_of_a_row_has_no_effect_on_its_inputs():
    data = make_data()
    equal = torch.cat([data.x, data.x[:1]])  # rows 0 and 40 are equal
    data = FitData(
        equal.numpy().astype(float),
        equal,
        torch.cat([data.y, data.y[:1] + 1]),
        torch.ones(N + 1),
        None,
    )
    method, network, _ = make_network(data)
    everyone = [list(range(N + 1))] * M
    batch = next(iter(method.batches(network, take_rows(data, everyone), N + 1)))
    (x, numbers, used), _ = batch
    neighbours = network.pool.x[numbers.transpose(1, 2)]  # (member, sample, neighbour, feature)
    is_equal = (neighbours == x.transpose(1, 2).unsqueeze(2)).all(dim=3)
    assert used.any()
    assert not (is_equal & used.transpose(1, 2)).any()


def test_half_of_the_neighbours_take_part_in_training():
    data = make_data(400)
    method, network, _ = make_network(data, n_neighbors=16)
    batches = method.batches(network, take_rows(data, [list(range(400))] * M), 64)
    used = torch.cat([inputs[2] for inputs, _ in batches], dim=2)
    assert used.shape == (M, 16, 400)
    assert abs(float(used.float().mean()) - 0.5) < 0.02
    assert not torch.equal(used[0], used[1])


def test_a_member_alone_meets_the_same_neighbours_as_in_the_stack():
    data = make_data()
    method, network, _ = make_network(data)
    (_, numbers, used), _ = next(iter(method.batches(network, take_rows(data, SPLIT), 8)))
    alone = NearestAnchors(4, 6).network(make_spec(D, 2, [1]))
    NearestAnchors(4, 6).draw(alone, make_context(data))
    rows = make_training_rows(
        x=data.x,
        y=data.y,
        weights=data.weights,
        train=torch.tensor(SPLIT[1:]),
        generators=[torch.Generator().manual_seed(1)],
    )
    (_, numbers_alone, used_alone), _ = next(iter(method.batches(alone, rows, 8)))
    assert torch.equal(used_alone[0], used[1])
    assert torch.equal(numbers_alone[0][used_alone[0]], numbers[1][used[1]])


def test_neighbours_come_from_other_groups():
    data = make_data(groups=np.arange(N) // 10)
    method, network, _ = make_network(data)
    (x, numbers, used), _ = next(iter(method.batches(network, take_rows(data, SPLIT), N)))
    group_of = {tuple(row.tolist()): i // 10 for i, row in enumerate(data.x)}
    for m in range(M):
        for s in range(x.shape[2]):
            own = group_of[tuple(x[m, :, s].tolist())]
            others = network.pool.x[numbers[m, :, s][used[m, :, s]]]
            assert all(group_of[tuple(row.tolist())] != own for row in others)


# What is drawn


def test_subsets_are_complementary_halves():
    subsets = _draw_subsets(np.random.default_rng(0), 5, 7)
    assert subsets.shape == (5, 7)
    assert subsets.sum(dim=1).tolist() == [4, 3, 4, 3, 4]
    for first in (0, 2):
        assert (subsets[first] ^ subsets[first + 1]).all()
    assert not torch.equal(subsets[0], subsets[2])


@pytest.mark.parametrize(("n_anchors", "n_neighbors"), [(1, 6), (4, 1)])
def test_one_anchor_or_one_neighbour_has_no_halves(n_anchors, n_neighbors):
    subsets = _draw_subsets(np.random.default_rng(0), n_anchors, n_neighbors)
    assert subsets.shape == (n_anchors, n_neighbors)
    assert subsets.all()


def test_the_unit_is_the_typical_difference_between_neighbours():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [12.0, 0.0]])
    unit = _measure_unit(PoolRows(x, torch.zeros(4, 1), torch.ones(4), None), 1)
    expected = ((1 + 1 + 4 + 4) / 4) ** 0.5
    torch.testing.assert_close(unit, torch.tensor([expected + 0.03, 0.03]))


def test_few_rows_have_few_neighbours():
    _, network, _ = make_network(make_data(13), n_neighbors=16)
    assert network.subsets.shape == (4, 3)


def test_a_smaller_pool_is_a_sample_of_the_rows():
    data = make_data()
    method = NearestAnchors(4, 6, pool_size=15)
    network = method.network(make_spec(D, 2, range(M)))
    kept = method.draw(network, make_context(data))
    assert kept["anchors_"].shape == (15, D)
    rows = {tuple(row) for row in data.x.tolist()}
    assert {tuple(row) for row in network.pool_x.tolist()} <= rows
    assert len(network.pool.x) == 15


def test_more_rows_join_the_pool():
    first, second = make_data(), make_data(seed=1)
    method, network, kept = make_network(first)
    unit = network.unit
    kept = method.draw(network, make_context(second, call=1, previous=kept, earlier=kept))
    assert len(network.pool_x) == len(kept["anchors_"]) == 2 * N
    assert torch.equal(network.pool_x, torch.cat([first.x, second.x]))
    assert torch.equal(network.unit, unit), "the weights belong to these units"
    assert network.row_numbers.tolist() == [-1] * N + list(range(N))
    batches = method.batches(network, take_rows(second, [list(range(N))] * M), 10)
    assert len(list(batches)) == 4
