"""Training and test rows of the comparisons."""

from __future__ import annotations

import numpy as np

from benchmarks_uci.datasets import Dataset
from benchmarks_uci.regression.protocols import random80

Rows = tuple[np.ndarray, np.ndarray]  # X (row, feature) and y (row,)


def split_set(dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
    """Return training and test rows of a random 80/20 split."""
    X, y, split = dataset.X, dataset.y, random80(dataset, seed)
    return (X[split.train], y[split.train]), (X[split.test], y[split.test])
