"""The CSV files of the study: one row per case and seed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks_uci.csv_files import write_scores

FOLDER = Path(__file__).parents[1] / "results" / "trust"
# Committed results, oldest first; the header of a column is the name of its file.
FIRST, NOW = FOLDER / "first-version.csv", FOLDER / "now.csv"

KEYS = ("situation", "cell", "method", "seed")
SCORES = (
    "coverage",
    "focus_coverage",
    "width",
    "width_ratio",
    "epistemic_ratio",
    "negative",
    "crps",
    "nll",
    "r2",
    "within_2_std",
    "log_loss",
    "excess_log_loss",
    "warned",
    "fit_seconds",
)
COLUMNS: tuple[str, ...] = (*KEYS, "n", "features", "available", *SCORES)
INTEGERS = ("seed", "n", "features", "available", "warned")


def write(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write rows to a CSV file, scores with five significant digits."""
    write_scores(rows, path, COLUMNS)


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of `write`; scores that a row does not have are absent."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path} holds no results of this command: its columns differ.")
        return [
            {name: _parse(name, text) for name, text in row.items() if text or name == "cell"}
            for row in reader
        ]


def merge(earlier: list[dict], new: list[dict], order: Sequence[str]) -> list[dict]:
    """Replace all rows of the situations in `new`; `order` sorts all situations."""
    replaced = {row["situation"] for row in new}
    rows = [row for row in earlier if row["situation"] not in replaced] + new
    return sorted(rows, key=lambda row: order.index(row["situation"]))


def _parse(name: str, text: str) -> Any:
    if name in INTEGERS:
        return int(text)
    return float(text) if name in SCORES else text
