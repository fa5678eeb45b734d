"""Random halves of the neighbours: what the networks see in training."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from sk_deltauq._methods import neighbours
from sk_deltauq._methods.halves import TrainingHalves, draw_halves, mark_trained
from sk_deltauq._methods.metric import Metric
from sk_deltauq._methods.neighbours import NearestAnchors
from sk_deltauq._validation import FitData
from sk_deltauq.exceptions import UncertaintyWarning
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


def find_halves(data, train=None, **params):
    _, network, _ = make_network(data, **params)
    return TrainingHalves.find(network, take_rows(data, train))


def test_halves_are_complementary():
    halves = draw_halves(np.random.default_rng(0), 5, 7)
    assert halves.shape == (5, 7)
    assert halves.sum(dim=1).tolist() == [4, 3, 4, 3, 4]
    for first in (0, 2):
        assert (halves[first] ^ halves[first + 1]).all()
    assert not torch.equal(halves[0], halves[2])


@pytest.mark.parametrize(("n_halves", "n_neighbors"), [(1, 6), (4, 1)])
def test_one_half_or_one_neighbour_is_whole(n_halves, n_neighbors):
    halves = draw_halves(np.random.default_rng(0), n_halves, n_neighbors)
    assert halves.shape == (n_halves, n_neighbors)
    assert halves.all()


def test_rows_of_earlier_calls_count_as_training_rows():
    rows = take_rows(make_data(), SPLIT)
    marked = mark_trained(rows, torch.tensor([-1, 0, 1, 2]))
    assert marked.tolist() == [[True, False, True, True], [True, True, False, True]]


def test_a_member_never_sees_the_targets_that_it_holds_out():
    data = make_data()
    method, network, _ = make_network(data)
    rows = take_rows(data, SPLIT)
    held_out = data.x[::4].T.expand(M, -1, -1)

    def look():
        rows.generators[0].manual_seed(0)
        rows.generators[1].manual_seed(1)
        (inputs, _), *_ = method.batches(network, rows, N)
        with torch.inference_mode():
            return network(*inputs), network.components(held_out)

    before, scores = look()
    network.pool_y = data.y.clone()
    network.pool_y[::4] += 100.0  # member 0 holds these rows out
    after, scores_after = look()
    torch.testing.assert_close(after[0], before[0])
    torch.testing.assert_close(scores_after[0], scores[0])
    assert (after[1] - before[1]).abs().max() > 1
    method.finish(network)
    with torch.inference_mode():
        assert (network.components(held_out)[0] - scores[0]).abs().max() > 1


def test_the_own_target_of_a_row_has_no_effect_on_its_inputs():
    data = make_data()
    x = torch.cat([data.x, data.x[:1]])  # rows 0 and 40 are equal
    y = torch.cat([data.y, data.y[:1] + 1])
    data = FitData(x.numpy().astype(float), x, y, torch.ones(N + 1), None)
    halves = find_halves(data)
    neighbours = halves.network.pool.x[halves.near.long()]  # (member, row, neighbour, feature)
    is_equal = (neighbours == x[:, None]).all(dim=3)
    assert halves.counts.any(dim=2).all()
    assert not (is_equal & halves.counts).any()


@pytest.mark.parametrize("pool_size", [None, 15])
def test_neighbours_come_from_other_groups(pool_size):
    """Also the neighbours of rows that are not in the pool."""
    data = make_data(groups=np.arange(N) // 10)
    method = NearestAnchors(4, 6, pool_size=pool_size)
    network = method.network(make_spec(D, 2, range(M)))
    method.draw(network, make_context(data))
    halves = TrainingHalves.find(network, take_rows(data, SPLIT))
    group_of = {tuple(row.tolist()): i // 10 for i, row in enumerate(data.x)}
    for m in range(M):
        for row in range(N):
            others = halves.network.pool.x[halves.near[m, row][halves.counts[m, row]].long()]
            assert all(group_of[tuple(other.tolist())] != row // 10 for other in others)


def test_rows_without_neighbours_are_warned_about():
    """Groups of 100 near rows: no row of another group is among the nearest rows."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 100)
    x = 100 * rng.normal(size=(4, D))[groups] + rng.normal(size=(400, D))
    x = torch.tensor(x, dtype=torch.float32)
    for kind, labels in (("large", groups), ("small", np.arange(400) // 2)):
        data = FitData(x.numpy().astype(float), x, x[:, :1], torch.ones(400), None, labels)
        _, network, _ = make_network(data)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            TrainingHalves.find(network, take_rows(data))
        messages = [str(w.message) for w in caught if w.category is UncertaintyWarning]
        assert len(messages) == (kind == "large"), kind
        assert all("100% of the training rows have no neighbours" in m for m in messages)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_descriptions_in_advance_are_the_same_as_later_ones(n_targets, monkeypatch):
    data = make_data()
    Y = torch.cat([data.y, data.y**2], dim=1)[:, :n_targets]
    data = FitData(data.X, data.x, Y, data.weights, None)
    method, network, _ = make_network(data)
    passes = []
    for most in (2**24, 0):
        monkeypatch.setattr(neighbours, "_MOST_FLOATS", most)
        passes.append(list(method.batches(network, take_rows(data, SPLIT), 8)))
    for (first, _), (second, _) in zip(*passes, strict=True):
        torch.testing.assert_close(first, second)


def test_each_half_is_drawn_as_often():
    data = make_data(400)
    halves = find_halves(data)
    (_, drawn) = halves.draw(torch.arange(400).repeat(M, 20))
    counts = torch.bincount(drawn.flatten(), minlength=len(halves.halves))
    expected = M * 20 * 400 / len(halves.halves)
    assert (counts - expected).abs().max() < 5 * expected**0.5
    assert not torch.equal(drawn[0], drawn[1])


def test_the_neighbours_of_a_member_do_not_depend_on_the_stack():
    data = make_data()
    method, network, _ = make_network(data)
    (_, features, level), _ = next(iter(method.batches(network, take_rows(data, SPLIT), 8)))
    alone = NearestAnchors(4, 6).network(make_spec(D, 2, [1]))
    NearestAnchors(4, 6).draw(alone, make_context(data))
    metric = network.metric  # its search is common to all members of the stack
    own = Metric(metric.unit, metric.scales[1:], metric.directions[1:])
    alone.set_pool(alone.pool_rows, own, alone.subsets)
    alone._index = network._index
    rows = take_rows(data, SPLIT[1:])
    rows.generators[0].manual_seed(1)
    (_, *found), _ = next(iter(method.batches(alone, rows, 8)))
    torch.testing.assert_close(found[0][0], features[1])
    torch.testing.assert_close(found[1][0], level[1])


def test_some_halves_have_far_neighbours():
    data = make_data(800)
    halves = find_halves(data, n_neighbors=16)
    assert halves.halves.shape == (12 + 2 + 2, 16 + 8 + 8)
    assert (halves.halves.sum(dim=1) == 8).all()
    (_, near), (_, thin), (_, thinner) = halves.blocks
    medians = [
        float(halves.distance[:, :, 0, block].sqrt().median()) for block in (near, thin, thinner)
    ]
    assert 1.3 * medians[0] < medians[1] < medians[2] / 1.3


def test_few_rows_have_no_thinned_neighbours_twice():
    halves = find_halves(make_data(12), n_neighbors=16)
    assert halves.halves.shape[0] == 16
    for block_halves, columns in halves.blocks:
        outside = halves.halves[block_halves].clone()
        outside[:, columns] = False
        assert not outside.any()
        for row in halves.near[0][:, columns].tolist():
            assert len(set(row)) == len(row)


# Corrupted rows


def change_rows(data, groups=None, targets=None):
    """All rows as samples of each member, of which only member 1 changes.

    The neighbours have other `targets`, which the metric does not know.
    """
    data = replace(data, groups=groups)
    _, network, _ = make_network(data, n_neighbors=6)
    if targets is not None:
        network.pool_y = targets
    halves = TrainingHalves.find(network, take_rows(data, SPLIT))
    order = torch.arange(N).expand(M, -1)
    x = data.x[order].transpose(1, 2)
    n_features = halves.describe_all().width - 1
    inputs = x, torch.full((M, n_features, N), 7.0), torch.full((M, 1, N), 8.0)
    change = torch.zeros_like(x)
    change[1] = 0.01
    return halves, inputs, change


def test_members_whose_rows_stay_keep_their_inputs():
    data = make_data()
    halves, inputs, change = change_rows(data)
    found, level = halves.describe_changed(inputs, change)
    assert (found[0] == 7).all()
    assert (level[0] == 8).all()
    assert (level[1] != 8).all()


@pytest.mark.parametrize("groups", [None, (make_data().X[:, 0] > 0).astype(int)])
def test_a_corrupted_row_sees_neither_its_own_target_nor_its_group(groups):
    """A target that only the row itself (or its group) knows never reaches the inputs."""
    data = make_data()
    own = [3] if groups is None else np.flatnonzero(groups == groups[3])

    def look(value):
        targets = data.y.clone()
        targets[own] = value
        halves, inputs, change = change_rows(data, groups, targets)
        everyone = replace(halves, halves=torch.ones_like(halves.halves))
        return [part[1] for part in everyone.describe_changed(inputs, change)]

    for one, other in zip(look(0.0), look(100.0), strict=True):
        torch.testing.assert_close(one[:, 3], other[:, 3])
        assert (one != other).any(), "other rows have them as neighbours"


def test_a_corrupted_row_sees_no_group_of_a_row_that_equals_it():
    """Rows 3 and 30 are equal and in two groups: the target of either may be the sample's own."""
    data = make_data()
    data.x[30] = data.x[3]
    groups = np.arange(N)
    groups[[6, 10]], groups[[31, 32]] = 3, 30
    own = [3, 6, 10, 30, 31, 32]

    def look(value):
        targets = data.y.clone()
        targets[own] = value
        halves, inputs, change = change_rows(data, groups, targets)
        everyone = replace(halves, halves=torch.ones_like(halves.halves))
        return everyone.describe_changed(inputs, change)[1][1]

    one, other = look(0.0), look(100.0)
    torch.testing.assert_close(one[:, [3, 30]], other[:, [3, 30]])
    assert (one != other).any(), "other rows have them as neighbours"


def test_changed_rows_have_the_neighbours_of_their_new_place():
    """Without halves of their own, all neighbours: compare with the network's own description."""
    data = make_data()
    halves, inputs, change = change_rows(data)
    change[1] = 1.5
    everyone = replace(halves, halves=torch.ones_like(halves.halves))
    _, level = everyone.describe_changed(inputs, change)
    network = halves.network
    pool, moved = network.pool, (inputs[0] + change)[1].T
    for s in range(N):
        squares = (network._index._move(moved[s : s + 1]) - network._index._move(pool.x)).square()
        distance = squares.sum(dim=1)
        distance[~pool.present[1] | (pool.x == data.x[s]).all(dim=1)] = np.inf
        nearest = distance.topk(6, largest=False).indices.expand(M, 1, -1)
        rows = moved[s].expand(M, 1, -1)
        _, expected = network.describe(rows, nearest, torch.ones((M, 1, 1, 6), dtype=torch.bool))
        torch.testing.assert_close(level[1, 0, s], expected[1, 0, 0, 0], rtol=1e-3, atol=1e-4)
