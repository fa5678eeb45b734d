"""Distances from the nearest training rows, compared with scikit-learn's neighbours."""

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from sk_deltauq._nearest_rows import NearestRows, find_reach


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)


def pick(rows, **kwargs):
    keys = np.random.default_rng(1).random(len(rows))
    return NearestRows.pick(torch.from_numpy(rows), keys, **kwargs)


def test_the_distance_is_the_mean_of_the_five_nearest(rows):
    new = np.random.default_rng(2).normal(size=(50, 4)).astype(np.float32) * 3
    distances, _ = NearestNeighbors(n_neighbors=5).fit(rows).kneighbors(new)
    found = pick(rows)(torch.from_numpy(new))
    np.testing.assert_allclose(found, distances.mean(axis=1), rtol=1e-4)


def test_no_row_is_its_own_neighbour(rows):
    expected = NearestNeighbors(n_neighbors=5).fit(rows).kneighbors()[0].mean(axis=1)
    nearest = pick(rows)
    np.testing.assert_allclose(np.sort(nearest.measure_own()), np.sort(expected), rtol=1e-4)
    assert find_reach(nearest.measure_own()) == pytest.approx(np.quantile(expected, 0.9), rel=1e-4)


def test_copies_do_not_shorten_the_reach(rows):
    once, often = pick(rows), pick(np.repeat(rows, 2, axis=0))
    assert find_reach(often.measure_own()) == pytest.approx(find_reach(once.measure_own()))


def test_rows_of_one_group_are_no_neighbours(rows):
    """Each row has a near copy in its group, which must not shorten the reach."""
    rng = np.random.default_rng(3)
    near = rows + 1e-3 * rng.normal(size=rows.shape).astype(np.float32)
    both, groups = np.concatenate([rows, near]), np.tile(np.arange(300), 2)
    without = find_reach(pick(both).measure_own())
    reach = find_reach(pick(both, groups=groups).measure_own())
    distances, index = NearestNeighbors(n_neighbors=7).fit(both).kneighbors(both)
    other = groups[index] != groups[:, None]
    expected = [d[o][:5].mean() for d, o in zip(distances, other, strict=True)]
    assert reach == pytest.approx(np.quantile(expected, 0.9), rel=1e-4)
    assert reach > without


@pytest.mark.parametrize("values", [[[0.0]], [[0.0], [0.0]]])
def test_single_distinct_row_has_reach_zero(values):
    nearest = pick(np.array(values, dtype=np.float32))
    assert len(nearest.measure_own()) == 0
    assert find_reach(nearest.measure_own()) == 0
    assert torch.isfinite(nearest(torch.ones(2, 1))).all()


def test_rows_in_two_parts_give_the_same_sample_as_all_rows(rows):
    keys = np.random.default_rng(1).random(len(rows))
    x = torch.from_numpy(rows)
    once = NearestRows.pick(x, keys)
    first = NearestRows.pick(x[:100], keys[:100])
    later = NearestRows.pick(x[100:], keys[100:], earlier=first)
    torch.testing.assert_close(later.rows, once.rows)
    assert len(np.unique(later.groups)) == len(rows)


def test_the_sample_is_limited():
    rows = np.random.default_rng(0).normal(size=(5000, 2)).astype(np.float32)
    assert len(pick(rows).rows) == 2000
    assert len(pick(np.tile(rows[:700], (1, 8000))).rows) == 500


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(rows, copy_of):
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(copy_of(pick(rows))(x), pick(rows)(x), rtol=0, atol=0)
