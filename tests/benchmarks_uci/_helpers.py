"""A small set for tests of the harness."""

import hashlib

import numpy as np

from benchmarks_uci.datasets import Dataset


def toy_dataset(n_rows=60, n_features=3, name="toy", seed=0, in_original_order=True, **fields):
    """A noisy sine in distinct random features; `fields` replace those of the `Dataset`."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_features))
    y = 500 + 100 * np.sin(6 * X[:, 0]) + 10 * rng.standard_normal(n_rows)
    return Dataset(
        **{
            "name": name,
            "X": X,
            "y": y,
            "feature_names": tuple(f"x{i}" for i in range(n_features)),
            "source": "made for a test",
            "content_hash": hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest(),
            "order": np.lexsort(np.column_stack([X, y]).T),
            "in_original_order": in_original_order,
            **fields,
        }
    )
