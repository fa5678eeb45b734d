"""A small set for tests of the harness."""

import hashlib

import numpy as np

from benchmarks_uci.datasets import Dataset
from benchmarks_uci.engine.settings import settings
from benchmarks_uci.engine.study import get_task


def read_settings_of_today(study):
    """Return the function that maps a committed record to the settings that its task has today."""
    seen = {}

    def read(record):
        task = get_task(record)
        key = task.method, task.preset, record["n_train"]
        if key not in seen:
            seen[key] = settings(study.make(task, record["n_train"]))
        return dict(seen[key])

    return read


def toy_dataset(n_rows=60, n_features=3, name="toy", seed=0, in_original_order=True, **fields):
    """A noisy sine in distinct random features; `fields` replace fields of the `Dataset`."""
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
