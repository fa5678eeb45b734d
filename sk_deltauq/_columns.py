"""What single cells hold: numbers, text, missing values; and the names of columns."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

# Messages name at most five columns or rows.
_MOST_NAMES = 5

# Columns of numbers show more than two values in this many rows already.
_FIRST_ROWS = 1000


def is_missing(value) -> bool:
    """Tell whether a value is None, NaN, NaT or NA."""
    pandas = sys.modules.get("pandas")
    if value is None or value is getattr(pandas, "NA", None):
        return True
    if isinstance(value, float | np.floating | np.datetime64):
        return bool(value != value)
    return pandas is not None and value is pandas.NaT


def refuse_masked_cells(name: str, values) -> None:
    """Raise an error for a masked array with masked cells, whose mask NumPy would ignore."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked cells. Convert it with filled(), for example "
            f"{name}.filled(numpy.nan) for missing values, or leave these rows out."
        )


def is_number(value) -> bool:
    """Tell whether a value is a real number."""
    return isinstance(value, Real | Decimal | np.bool_)


def name_columns(positions, names=None) -> str:
    """Name columns, `names` being the names of all columns: "column 'age'" or "columns 0, 3"."""
    shown = [repr(str(names[p])) if names is not None else str(p) for p in positions]
    shown = [*shown[:_MOST_NAMES], *(["..."] if len(shown) > _MOST_NAMES else [])]
    return f"column{'s' if len(positions) > 1 else ''} {', '.join(shown)}"


def find_binary_columns(X: np.ndarray) -> np.ndarray:
    """Return the positions of the columns with exactly two values, such as one-hot columns."""
    low, high, first = X.min(axis=0), X.max(axis=0), X[:_FIRST_ROWS]
    columns = np.flatnonzero((low < high) & ((first == low) | (first == high)).all(axis=0))
    has_two = [bool(((X[:, c] == low[c]) | (X[:, c] == high[c])).all()) for c in columns]
    return columns[np.array(has_two, dtype=bool)]


def describe_bad_cells(X, names=None) -> str:
    """Say which columns of a refused table hold missing values, infinity, or text.

    `names` are the names of the columns of an array; a frame has its own.
    """
    try:
        cells = np.asarray(X)
        if cells.ndim != 2:
            return ""
        found = _find_bad_cells(cells)
    except (TypeError, ValueError, MemoryError):
        return ""
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(name, str) for name in columns):
        names = list(columns)
    parts = [
        f"{what} in {name_columns(np.flatnonzero(bad.any(axis=0)), names)} "
        f"(first in row {np.flatnonzero(bad.any(axis=1))[0]})"
        for what, bad in found.items()
        if bad.any()
    ]
    return f"X has {' and '.join(parts)}." if parts else ""


def describe_bad_targets(y) -> str:
    """Say in which row the first missing or infinite target is."""
    values = np.asarray(y)
    if values.dtype.kind != "f":
        objects = values.astype(object)
        bad = np.frompyfunc(lambda v: is_missing(v) or _is_infinite(v), 1, 1)(objects)
        bad = np.asarray(bad, dtype=bool)
    else:
        bad = ~np.isfinite(values)
    rows = np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
    return f"The first one is in row {rows[0]}." if len(rows) else ""


def _find_bad_cells(cells: np.ndarray) -> dict[str, np.ndarray]:
    """Return masks `(row, feature)` by what is wrong."""
    if cells.dtype.kind == "f":
        return {"missing values": np.isnan(cells), "infinite values": np.isinf(cells)}
    tests = {"text": _is_text, "missing values": is_missing, "infinite values": _is_infinite}
    objects = cells.astype(object)
    masks = {what: np.frompyfunc(test, 1, 1)(objects) for what, test in tests.items()}
    return {what: np.asarray(mask, dtype=bool) for what, mask in masks.items()}


def _is_text(value) -> bool:
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _is_infinite(value) -> bool:
    return is_number(value) and abs(float(value)) == np.inf


def check_target_is_numbers(y) -> None:
    """Raise an error if the target of a regressor holds text or NA."""
    values = _as_objects(y, kinds="OUS")
    if values is None:
        return
    try:
        is_complete = not np.isnan(values.astype(np.float64)).any()
    except (TypeError, ValueError):
        is_complete = False
    if not is_complete:
        for row, value in enumerate(values):
            for item in np.atleast_1d(value):
                if is_missing(item):
                    raise ValueError(
                        f"y contains NaN or another missing value in row {row}. Remove such rows."
                    ) from None
                if _is_text(item):
                    raise ValueError(
                        f"y must hold numbers, got text in row {row}: {str(item)!r}. Convert y to "
                        "numbers, or use a classifier if y holds class labels."
                    ) from None


def check_labels(y) -> None:
    """Raise an error if class labels are missing, or if they mix text and other values."""
    values = _as_objects(y, kinds="O")
    if values is None:
        return
    missing = [row for row, label in enumerate(values.ravel()) if is_missing(label)]
    if missing:
        rows = ", ".join(map(str, missing[:_MOST_NAMES]))
        raise ValueError(
            f"y has {len(missing)} missing label{'s' if len(missing) > 1 else ''} (None, NaN or "
            f"NA): row{'s' if len(missing) > 1 else ''} {rows}"
            f"{', ...' if len(missing) > _MOST_NAMES else ''}. Remove these rows, or give them "
            "a label of their own, for example 'missing'."
        )
    examples = {isinstance(label, str): label for label in values.ravel()}
    if len(examples) > 1:
        raise ValueError(
            f"y mixes text and other labels, such as {examples[True]!r} and {examples[False]!r}. "
            "Use labels of one type, for example [str(label) for label in y]."
        )


def _as_objects(y, kinds: str) -> np.ndarray | None:
    """Return `y` as an array of objects if its kind is one of `kinds`, else None."""
    try:
        values: Any = np.asarray(y)
    except (TypeError, ValueError):
        return None  # scikit-learn explains what is wrong with it
    if values.ndim == 0 or values.dtype.kind not in kinds:
        return None
    return values.astype(object)
