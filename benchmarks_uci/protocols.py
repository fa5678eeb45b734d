"""Which rows train and which test: pure functions of a set, the same for every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks_uci.datasets import Dataset


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


PROTOCOLS = {
    protocol.name: protocol
    for protocol in [
        Protocol(
            "random80",
            "20 random 80/20 splits, seeds 0 to 19",
            lambda dataset: [random80(dataset, seed) for seed in range(20)],
        ),
    ]
}
