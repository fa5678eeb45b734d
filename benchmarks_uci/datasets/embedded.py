"""The three small sets that the repository holds, so that a run needs no network."""

from __future__ import annotations

from pathlib import Path

from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import Dataset, RawTable
from benchmarks_uci.datasets.registry import Spec
from benchmarks_uci.datasets.text import read_table

EMBEDDED = ("boston", "concrete", "wine")
FOLDER = Path(__file__).parents[1] / "data"


def load(spec: Spec) -> Dataset:
    """The set from the repository's own copy."""
    columns, values = read_table(FOLDER / f"{spec.name}.csv.gz", spec.name)
    return build(
        spec, RawTable(columns, values, f"embedded benchmarks_uci/data/{spec.name}.csv.gz")
    )
