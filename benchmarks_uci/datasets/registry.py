"""The nine sets of the benchmark, read from `registry.toml`."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Spec:
    """One set of the benchmark.

    Attributes
    ----------
    name, title, citation, licence : str
    n_rows, n_features : int
        The target and the excluded columns do not count.
    columns : tuple of str
        All columns, in the order of the published file.
    features : dict of str to (float, float)
        Mean and standard deviation (divisor n) of each input, in the same order.
    target : str
        Name in published files and in the manifest format.
    openml_target : str
        Name at OpenML.
    target_mean, target_std : float
        The standard deviation has the divisor n.
    content_hash : str
        See `Dataset.content_hash`.
    order_hash : str
        The same hash of the rows in the order of the published file. The splits of the literature
        depend on this order.
    openml_id : int or None, default=None
        None if no id is known.
    aliases : tuple of str, default=()
        Other names of the target. Case and punctuation of names do not matter.
    excluded : tuple of str, default=()
        All names of the columns that are not inputs: other targets and constants.
    folders : tuple of str, default=()
        Other names of the set's folder in the classic layout.
    duplicate_rows : int, default=0
        Rows that repeat an earlier row and its target. They are kept, as in the literature, so a
        random split can place the same row on both sides.
    note : str, default=""
    """

    name: str
    title: str
    citation: str
    licence: str
    n_rows: int
    n_features: int
    columns: tuple[str, ...] = field(repr=False)
    features: dict[str, tuple[float, float]] = field(repr=False)
    target: str
    openml_target: str
    target_mean: float
    target_std: float
    content_hash: str
    order_hash: str
    openml_id: int | None = None
    aliases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    duplicate_rows: int = 0
    note: str = ""

    @classmethod
    def from_toml(cls, name: str, table: dict) -> Spec:
        """The set described by one table of the file."""
        features = {key: tuple(pair) for key, pair in table["features"].items()}
        lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        return cls(**{**table, **lists, "name": name, "features": features})


_TABLES = tomllib.loads(Path(__file__).with_name("registry.toml").read_text("utf-8"))
SETS = {name: Spec.from_toml(name, table) for name, table in _TABLES.items()}
NAMES = tuple(SETS)


def find(name: str) -> Spec:
    """The set called `name`.

    Raises
    ------
    ValueError
        No set has this name. The message lists the names.
    """
    if name not in SETS:
        near = difflib.get_close_matches(str(name), SETS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(SETS)}.{hint}")
    return SETS[name]
