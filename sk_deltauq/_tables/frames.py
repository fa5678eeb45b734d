"""One view of pandas, polars and pyarrow tables: names, kinds and cells of their columns.

This module imports none of the three packages: whoever passes a table has done so.
"""

from __future__ import annotations

import re
import sys
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from sk_deltauq._columns import is_missing, is_number

# Beginnings of the names of column types, in lower case. The first match counts: "struct" is no
# "str", and "interval" is no "int".
_KINDS = (
    ("category", ("category", "categorical", "enum", "dictionary")),
    ("other", ("struct", "interval", "list", "large_list", "fixed_size", "array", "map")),
    ("other", ("binary", "large_binary", "run_end")),
    ("text", ("str", "utf8", "large_str", "large_utf8")),
    ("date", ("date", "time", "duration", "period", "month_day")),
    ("complex", ("complex", "sparse[complex")),
    ("object", ("object",)),
)
# Names of the types of short floats, in lower case, also as the levels of a dictionary. pyarrow's
# "float" is short. "[pyarrow]" or ", ..." may follow, but no digits as in "float64".
_SHORT_FLOAT = re.compile(
    r"(?:sparse\[|dictionary<values=)?(float32|float16|float|halffloat)(?:[,\[].*)?"
)
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)


def is_frame(X) -> bool:
    """Tell whether X is a pandas or polars data frame, or a pyarrow table."""
    return _is_arrow(X) or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def as_cells(X) -> np.ndarray:
    """Return rows as an array. Cells in lists keep their types: NumPy would make all of them text.

    Rows of different lengths stay lists, in an array of one axis.
    """
    has_lists = isinstance(X, list | tuple) and all(isinstance(row, list | tuple) for row in X)
    if not has_lists:
        return np.asarray(X)
    lengths = {len(row) for row in X}
    cells = np.empty((len(X), lengths.pop()) if len(lengths) == 1 else len(X), dtype=object)
    cells[:] = X
    return cells


def _is_arrow(X) -> bool:
    return hasattr(X, "column_names") and hasattr(X, "schema")


def list_names(X) -> list:
    """Return the names of the columns of a frame."""
    return list(X.column_names if _is_arrow(X) else X.columns)


def list_kinds(X) -> list[str]:
    """Return what the type of each column of a frame says.

    A kind is "number" (also for flags), "category", "text", "date", "complex", "other" (such as
    lists), or "object": only the cells tell, see `find_kind`.
    """
    types = X.schema.types if _is_arrow(X) else X.dtypes
    names = [str(dtype).lower() for dtype in types]
    return [next((k for k, starts in _KINDS if n.startswith(starts)), "number") for n in names]


def find_kind(cells) -> str:
    """Return what a column of objects holds: a kind, or "mixed" for text and numbers.

    A column without values is one of numbers.
    """
    examples = {type(cell): cell for cell in cells if not is_missing(cell)}
    kinds = {_find_kind_of_cell(cell) for cell in examples.values()}
    if kinds == {"number", "text"}:
        return "mixed"
    return "number" if not kinds else (kinds.pop() if len(kinds) == 1 else "other")


def _find_kind_of_cell(cell) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, _DATES):
        return "date"
    if isinstance(cell, complex | np.complexfloating):
        return "complex"
    return "number" if is_number(cell) else "other"


def _take_column(X, position: int) -> Any:
    """Return a column, by position: names may not be unique."""
    if _is_arrow(X):
        return X.column(position)
    return X.iloc[:, position] if hasattr(X, "iloc") else X.to_series(position)


def read_cells(X, position: int) -> list:
    """Return a column of a frame or an array as Python objects."""
    if isinstance(X, np.ndarray):
        return _widen(X[:, position]).tolist()
    column = _take_column(X, position)
    short = _find_short_float(column.type if hasattr(column, "to_pylist") else column.dtype)
    if short is not None:
        return _widen(_read_short_floats(column, short)).tolist()
    if hasattr(column, "to_pylist"):  # pyarrow
        return column.to_pylist()
    return list(column.astype(object)) if hasattr(column, "iloc") else column.to_list()


def _find_short_float(dtype) -> str | None:
    """Return NumPy's name of a type of short floats, or of levels that are such; else None."""
    levels = getattr(dtype, "categories", None)  # of pandas
    match = _SHORT_FLOAT.fullmatch(str(getattr(levels, "dtype", dtype)).lower())
    if match is None:
        return None
    return "float16" if match[1] in ("float16", "halffloat") else "float32"


def _read_short_floats(column, short: str) -> np.ndarray:
    """Return a column of short floats as an array of the same type, NaN for missing values."""
    if hasattr(column, "to_pylist"):
        return column.cast(short).to_numpy()
    if hasattr(column, "iloc"):
        return column.to_numpy(dtype=short, na_value=np.nan)
    return column.to_numpy()


def _widen(values: np.ndarray) -> np.ndarray:
    """Return short floats with the digits that are printed: .1 in float32 is the level .1."""
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return values.astype(str).astype(np.float64)
    return values


def read_numbers(X, position: int) -> np.ndarray:
    """Return a column of numbers as float64, NaN for missing values, `(row,)`."""
    if isinstance(X, np.ndarray):
        cells = X[:, position]
        return cells.astype(np.float64) if X.dtype != object else _convert_objects(cells)
    column = _take_column(X, position)
    if hasattr(column, "to_pylist"):
        # Like the other packages, round integers above 2**53.
        return column.cast("float64", safe=False).to_numpy()
    if str(column.dtype).lower() == "object":
        return _convert_objects(column.to_list())
    if hasattr(column, "iloc"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.cast(sys.modules["polars"].Float64).to_numpy()


def _convert_objects(cells) -> np.ndarray:
    """Convert objects to float64. NumPy cannot convert every kind of missing value."""
    numbers = [np.nan if is_missing(cell) else cell for cell in cells]
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:  # an int beyond float64; a check of the column names it
        return np.array([_round_to_float(number) for number in numbers])


def _round_to_float(number) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
