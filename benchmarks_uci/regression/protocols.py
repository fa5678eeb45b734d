"""Which rows train and which test: pure functions of a data set, the same for every method."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from benchmarks_uci.datasets import Dataset
from benchmarks_uci.engine.study import Protocol, Split

# First seed of `development`: settings are chosen on splits that no table shows.
FIRST_OF_DEVELOPMENT = 100

# A row nearer than this share of the median distance between nearest neighbours is a near copy.
_NEAR = 0.1

# A feature with fewer distinct values cannot have a gap in its middle third.
MIN_DISTINCT = 10


def count_hl90(data: str) -> int:
    """Return the number of splits; the literature has fewer for its large set."""
    return 5 if data == "protein" else 20


def random80(dataset: Dataset, seed: int) -> Split:
    """Return a random 80/20 split of the rows in canonical order."""
    return _split_at_random(dataset.order, seed)


def hl90(dataset: Dataset) -> list[Split]:
    """Return the 90/10 splits of Hernández-Lobato and Adams (2015), row for row.

    The literature draws them one after another from NumPy's global generator with seed 1. A
    generator of the same kind gives the same rows and leaves the global one unchanged.
    """
    if not dataset.in_original_order:
        raise ValueError(
            f"hl90 splits {dataset.name} by row numbers of the published file, and these rows "
            f"({dataset.source}) are in another order. The splits would be different. Take the "
            "set from a source that keeps the order, or use another protocol, such as random80."
        )
    n_rows = len(dataset.y)
    n_train = round(0.9 * n_rows)
    legacy = np.random.RandomState(1)
    splits = []
    for i in range(count_hl90(dataset.name)):
        rows = legacy.choice(range(n_rows), n_rows, replace=False)
        splits.append(Split(f"split {i}", train=rows[:n_train], test=rows[n_train:]))
    return splits


def gap(dataset: Dataset) -> list[Split]:
    """For each feature, train on its outer two thirds and test on the middle third."""
    n_outer = len(dataset.y) // 3
    return _split_by_feature(dataset, lambda rank, n: (rank >= n_outer) & (rank < n - n_outer))


def tail(dataset: Dataset) -> list[Split]:
    """For each feature, train on its middle two thirds and test on the two ends."""
    n_end = len(dataset.y) // 6
    return _split_by_feature(dataset, lambda rank, n: (rank < n_end) | (rank >= n - n_end))


def _split_by_feature(dataset, is_test):
    """Return one split per feature, by the rank of each row; rows keep the canonical order."""
    n_rows = len(dataset.y)
    splits = []
    for values, name in zip(dataset.X[dataset.order].T, dataset.feature_names, strict=True):
        if len(np.unique(values)) < MIN_DISTINCT:
            continue
        rank = np.empty(n_rows, dtype=np.intp)
        rank[np.argsort(values, kind="stable")] = np.arange(n_rows)  # ties in canonical order
        test = is_test(rank, n_rows)
        split = Split(f"feature {name}", train=dataset.order[~test], test=dataset.order[test])
        splits.append(split)
    if not splits:
        raise ValueError(f"no feature has {MIN_DISTINCT} distinct values.")
    return splits


def find_distinct(dataset: Dataset) -> np.ndarray:
    """Return the numbers of the rows, in canonical order, without near copies of a row before.

    A row is a near copy of another one if their standardised inputs are nearer than a tenth of the
    median distance between nearest neighbours. Copies whose targets differ are dropped too.
    """
    X = dataset.X[dataset.order]
    scale = X.std(axis=0)
    tree = KDTree((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1))
    distances, _ = tree.query(tree.data, k=2)
    pairs = tree.query_pairs(_NEAR * float(np.median(distances[:, 1])), output_type="ndarray")
    is_kept = np.ones(len(X), dtype=bool)
    for first, second in pairs[np.lexsort(pairs.T[::-1])]:  # in each pair, first < second
        is_kept[second] &= not is_kept[first]
    return dataset.order[is_kept]


def _split_at_random(rows: np.ndarray, seed: int) -> Split:
    order = rows[np.random.default_rng(seed).permutation(len(rows))]
    n_test = round(0.2 * len(rows))
    return Split(f"seed {seed}", train=order[n_test:], test=order[:n_test])


def _random(name, description, first_seed, find_rows=lambda dataset: dataset.order):
    """Return a protocol of 20 random 80/20 splits with consecutive seeds."""
    seeds = range(first_seed, first_seed + 20)

    def split(dataset):
        rows = find_rows(dataset)
        return [_split_at_random(rows, seed) for seed in seeds]

    return Protocol(
        name,
        description,
        split,
        count=lambda data: len(seeds),
        overlapping=True,
    )


PROTOCOLS = {
    protocol.name: protocol
    for protocol in [
        _random("random80", "20 random 80/20 splits, seeds 0 to 19", 0),
        _random(
            "development",
            "20 other random 80/20 splits, seeds 100 to 119, on which settings are chosen",
            FIRST_OF_DEVELOPMENT,
        ),
        Protocol(
            "hl90",
            "the 20 random 90/10 splits of the literature (protein: 5)",
            hl90,
            count=count_hl90,
            overlapping=True,
        ),
        Protocol(
            "gap",
            "for each feature, train on its outer two thirds and test on the middle third",
            gap,
        ),
        Protocol(
            "tail",
            "for each feature, train on its middle two thirds and test on the two ends",
            tail,
        ),
        _random(
            "distinct80",
            "20 random 80/20 splits without rows that nearly repeat the inputs of another row, "
            "seeds 0 to 19",
            0,
            find_distinct,
        ),
    ]
}
