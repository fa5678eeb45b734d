"""The nine sets of the benchmark, read from `registry.toml`."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Spec:
    """One set of the benchmark. All standard deviations have the divisor n."""

    name: str
    title: str
    citation: str
    licence: str
    n_rows: int
    n_features: int  # without the target and the excluded columns
    columns: tuple[str, ...] = field(repr=False)  # all, in the order of the published file
    # Mean and standard deviation of each input, in the same order
    features: dict[str, tuple[float, float]] = field(repr=False)
    target: str  # its name in published files and in the manifest format
    openml_target: str  # its name at OpenML
    target_mean: float
    target_std: float
    content_hash: str  # see `Dataset.content_hash`
    # The same hash of the rows in the order of the published file. The splits of the literature
    # depend on this order.
    order_hash: str
    openml_id: int | None = None  # None if no id is known
    # Other names of the target. Case and punctuation of names do not matter.
    aliases: tuple[str, ...] = ()
    # All names of the columns that are not inputs: other targets and constants
    excluded: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # other names of the set's folder in the classic layout
    # Rows that repeat an earlier row and its target. They are kept, as in the literature, so a
    # random split can place the same row on both sides.
    duplicate_rows: int = 0
    note: str = ""

    @classmethod
    def from_toml(cls, name: str, table: dict) -> Spec:
        """Return the set that one table of the file describes."""
        features = {key: tuple(pair) for key, pair in table["features"].items()}
        lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        return cls(**{**table, **lists, "name": name, "features": features})


_TABLES = tomllib.loads(Path(__file__).with_name("registry.toml").read_text("utf-8"))
SETS = {name: Spec.from_toml(name, table) for name, table in _TABLES.items()}
NAMES = tuple(SETS)


def find(name: str) -> Spec:
    """Return a set by its name; the `ValueError` for any other name lists the names."""
    if name not in SETS:
        near = difflib.get_close_matches(str(name), SETS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(SETS)}.{hint}")
    return SETS[name]
