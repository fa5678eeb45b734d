"""From a checked table to numbers without gaps: scikit-learn's encoders, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from sk_deltauq._columns import name_columns
from sk_deltauq._tables.categories import read_labels
from sk_deltauq._tables.frames import as_cells, is_frame, read_numbers
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Levels of a category that have an input of their own. Rarer levels share one input.
_MOST_LEVELS = 255

# A category with fewer rows per level, on average, hardly repeats: it may be an identifier.
_FEW_ROWS_PER_LEVEL = 2


@dataclass(frozen=True)
class Columns:
    """The columns of a table: their names, and which of them are categories."""

    names: tuple[str, ...] | None  # None if not all of them are text
    categories: tuple[int, ...]  # positions
    n_columns: int

    @property
    def numbers(self) -> list[int]:
        """Positions of the other columns."""
        return [p for p in range(self.n_columns) if p not in self.categories]

    def name(self, position: int) -> str:
        """Return the name of a column; scikit-learn's name for one without."""
        return f"x{position}" if self.names is None else self.names[position]


@dataclass(frozen=True)
class Table:
    """Checked rows whose categories and missing values are not encoded yet."""

    columns: Columns
    numbers: np.ndarray  # (row, column of numbers), NaN for a missing value
    labels: np.ndarray  # (row, category), text or numbers, None for a missing value

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows) -> Table:
        return Table(self.columns, self.numbers[rows], self.labels[rows])


def read_table(X, columns: Columns) -> Table:
    """Read the cells of a frame, or of an array with rows and columns."""
    numbers = [_read_numbers(X, position, columns) for position in columns.numbers]
    labels = [read_labels(X, position, columns.names) for position in columns.categories]
    n_rows = X.shape[0]
    return Table(
        columns,
        np.column_stack(numbers) if numbers else np.empty((n_rows, 0)),
        np.column_stack(labels) if labels else np.empty((n_rows, 0), dtype=object),
    )


def _read_numbers(X, position: int, columns: Columns) -> np.ndarray:
    try:
        return read_numbers(X, position)
    except (TypeError, ValueError) as error:
        place = name_columns([position], columns.names)
        raise ValueError(f"X must hold numbers in {place}: {error}.") from error


