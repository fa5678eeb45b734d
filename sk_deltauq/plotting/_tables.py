"""Tables in which one feature varies and the others are fixed, of the same type as the user's."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sk_deltauq._columns import is_missing, is_number

# A text feature with more categories has no readable picture.
_MOST_CATEGORIES = 50


class Table:
    """Rows of an array, or of a data frame of pandas, polars or pyarrow."""

    def __init__(self, X):
        if hasattr(X, "to_pandas") and hasattr(X, "column_names"):
            X = X.to_pandas()  # pyarrow, which cannot replace a column by position with ease
        self.rows: Any = X if hasattr(X, "columns") else np.asarray(X)
        if len(self.rows.shape) != 2 or not len(self.rows):
            raise ValueError(
                "X must be a table with at least one row and two axes (n_samples, n_features), "
                f"got shape {tuple(self.rows.shape)}."
            )

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    def find_column(self, feature) -> tuple[int, str]:
        """Return the position and the name of a feature, given by either."""
        names = [str(name) for name in getattr(self.rows, "columns", [])]
        if isinstance(feature, str):
            if names.count(feature) != 1:
                known = f"one of the columns {names}" if names else "a position, as X has no names"
                raise ValueError(f"feature must be {known}, got {feature!r}.")
            return names.index(feature), feature
        is_position = isinstance(feature, Integral) and not isinstance(feature, bool)
        if not is_position or not -self.n_columns <= int(feature) < self.n_columns:
            raise ValueError(
                f"feature must be a name, or a position from 0 to {self.n_columns - 1}, got "
                f"{feature!r}."
            )
        position = int(feature) % self.n_columns
        return position, names[position] if names else f"feature {position}"

    def get_column(self, position: int) -> np.ndarray:
        """Return a column: float64 with NaN for missing values, or objects with None for them."""
        values = np.array(_pick(self.rows, position), dtype=object)
        missing = np.array([is_missing(value) for value in values])
        numbers = all(is_number(v) for v in values[~missing])
        if numbers and not all(isinstance(v, bool | np.bool_) for v in values[~missing]):
            return np.where(missing, np.nan, values).astype(np.float64)
        values[missing] = None
        return values

    def take(self, rows: np.ndarray) -> Table:
        """Return rows by position, which may repeat."""
        if hasattr(self.rows, "iloc"):
            return Table(self.rows.iloc[rows].reset_index(drop=True))
        return Table(self.rows[rows])

    def replace(self, position: int, values) -> Table:
        """Return a copy with another column; `values` has any type that the column can hold."""
        if hasattr(self.rows, "isetitem"):
            changed = self.rows.copy()
            changed.isetitem(position, getattr(values, "array", values))
        elif hasattr(self.rows, "replace_column"):
            changed = self.rows.clone()
            name = self.rows.columns[position]
            series = type(_pick(self.rows, position))
            changed.replace_column(position, series(name, values))
        else:
            changed = self.rows.copy()
            if changed.dtype.kind != "O":
                changed = changed.astype(np.result_type(changed, np.asarray(values)))
            changed[:, position] = values
        return Table(changed)

    def fix_at_median(self, n_rows: int, weights: np.ndarray) -> Table:
        """Return equal rows: the median of each numeric feature, the mode of the others.

        The (lower) median is an observed value, so that all columns keep their types.
        """
        fixed = self.take(np.zeros(n_rows, dtype=int))
        for position in range(self.n_columns):
            row = _find_typical_row(self.get_column(position), weights)
            column = _pick(self.take(np.full(n_rows, row)).rows, position)
            fixed = fixed.replace(position, column)
        return fixed


def make_grid(table: Table, position: int, grid) -> tuple[np.ndarray, Any]:
    """Return the values of a feature to predict, for the picture and for the table.

    `grid` is a number of equidistant values, or the values themselves. A feature that holds no
    numbers has one value per category.
    """
    column = table.get_column(position)
    if not isinstance(grid, Integral):
        values = np.asarray(grid)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"grid must be a number of values or a 1-D array, got {grid!r}.")
        return values, values
    if grid < 2:
        raise ValueError(f"grid must be at least 2, got {grid}.")
    if column.dtype != object:
        known = column[np.isfinite(column)]
        if not len(known):
            raise ValueError("The feature has no finite value. Pass the values as grid.")
        values = np.linspace(known.min(), known.max(), int(grid))
        return values, values
    first = {value: row for row, value in reversed([*enumerate(column)]) if value is not None}
    if not 0 < len(first) <= _MOST_CATEGORIES:
        raise ValueError(
            f"The feature has {len(first)} categories; a picture can show 1 to {_MOST_CATEGORIES}."
            " Pass some of them as grid."
        )
    categories = sorted(first, key=str)
    # Cells of the table itself, so that they keep the type of the column.
    cells = _pick(table.take(np.array([first[value] for value in categories])).rows, position)
    return np.array([str(value) for value in categories]), cells


def repeat_cells(values, times: int):
    """Return each value `times` times in a row, of the same type."""
    rows = np.repeat(np.arange(len(values)), times)
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _pick(rows, position: int):
    # By position: names may not be unique.
    if hasattr(rows, "iloc"):
        return rows.iloc[:, position]
    return rows.to_series(position) if hasattr(rows, "to_series") else rows[:, position]


def _find_typical_row(column: np.ndarray, weights: np.ndarray) -> int:
    """Return the row that holds the weighted median of numbers, or the first of the mode."""
    if column.dtype == object:
        mass: dict[Any, float] = {}
        for value, weight in zip(column, weights, strict=True):
            mass[value] = mass.get(value, 0.0) + weight
        mode = max(mass, key=lambda value: mass[value])
        return next(row for row, value in enumerate(column) if value is mode or value == mode)
    rows = np.flatnonzero(~np.isnan(column) & (weights > 0))
    if not len(rows):
        return 0
    rows = rows[np.argsort(column[rows], kind="stable")]
    mass_below = np.cumsum(weights[rows])
    return int(rows[np.searchsorted(mass_below, mass_below[-1] / 2)])


def choose_rows(rows, subsample: Any, random_state):
    """Choose some of the rows at random, in ascending order."""
    if not (isinstance(subsample, Real) and float(subsample) >= 1):
        raise ValueError(f"subsample must be a number of at least 1, got {subsample!r}.")
    n_chosen = min(float(subsample), len(rows))
    if n_chosen == len(rows):
        return rows
    return np.sort(check_random_state(random_state).choice(rows, int(n_chosen), replace=False))
