"""A regression problem as arrays, whatever it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Dataset:
    """One regression problem; the arrays are read-only.

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
        Where the rows came from, for people: a file, the OpenML cache, a download.
    content_hash : str
        SHA-256 of the rows, sorted, with six significant digits: the same for the same data,
        whatever the source and the order of its rows.
    order : ndarray of shape (n_samples,)
        Row numbers in canonical order, so that a seeded split does not depend on the source.
    in_original_order : bool
        Whether the rows stand as in the published file, which the literature's splits count on.
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
    """The numbers of one source, before anything is known to be right about them.

    Attributes
    ----------
    columns : tuple of str
        Names as the source has them, the target and columns to be left out included.
    values : ndarray of shape (n_rows, n_columns)
        Float64; a nominal column by the number it spells, never by its category's code.
    source : str
        Where the rows came from, for people; `Dataset.source` repeats it.
    """

    columns: tuple[str, ...]
    values: np.ndarray
    source: str

    def __post_init__(self):
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise ValueError(
                f"{self.source}: values of shape {self.values.shape} do not go with "
                f"{len(self.columns)} column names."
            )

    def keep(self, indices: list[int]) -> RawTable:
        """The same table with the columns of these numbers alone, in this order."""
        columns = tuple(self.columns[i] for i in indices)
        return RawTable(columns, self.values[:, indices], self.source)
