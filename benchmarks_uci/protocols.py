"""Which rows train and which test: pure functions of a set, the same for every method."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks_uci.datasets import Dataset

# Where the seeds of `development` begin: settings are chosen on splits that no table shows.
FIRST_OF_DEVELOPMENT = 100

# Features with fewer distinct values have no middle third that is a gap.
MIN_DISTINCT = 10


def n_splits(protocol: str, data: str) -> int | None:
    """How many splits a protocol has of a set; None where that depends on its features."""
    if (protocol, data) == ("hl90", "protein"):
        return 5  # of so large a set the literature takes fewer
    return {"random80": 20, "development": 20, "hl90": 20}.get(protocol)


@dataclass(frozen=True)
class Split:
    """Row numbers to train on and to test on.

    Attributes
    ----------
    name : str
        For people: `"seed 3"`, `"feature LSTAT"`.
    train, test : ndarray of int
    """

    name: str
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Protocol:
    """A way to split a set.

    Attributes
    ----------
    name, description : str
    splits : callable
        `splits(dataset)` is the list of all its splits.
    """

    name: str
    description: str
    splits: Callable[[Dataset], list[Split]]


def random80(dataset: Dataset, seed: int) -> Split:
    """A random 80/20 split of the rows in canonical order."""
    n_rows = len(dataset.y)
    order = dataset.order[np.random.default_rng(seed).permutation(n_rows)]
    n_test = round(0.2 * n_rows)
    return Split(f"seed {seed}", train=order[n_test:], test=order[:n_test])


def _random_splits(dataset, protocol, first_seed):
    seeds = range(first_seed, first_seed + n_splits(protocol, dataset.name))
    return [random80(dataset, seed) for seed in seeds]


def hl90(dataset: Dataset) -> list[Split]:
    """The 90/10 splits of Hernández-Lobato and Adams (2015), row for row.

    The literature draws them one after another from NumPy's global generator with seed 1; a
    generator of the same kind gives the same rows and leaves the global one alone.
    """
    if not dataset.in_original_order:
        raise ValueError(
            f"hl90 splits {dataset.name} by row numbers of the published file, and these rows "
            f"({dataset.source}) stand in another order: they would be other splits. Take the "
            "set from a source that keeps the order, or another protocol, such as random80."
        )
    n_rows = len(dataset.y)
    n_train = round(0.9 * n_rows)
    legacy = np.random.RandomState(1)
    splits = []
    for i in range(n_splits("hl90", dataset.name)):
        rows = legacy.choice(range(n_rows), n_rows, replace=False)
        splits.append(Split(f"split {i}", train=rows[:n_train], test=rows[n_train:]))
    return splits


def gap(dataset: Dataset) -> list[Split]:
    """For each feature: train on its outer two thirds, test on the middle third."""
    n_outer = len(dataset.y) // 3
    return _by_feature(dataset, lambda rank, n: (rank >= n_outer) & (rank < n - n_outer))


def tail(dataset: Dataset) -> list[Split]:
    """For each feature: train on its middle two thirds, test on the two ends."""
    n_end = len(dataset.y) // 6
    return _by_feature(dataset, lambda rank, n: (rank < n_end) | (rank >= n - n_end))


def _by_feature(dataset, is_test):
    """One split a feature, by the rank of each row in it; rows stay in canonical order."""
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
    return splits


def split_hash(split: Split, dataset: Dataset) -> str:
    """SHA-256 of the rows in canonical terms, so that it does not depend on the source's order.

    Rows are numbered by their place in `dataset.order`; the digest is of the text
    `train: 5 0 3, test: 1 4`.
    """
    rank = np.empty_like(dataset.order)
    rank[dataset.order] = np.arange(len(dataset.order))
    parts = [
        f"{name}: {' '.join(map(str, rank[rows].tolist()))}"
        for name, rows in [("train", split.train), ("test", split.test)]
    ]
    return hashlib.sha256(", ".join(parts).encode()).hexdigest()


PROTOCOLS = {
    protocol.name: protocol
    for protocol in [
        Protocol(
            "random80",
            "20 random 80/20 splits, seeds 0 to 19",
            lambda dataset: _random_splits(dataset, "random80", first_seed=0),
        ),
        Protocol(
            "development",
            "20 other random 80/20 splits, seeds 100 to 119, to choose settings on",
            lambda dataset: _random_splits(dataset, "development", FIRST_OF_DEVELOPMENT),
        ),
        Protocol("hl90", "the literature's 20 random 90/10 splits (protein: 5)", hl90),
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
    ]
}
