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
    """Where `load` may look for data.

    Attributes
    ----------
    data_dir : Path, default=None
        A folder that must hold every requested set. If given, `load` uses no other source.
    cache_dir : Path, default=None
        The OpenML cache; None is the cache that openml is configured to use.
    offline : bool, default=False
        Whether the network must not be used.
    """

    data_dir: Path | None = None
    cache_dir: Path | None = None
    offline: bool = False


@dataclass(frozen=True)
class Dataset:
    """A regression problem as read-only arrays, independent of its source.

    Attributes
    ----------
    name : str
        A key of the registry.
    X : ndarray of shape (n_samples, n_features)
        Float64, rows in the order of the source.
    y : ndarray of shape (n_samples,)
        Float64.
    feature_names : tuple of str
    source : str
        A text for people that names the file or the OpenML data set.
    content_hash : str
        SHA-256 of the sorted rows at six significant digits. It does not depend on the source or
        on the order of its rows.
    order : ndarray of shape (n_samples,)
        Row numbers in sorted order. Seeded splits use it to be independent of the source.
    in_original_order : bool
        Whether the rows have the order of the published file. The splits of the literature need
        this order.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    source: str
    content_hash: str
    order: np.ndarray
    in_original_order: bool

    def __post_init__(self):
        for array in (self.X, self.y, self.order):
            array.setflags(write=False)


@dataclass(frozen=True)
class RawTable:
    """The numbers of one source before any check.

    Attributes
    ----------
    columns : tuple of str
        Names in the source, including the target and the excluded columns.
    values : ndarray of shape (n_rows, n_columns)
        Float64. A nominal column holds the numbers that its categories spell, not their codes.
    source : str
        See `Dataset.source`.
    """

    columns: tuple[str, ...]
    values: np.ndarray
    source: str

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
