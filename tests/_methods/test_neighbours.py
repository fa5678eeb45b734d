"""Anchors that know their target: what the method draws and keeps."""

import warnings

import numpy as np
import pytest
import torch

from sk_deltauq._methods.neighbours import NearestAnchors
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


@pytest.mark.parametrize(("n_rows", "expected"), [(3, 1), (4, 2), (11, 2), (13, 3), (80, 16)])
def test_few_rows_have_few_neighbours(n_rows, expected):
    _, network, _ = make_network(make_data(n_rows), n_neighbors=16)
    assert network.subsets.shape == (4, expected)


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
    metric = network.metric
    kept = method.draw(network, make_context(second, call=1, previous=kept, earlier=kept))
    assert len(network.pool_x) == len(kept["anchors_"]) == 2 * N
    assert torch.equal(network.pool_x, torch.cat([first.x, second.x]))
    for name in ("unit", "scales", "directions"):
        found, expected = getattr(network, name), getattr(metric, name)
        assert torch.equal(found, expected), "the weights belong to this metric"
    assert network.row_numbers.tolist() == [-1] * N + list(range(N))
    batches = method.batches(network, take_rows(second), 10)
    assert len(list(batches)) == 4


def test_several_passes_do_not_fill_the_pool_with_copies():
    data = make_data()
    method = NearestAnchors(4, 6, pool_size=N)
    network = method.network(make_spec(D, 2, range(M)))
    kept = method.draw(network, make_context(data))
    for call in (1, 2):
        kept = method.draw(network, make_context(data, call=call, previous=kept, earlier=kept))
    assert len(np.unique(kept["anchors_"], axis=0)) == len(network.pool_x) == N
    assert torch.equal(network.pool_x[network.row_numbers.argsort()], data.x)
    assert network.pool_weights.tolist() == [3.0] * N


def test_the_number_of_neighbours_grows_with_the_rows():
    first, second = make_data(13), make_data(seed=1)
    method, network, kept = make_network(first)
    assert network.subsets.shape[1] == 3
    method.draw(network, make_context(second, call=1, previous=kept, earlier=kept))
    assert network.subsets.shape[1] == 6


@pytest.mark.parametrize(("n_rows", "n_neighbors"), [(3, 6), (30, 1)])
def test_one_neighbour_of_one_network_has_no_spread(n_rows, n_neighbors):
    data = make_data(n_rows)
    method = NearestAnchors(4, n_neighbors)
    with pytest.warns(UncertaintyWarning, match="one neighbour.*epistemic standard deviation is"):
        method.draw(method.network(make_spec(D, 2, range(1))), make_context(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.draw(method.network(make_spec(D, 2, range(2))), make_context(data))


@pytest.mark.parametrize("pool_size", [None, 15])
def test_the_metric_of_a_member_is_learnt_from_its_own_rows(pool_size):
    """Directions may differ: all members search their neighbours in the mean of all metrics."""
    data = make_data()
    rows = take_rows(data, SPLIT)
    method = NearestAnchors(4, 6, pool_size=pool_size)

    def learn():
        network = method.network(make_spec(D, 2, range(M)))
        method.draw(network, make_context(data, rows=rows))
        return network.metric

    before = learn()
    data.y[::4] += 100.0  # member 0 holds these rows out
    after = learn()
    assert torch.equal(after.scales[0], before.scales[0])
    assert not torch.equal(after.scales[1], before.scales[1])
