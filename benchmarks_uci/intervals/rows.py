"""Training and test rows, and the CSV files of scores."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets import Dataset
from benchmarks_uci.regression.protocols import random80

Rows = tuple[np.ndarray, np.ndarray]  # X (row, feature) and y (row,)


def split_set(dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
    """Return training and test rows of a random 80/20 split."""
    X, y, split = dataset.X, dataset.y, random80(dataset, seed)
    return (X[split.train], y[split.train]), (X[split.test], y[split.test])


def read_scores(path: Path) -> list[dict]:
    """Read the scores that `write_scores` wrote; all values are texts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_scores(records: list[dict], path: Path) -> None:
    """Write one row per record, scores with five significant digits."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*records[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in record.items()}
            for record in records
        )
    os.replace(temporary, path)
