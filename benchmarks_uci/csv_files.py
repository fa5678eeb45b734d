"""CSV files of scores: one row per record."""

from __future__ import annotations

import csv
import os
from pathlib import Path


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
