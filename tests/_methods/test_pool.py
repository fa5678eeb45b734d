"""The pool of anchors: distinct rows, the targets that each member sees, and who counts."""

import numpy as np
import pytest
import torch

from sk_deltauq._methods import search as search_module
from sk_deltauq._methods.pool import Pool, PoolRows
from sk_deltauq._methods.search import SearchIndex


def make_rows(x, y, weights=None, groups=None):
    def as_floats(values):
        return None if values is None else torch.tensor(values, dtype=torch.float32)

    x, y = as_floats(x), as_floats(y)
    weights = torch.ones(len(x)) if weights is None else as_floats(weights)
    return PoolRows(x, y.reshape(len(x), -1), weights, as_floats(groups))


def collect(rows, n_neighbors, is_trained=None, *, space=None):
    """A pool with the unit 1, searched in the space of the rows unless another one is given."""
    ones = torch.ones(rows.x.shape[1])
    index = SearchIndex(rows.distinct.x, ones if space is None else space)
    return Pool.collect(rows, index, ones, n_neighbors, is_trained)


def random_rows(n=60, d=3, seed=0, grid=False):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, d)) if grid else rng.normal(size=(n, d))
    return make_rows(x, rng.normal(size=n))


def find_by_sorting(pool, query, member):
    """Distances of all rows that count, nearest first."""
    distance = (pool.x - query).square().sum(dim=1).sqrt()
    counts = pool.present[member] & ((pool.x - query).abs() > 1e-5).any(dim=1)
    return np.sort(distance[counts].numpy())


# Distinct rows


def test_equal_rows_are_one_row_with_the_weighted_mean_target():
    rows = make_rows([[1, 2], [3, 4], [1, 2]], [1.0, 5.0, 4.0], weights=[1.0, 1.0, 2.0])
    index = SearchIndex(rows.distinct.x, torch.ones(2))
    pool = Pool.collect(rows, index, torch.tensor([2.0, 4.0]), 1)
    assert pool.x.tolist() == [[1, 2], [3, 4]]
    torch.testing.assert_close(
        pool.values[0], torch.tensor([[0.5, 0.5, 3.0, 11.0], [1.5, 1.0, 5.0, 25.0]])
    )
    torch.testing.assert_close(pool.log_weights, torch.tensor([[3.0, 1.0]]).log())