class TableEncoder:
    """Turns tables into the numbers that a network sees, with encoders of scikit-learn.

    Numbers come first, with the mean of the training rows in place of missing values. Then come
    indicators of missing values, for each column of numbers in which training rows have some, and
    one input for each level of each category. A missing value is a level too. A level that no
    training row has sets no input, or the shared input of infrequent levels if there is one.

    Attributes
    ----------
    columns : Columns
        Names of the columns, and which of them are categories.
    imputer_ : SimpleImputer or None
        Weighted means and indicators; None without columns of numbers.
    one_hot_ : OneHotEncoder or None
        Levels of the categories, in `categories_`; None without categories.
    """

    def __init__(self, columns: Columns):
        self.columns = columns

    def fit(self, table: Table, weights: np.ndarray | None = None) -> TableEncoder:
        """Learn means and levels from checked training rows with positive weights, `(row,)`."""
        imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
        one_hot = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=_MOST_LEVELS + 1,
            sparse_output=False,
        )
        self.imputer_ = imputer.fit(table.numbers) if table.numbers.shape[1] else None
        if self.imputer_ is not None and weights is not None and np.ptp(weights) > 0:
            _weight_means(self.imputer_, table.numbers, weights)
        self.one_hot_ = one_hot.fit(table.labels) if table.labels.shape[1] else None
        self._warn_about_columns(table)
        return self

    def encode(self, table: Table) -> np.ndarray:
        """Encode checked rows, `(row, input)`."""
        parts = []
        if self.imputer_ is not None:
            self._warn_about_new_gaps(table.numbers)
            parts.append(self.imputer_.transform(table.numbers))
        if self.one_hot_ is not None:
            self._check_types(table.labels)
            parts.append(self.one_hot_.transform(table.labels))
        return np.ascontiguousarray(np.hstack(parts))

    def transform(self, X) -> np.ndarray:
        """Encode the rows of a table that has the columns of the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, in the units of the user.

        Returns
        -------
        ndarray of shape (n_samples, n_inputs)
            What the network sees, before it is standardised.
        """
        return self.encode(read_table(X if is_frame(X) else as_cells(X), self.columns))

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the inputs, such as "age", "missingindicator_age" and "town_Rome".

        A name that would repeat an earlier one ends in a number: "town_None", "town_None_2".

        Parameters
        ----------
        input_features : None
            Ignored: the training rows name the columns.

        Returns
        -------
        ndarray of shape (n_inputs,)
            Names in the order of the columns of `transform`.
        """
        parts = []
        for encoder, positions in (
            (self.imputer_, self.columns.numbers),
            (self.one_hot_, self.columns.categories),
        ):
            if encoder is not None:
                names = [self.columns.name(p) for p in positions]
                parts.append(encoder.get_feature_names_out(names))
        return _make_unique(np.concatenate(parts))

    def count_levels(self) -> np.ndarray:
        """Return the number of levels in each input, `(input,)`: one, except for shared inputs."""
        parts = []
        if self.imputer_ is not None:
            parts.append(np.ones(len(self.imputer_.get_feature_names_out())))
        if self.one_hot_ is not None:
            rare_levels = self.one_hot_.infrequent_categories_
            for levels, rare in zip(self.one_hot_.categories_, rare_levels, strict=True):
                n_rare = 0 if rare is None else len(rare)
                # The shared input is the last one of a category.
                parts.append(np.append(np.ones(len(levels) - n_rare), [n_rare] * (n_rare > 0)))
        return np.concatenate(parts)

    def _warn_about_columns(self, table: Table) -> None:
        """Warn about columns from which little or nothing can be learnt."""
        numbers, names = np.asarray(self.columns.numbers), self.columns.names
        empty = numbers[np.isnan(table.numbers).all(axis=0)] if len(numbers) else []
        if len(empty):
            warn_caller(
                f"X has only missing values in {name_columns(empty, names)}, which is ignored. "
                "Drop it.",
                UncertaintyWarning,
            )
        levels = [] if self.one_hot_ is None else self.one_hot_.categories_
        for position, values in zip(self.columns.categories, levels, strict=True):
            if len(values) > min(_MOST_LEVELS, max(len(table) // _FEW_ROWS_PER_LEVEL, 2)):
                self._warn_about_levels(position, values, len(table))

    def _warn_about_levels(self, position: int, values: np.ndarray, n_rows: int) -> None:
        way_out = (
            "Merge levels, or replace the column by numbers that describe it, for example with "
            "scikit-learn's TargetEncoder. Drop it if it only identifies rows."
        )
        if all(isinstance(value, str) and _is_number(value) for value in values if value):
            way_out = "They are numbers written as text: convert the column to numbers."
        rest = ""
        if len(values) > _MOST_LEVELS:
            rest = f" Only the {_MOST_LEVELS} most frequent ones have an input of their own."
        warn_caller(
            f"X has {len(values)} levels in {name_columns([position], self.columns.names)} of "
            f"{n_rows} rows, so little can be learnt about most of them.{rest} {way_out}",
            UncertaintyWarning,
        )

    def _warn_about_new_gaps(self, numbers: np.ndarray) -> None:
        """Warn about missing values where the training rows have none."""
        gaps = np.flatnonzero(np.isnan(numbers).any(axis=0))
        if len(gaps):
            assert self.imputer_ is not None
            indicator: Any = self.imputer_.indicator_
            new = np.setdiff1d(gaps, indicator.features_)
            warn_about_new_gaps(np.asarray(self.columns.numbers)[new], self.columns.names)

    def _check_types(self, labels: np.ndarray) -> None:
        """Raise an error if a category holds numbers now and held text before, or vice versa."""
        assert self.one_hot_ is not None
        for position, cells, levels in zip(
            self.columns.categories, labels.T, self.one_hot_.categories_, strict=True
        ):
            now, before = (
                {isinstance(cell, str) for cell in some if cell is not None}
                for some in (cells, levels)
            )
            if now and before and now != before:
                kinds = ["text" if kind == {True} else "numbers" for kind in (before, now)]
                raise ValueError(
                    f"X has {kinds[1]} in {name_columns([position], self.columns.names)}, a "
                    f"category that held {kinds[0]} when the model was fitted. Convert it."
                )


def _weight_means(imputer: SimpleImputer, numbers: np.ndarray, weights: np.ndarray) -> None:
    """Replace the means of a fitted imputer by weighted means, which it cannot compute."""
    statistics: Any = imputer.statistics_
    for column, cells in enumerate(numbers.T):
        present = ~np.isnan(cells)
        if present.any():  # else the imputer has its own value
            shares = weights[present] / weights[present].sum()
            statistics[column] = shares @ cells[present].astype(np.float64)


def _make_unique(names: np.ndarray) -> np.ndarray:
    """Add a number to each name that repeats an earlier one."""
    given, unique = set(names), {}  # a dict keeps the order
    for name in names:
        new, number = name, 1
        while new in unique or (number > 1 and new in given):
            number += 1
            new = f"{name}_{number}"
        unique[new] = None
    return np.array(list(unique), dtype=object)


def warn_about_new_gaps(positions, names) -> None:
    """Warn that the mean stands in for missing values that the training rows do not have."""
    if len(positions):
        warn_caller(
            f"X has missing values in {name_columns(positions, names)}, where the training rows "
            "have none. The mean of the training rows takes their place, and the predicted "
            "uncertainty does not know about it. Add rows with missing values to the training "
            "rows, or impute them.",
            UncertaintyWarning,
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
