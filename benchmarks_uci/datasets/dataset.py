"""What every source works with: where to look, what to return, and the errors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


class DataError(Exception):
    """A set could not be loaded. The message names the set and says what to do."""


class DataUnavailable(DataError):
    """No source has the set. A run of all sets may leave it out and say so."""


class DataCorrupt(DataError):
    """A source has other data than expected. No run may ignore this error."""


@dataclass(frozen=True)
class Sources:
    """Where `load` may look for data."""

    data_dir: Path | None = None  # holds every requested set; if given, the only source
    cache_dir: Path | None = None  # of OpenML; None is the cache that openml is configured to use
    offline: bool = False  # whether the network must not be used


@dataclass(frozen=True)
class Dataset:
    """A regression problem as read-only arrays, independent of its source."""

    name: str  # a key of the registry
    X: np.ndarray  # (sample, feature), float64, rows in the order of the source
    y: np.ndarray  # (sample,), float64
    feature_names: tuple[str, ...]
    source: str  # a text for people that names the file or the OpenML data set
    # SHA-256 of the sorted rows at six significant digits. It does not depend on the source or on
    # the order of its rows.
    content_hash: str
    # Row numbers in sorted order. Seeded splits use it to be independent of the source.
    order: np.ndarray
    # Whether the rows have the order of the published file. The splits of the literature need it.
    in_original_order: bool

    def __post_init__(self):
        for array in (self.X, self.y, self.order):
            array.setflags(write=False)


@dataclass(frozen=True)
class RawTable:
    """The numbers of one source before any check."""

    columns: tuple[str, ...]  # names in the source, with the target and the excluded columns
    # (row, column), float64. A nominal column holds the numbers that its categories spell, not
    # their codes.
    values: np.ndarray
    source: str  # see `Dataset.source`

    def __post_init__(self):
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise ValueError(
                f"{self.source}: values of shape {self.values.shape} do not match "
                f"{len(self.columns)} column names."
            )

    def select(self, indices: list[int]) -> RawTable:
        """The table of these columns only, in this order."""
        columns = tuple(self.columns[i] for i in indices)
        return RawTable(columns, self.values[:, indices], self.source)
