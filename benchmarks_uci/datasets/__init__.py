"""The nine UCI regression sets and the sources of their rows."""

from __future__ import annotations

from benchmarks_uci.datasets import embedded, folder, openml
from benchmarks_uci.datasets.dataset import (
    DataCorrupt,
    DataError,
    Dataset,
    DataUnavailable,
    Sources,
)
from benchmarks_uci.datasets.embedded import EMBEDDED
from benchmarks_uci.datasets.registry import NAMES, SETS, find

__all__ = [
    "EMBEDDED",
    "NAMES",
    "SETS",
    "DataCorrupt",
    "DataError",
    "DataUnavailable",
    "Dataset",
    "Sources",
    "load",
]


def load(name: str, sources: Sources | None = None) -> Dataset:
    """Load a set from its source, and check its rows.

    With `sources.data_dir`, the folder is the only source. Otherwise the sets in `EMBEDDED` come
    from the repository's own copy, and the other sets from OpenML or its cache. Wrong rows in a
    source are an error; `load` does not try another source then.

    Parameters
    ----------
    name : str
    sources : Sources or None, default=None
        None means `Sources()`.

    Raises
    ------
    DataUnavailable
        No source has the set.
    DataCorrupt
        The source has other rows than expected.
    ValueError
        No set has this name.
    """
    spec = find(name)
    sources = Sources() if sources is None else sources
    if sources.data_dir is not None:
        return folder.load(spec, sources.data_dir)
    if name in EMBEDDED:
        return embedded.load(spec)
    return openml.load(spec, sources)