def test_a_member_sees_the_targets_of_its_own_rows_only():
    rows = make_rows([[1.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    is_trained = torch.tensor([[True, False, True, True], [True, True, False, True]])
    pool = collect(rows, 3, is_trained)
    assert pool.present.tolist() == [[True, True, True], [True, False, True]]
    torch.testing.assert_close(pool.values[0, 0], torch.tensor([1.0, 1.0, 1.0]))
    torch.testing.assert_close(pool.values[1, 0], torch.tensor([1.0, 2.0, 5.0]))
    numbers, counts = pool.find(torch.tensor([[1.9]]), by_index=False)
    found = [set(numbers[m, 0][counts[m, 0]].tolist()) for m in range(2)]
    assert found == [{0, 1, 2}, {0, 2}]


def test_equal_weights_need_no_weights_in_the_selection():
    assert collect(random_rows(), 4).log_weights is None


# The search


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("by_index", [False, True])
@pytest.mark.parametrize("limited", [False, True])
def test_the_nearest_rows_that_differ_are_found(grid, by_index, limited, monkeypatch):
    monkeypatch.setattr(search_module, "_LEAST_TREE_ROWS", 10)
    rows = random_rows(grid=grid)
    is_trained = torch.arange(60) % torch.tensor([[3], [4]]) != 0 if limited else None
    pool = collect(rows, 5, is_trained)
    queries = torch.cat([rows.x[:20], random_rows(20, seed=1).x])
    numbers, counts = pool.find(queries, by_index=by_index)
    assert counts.all()
    for member in range(len(counts)):
        for query, found in zip(queries, numbers[member], strict=True):
            distance = (pool.x[found] - query).square().sum(dim=1).sqrt().numpy()
            expected = find_by_sorting(pool, query, member)[:5]
            # A random coordinate of at most 0.03 breaks ties.
            np.testing.assert_allclose(np.sort(distance), expected, atol=1e-3)


def test_both_kinds_of_search_break_ties_alike(monkeypatch):
    monkeypatch.setattr(search_module, "_LEAST_TREE_ROWS", 10)
    rows = random_rows(200, grid=True)
    pool = collect(rows, 6)
    ways = [pool.find(rows.x, by_index=by_index) for by_index in (False, True)]
    torch.testing.assert_close(ways[0], ways[1], rtol=0, atol=0)


def test_chunks_change_nothing(monkeypatch):
    rows = random_rows()
    pool = collect(rows, 5)
    whole = pool.find(rows.x, by_index=False)
    sizes, addmm = [], torch.addmm

    def measure(*args, **kwargs):
        sizes.append((found := addmm(*args, **kwargs)).numel())
        return found

    monkeypatch.setattr(search_module, "_CHUNK_DISTANCES", 130)
    monkeypatch.setattr(torch, "addmm", measure)
    for inference in (False, True):  # training asks outside of inference mode
        with torch.inference_mode(inference):
            found = pool.find(rows.x, by_index=True)
        torch.testing.assert_close(found, whole, rtol=0, atol=0)
    assert max(sizes) <= 130
    assert sum(sizes) == 2 * len(rows.x) ** 2


@pytest.mark.parametrize("grouped", [False, True])
def test_copies_are_merged_into_the_newest_row(grouped):
    groups = [0, 0, 0, 1, 0] if grouped else None
    x = [[1.0], [2.0], [1.0], [1.0], [1.0]]
    rows = make_rows(x, [5.0, 6.0, 5.0, 5.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0], groups)
    merged, kept, place = rows.merge_copies()
    assert kept.tolist() == ([1, 2, 3, 4] if grouped else [1, 3, 4])
    assert place.tolist() == ([1, 0, 1, 2, 3] if grouped else [1, 0, 1, 1, 2])
    assert merged.weights.tolist() == ([2, 4, 4, 5] if grouped else [2, 8, 5])
    assert torch.equal(merged.x, rows.x[kept])
    assert torch.equal(merged.y, rows.y[kept])


def test_rows_of_the_same_group_do_not_count():
    rows = make_rows([[0.0], [1.0], [2.0], [3.0]], range(4), groups=[0, 0, 1, 1])
    pool = collect(rows, 2)
    numbers, counts = pool.find(
        torch.tensor([[0.2], [2.9]]), by_index=False, groups=torch.tensor([0.0, 1.0])
    )
    found = [set(numbers[0, row][counts[0, row]].tolist()) for row in range(2)]
    assert found == [{2, 3}, {0, 1}]


def test_rows_of_several_groups_do_not_count():
    rows = make_rows([[0.0], [1.0], [2.0], [3.0]], range(4), groups=[0, 0, 1, 2])
    numbers, counts = collect(rows, 3).find(
        torch.tensor([[0.2], [2.9]]), by_index=False, groups=torch.tensor([[0.0, 2.0], [2.0, 2.0]])
    )
    found = [set(numbers[0, row][counts[0, row]].tolist()) for row in range(2)]
    assert found == [{2}, {0, 1, 2}]


def test_a_pool_of_one_row_has_no_neighbours_for_it():
    rows = make_rows([[1.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
    _, counts = collect(rows, 3).find(rows.x, by_index=False)
    assert counts.shape == (1, 2, 1)
    assert not counts.any()


@pytest.mark.parametrize("by_index", [False, True])
def test_neighbours_are_near_in_the_space_of_the_search(by_index, monkeypatch):
    monkeypatch.setattr(search_module, "_LEAST_TREE_ROWS", 10)
    rows, queries = random_rows(), random_rows(10, seed=1).x
    factors, turn = torch.tensor([5.0, 1.0, 0.2]), torch.linalg.qr(random_rows(3, seed=2).x).Q
    by_factor = collect(rows, 5, space=factors).find(queries, by_index=by_index)[0]
    by_map = collect(rows, 5, space=torch.diag(factors) @ turn).find(queries, by_index=by_index)[0]
    distinct = rows.distinct.x
    for query, *found in zip(queries, by_factor[0], by_map[0], strict=True):
        distance = ((distinct - query) * factors).square().sum(dim=1).sqrt()
        expected = distance.sort().values[:5]
        for near in found:
            torch.testing.assert_close(distance[near].sort().values, expected, rtol=0, atol=1e-3)


def test_rows_are_appended_and_taken():
    one, two = make_rows([[1.0]], [1.0]), make_rows([[2.0], [3.0]], [2.0, 3.0], groups=[0, 1])
    both = one.append(two)
    assert both.x.tolist() == [[1], [2], [3]]
    assert both.groups is None
    assert both.take(np.array([2])).y.tolist() == [[3]]
