"""The nine UCI regression sets, and where their rows may come from."""

from __future__ import annotations

from benchmarks_uci.datasets import embedded, folder, openml
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import Dataset
from benchmarks_uci.datasets.embedded import EMBEDDED
from benchmarks_uci.datasets.errors import DataCorrupt, DataError, DataUnavailable
from benchmarks_uci.datasets.registry import NAMES, SETS, find
from benchmarks_uci.datasets.sources import ANYWHERE, Sources

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


def load(name: str, sources: Sources = ANYWHERE) -> Dataset:
    """The set of that name, from the first source that has it.

    These are: the folder, which must have it if one is given; the repository's own copy, for the
    sets in `EMBEDDED`; OpenML's cache; a download from OpenML. The rows are the same wherever
    they come from. A source that has the set but not its expected rows is an error, not a reason
    to go on to the next.

    Raises
    ------
    DataUnavailable
        No source has it.
    DataCorrupt
        The first source that has it holds other rows than expected.
    ValueError
        There is no set of that name.
    """
    spec = find(name)
    if sources.data_dir is not None:
        return folder.load(spec, sources.data_dir)
    if name in EMBEDDED:
        return embedded.load(spec)  # before the cache: nothing there can stop the main job
    cached = openml.read_cache(spec, sources)
    if cached is not None:
        return build(spec, cached)
    return build(spec, openml.download(spec, sources))
