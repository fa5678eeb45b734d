"""The three small sets in this repository. They need no network."""

from __future__ import annotations

from pathlib import Path

from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import Dataset, RawTable
from benchmarks_uci.datasets.registry import Spec
from benchmarks_uci.datasets.text import read_table

EMBEDDED = ("boston", "concrete", "wine")
FOLDER = Path(__file__).parents[1] / "data"


def load(spec: Spec) -> Dataset:
    """Load the set from the repository's own copy."""
    header, values = read_table(FOLDER / f"{spec.name}.csv.gz", spec.name)
    source = f"embedded benchmarks_uci/data/{spec.name}.csv.gz"
    return build(spec, RawTable(header or spec.columns, values, source))
