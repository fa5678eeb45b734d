"""CSV files of scores: one row per record."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path


def read_scores(path: Path) -> list[dict]:
    """Read the scores that `write_scores` wrote; all values are texts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_scores(
    records: Iterable[dict], path: Path, columns: Sequence[str] | None = None
) -> None:
    """Write one row per record, scores with five significant digits.

    `columns` are the names of the columns; None takes the names in the first record. A record
    may lack some. An interrupted call keeps the earlier file.
    """
    records = list(records)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*(columns or records[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in record.items()}
            for record in records
        )
    os.replace(temporary, path)
