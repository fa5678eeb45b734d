"""Which rows train and which test: pure functions of the number of rows and a seed."""

from __future__ import annotations

import numpy as np

TEST_FRACTION = 0.2


def random80(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random 80/20 split: row numbers to train on and row numbers to test on.

    The seed of split `i` is `i`, for every set and method: all methods see the same rows.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = round(TEST_FRACTION * n_rows)
    return order[n_test:], order[:n_test]
