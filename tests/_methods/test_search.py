"""The approximate search; tests/_methods/test_pool.py tests the exact one."""

import copy
import pickle
import sys

import numpy as np
import pytest
import torch

from sk_deltauq._methods import search as search_module
from sk_deltauq._methods.search import SearchIndex, load_faiss

pytest.importorskip("faiss")

N_ROWS, N_FEATURES, WIDTH = 12_000, 25, 20


def draw_rows(n, seed=0):
    """Rows with 25 features near a space of 5 dimensions, as the learnt metric often finds."""
    rng = np.random.default_rng(seed)
    space = np.random.default_rng(0).normal(size=(5, N_FEATURES))
    noise = 0.2 * rng.normal(size=(n, N_FEATURES))
    return torch.tensor(rng.normal(size=(n, 5)) @ space + noise, dtype=torch.float32)


def make_index(n=N_ROWS):
    return SearchIndex(draw_rows(n), torch.ones(N_FEATURES), approximate=True)


def find_by_sorting(index, queries, width=WIDTH):
    padded = torch.nn.functional.pad(queries.double(), (0, 1))  # the coordinate that breaks ties
    distances = (padded.unsqueeze(1) - index.points).square().sum(dim=2)
    return distances.argsort(dim=1)[:, :width]


def measure_recall(found, expected):
    pairs = zip(found.tolist(), expected.tolist(), strict=True)
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs])


def test_almost_all_nearest_rows_are_found():
    index, queries = make_index(), draw_rows(200, seed=1)
    found = index.search(queries, WIDTH, by_index=True)
    assert found.shape == (200, WIDTH)
    assert index.clusters is not None
    assert measure_recall(found, find_by_sorting(index, queries)) > 0.98


def test_most_nearest_rows_are_found_if_all_features_count_alike():
    draws = np.random.default_rng(0).normal(size=(N_ROWS + 200, N_FEATURES)).astype(np.float32)
    x, queries = torch.from_numpy(draws).split([N_ROWS, 200])
    index = SearchIndex(x, torch.ones(N_FEATURES), approximate=True)
    found = index.search(queries, WIDTH, by_index=True)
    recall = measure_recall(found, find_by_sorting(index, queries))
    assert 0.8 < recall < 1


def test_rows_are_nearest_in_the_space_of_the_search():
    factors = torch.linspace(0.1, 3, N_FEATURES)
    by_factor = SearchIndex(draw_rows(N_ROWS), factors, approximate=True)
    by_map = SearchIndex(draw_rows(N_ROWS), torch.diag(factors), approximate=True)
    queries = draw_rows(100, seed=1)
    expected = find_by_sorting(by_factor, queries * factors)
    for index in (by_factor, by_map):
        assert measure_recall(index.search(queries, WIDTH, by_index=True), expected) > 0.98


def test_a_search_of_few_clusters_is_completed(monkeypatch):
    """A cluster has about 40 rows, so one cluster has no 200 neighbours."""
    monkeypatch.setattr(search_module, "_N_PROBES", 1)
    monkeypatch.setattr(search_module, "_CHUNK_DISTANCES", 7 * N_ROWS)
    index, queries = make_index(), draw_rows(50, seed=1)
    found = index.search(queries, 200, by_index=True)
    assert int(found.min()) >= 0
    assert measure_recall(found, find_by_sorting(index, queries, 200)) > 0.98


@pytest.mark.parametrize(("n_rows", "n_features"), [(2000, 25), (N_ROWS, 8)])
def test_a_search_among_few_rows_or_features_is_exact(n_rows, n_features):
    x, queries = draw_rows(n_rows)[:, :n_features], draw_rows(100, seed=1)[:, :n_features]
    index = SearchIndex(x, torch.ones(n_features), approximate=True)
    assert index.clusters is None
    found = index.search(queries, WIDTH, by_index=True)
    torch.testing.assert_close(found, index.search(queries, WIDTH, by_index=False))


def test_a_graph_for_export_compares_with_all_rows():
    index, queries = make_index(), draw_rows(20, seed=1)
    found = index.search(queries, WIDTH, by_index=False)
    torch.testing.assert_close(found, find_by_sorting(index, queries))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_find_the_same_rows(duplicate):
    index, queries = make_index(), draw_rows(50, seed=1)
    found = index.search(queries, WIDTH, by_index=True)
    torch.testing.assert_close(duplicate(index).search(queries, WIDTH, by_index=True), found)


def test_two_indices_of_the_same_rows_are_alike():
    """A model that is loaded from a file makes its index again."""
    queries = draw_rows(200, seed=1)
    first, second = (make_index().search(queries, WIDTH, by_index=True) for _ in range(2))
    torch.testing.assert_close(first, second)


def test_the_threads_of_faiss_stay(monkeypatch):
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3)
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
        make_index().search(draw_rows(10, seed=1), WIDTH, by_index=True)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_without_faiss_a_search_is_exact_and_says_so(monkeypatch):
    index, queries = make_index(), draw_rows(50, seed=1)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"needs faiss.*sk-deltauq\[neighbours\]"):
        load_faiss()
    with pytest.warns(RuntimeWarning, match="faiss is not installed.*exactly"):
        found = index.search(queries, WIDTH, by_index=True)
    torch.testing.assert_close(found, find_by_sorting(index, queries))
