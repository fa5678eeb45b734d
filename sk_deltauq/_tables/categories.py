"""Which columns of a table are categories, and their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_deltauq._columns import is_missing, name_columns
from sk_deltauq._tables.frames import find_kind, is_frame, list_kinds, read_cells

# What to do about a column that is neither numbers nor categories.
_WAYS_OUT = {
    "date": "dates or times. Convert them to numbers, such as days since a start, or to "
    "categories, such as the month",
    "complex": "complex numbers. Convert each of them to two columns of numbers, such as the real "
    "and the imaginary part",
    "mixed": "text and numbers. Convert each of them to one type, for example with "
    "X[name].astype(str) or pandas.to_numeric(X[name], errors='coerce')",
    "other": "cells that are neither numbers nor text, such as lists. Convert them",
}


def find_kinds(X) -> list[str]:
    """Return the kind of each column of a table; a column of objects shows it in its cells."""
    if not is_frame(X):
        return ["number"] * X.shape[1]
    return [
        find_kind(read_cells(X, position)) if kind == "object" else kind
        for position, kind in enumerate(list_kinds(X))
    ]


def find_categories(kinds: Sequence[str], wanted: Any, names) -> tuple[int, ...]:
    """Return the positions of the columns to encode as categories.

    `wanted` is the parameter `categorical_features`. `names` are the names of the columns, or
    None if not all of them are text.

    Raises
    ------
    ValueError
        If `wanted` does not select columns of the table.
    """
    if wanted is None:
        return ()
    if isinstance(wanted, str):  # "from_dtype"
        return tuple(p for p, kind in enumerate(kinds) if kind in ("category", "text"))
    selected, n_columns = np.asarray(wanted), len(kinds)
    kind = selected.dtype.kind if selected.size else "i"
    if selected.ndim == 1 and kind == "b" and len(selected) == n_columns:
        return tuple(np.flatnonzero(selected).tolist())
    if selected.ndim == 1 and kind in "iu":
        if selected.size == 0:
            return ()
        if selected.min() >= 0 and selected.max() < n_columns:
            return tuple(np.unique(selected).tolist())
    if selected.ndim == 1 and all(isinstance(name, str) for name in selected.tolist()):
        if names is None:
            raise ValueError(
                f"categorical_features={selected.tolist()} names columns, and X has no column "
                "names. Pass a data frame, or the positions of the columns."
            )
        places = {name: position for position, name in enumerate(names)}
        unknown = [name for name in selected.tolist() if name not in places]
        if not unknown:
            return tuple(sorted({places[name] for name in selected.tolist()}))
        raise ValueError(
            f"categorical_features names {unknown}, which X does not have. Its columns are "
            f"{list(places)}."
        )
    raise ValueError(
        "categorical_features must be 'from_dtype', None, or an array of column names, of "
        f"positions from 0 to {n_columns - 1}, or of {n_columns} flags, got {wanted!r}."
    )


def refuse_other_kinds(
    kinds: Sequence[str], categories: Sequence[int], names, reason: str
) -> None:
    """Raise an error for columns that are neither categories nor numbers.

    `reason` says why text is no category, and what to do.
    """
    for kind, way_out in _WAYS_OUT.items():
        if found := [p for p, k in enumerate(kinds) if k == kind]:
            raise ValueError(f"X has {name_columns(found, names)} with {way_out}, or drop them.")
    found = [p for p, k in enumerate(kinds) if k in ("text", "category") and p not in categories]
    if found:
        raise ValueError(f"X has {name_columns(found, names)} with text or categories, {reason}")


def read_labels(X, position: int, names) -> np.ndarray:
    """Return a column of categories: text or numbers, None for a missing value, `(row,)`.

    Other cells, such as the intervals of `pandas.cut`, become text.

    Raises
    ------
    ValueError
        If the column mixes text and numbers, or its cells cannot be compared.
    """
    cells = read_cells(X, position)
    try:
        distinct = {cell: _clean(cell) for cell in set(cells)}
    except TypeError as error:
        raise ValueError(
            f"X has {name_columns([position], names)} with {_WAYS_OUT['other']}, or drop it."
        ) from error
    kind = find_kind(distinct.values())
    if kind == "mixed":
        raise ValueError(
            f"X has {name_columns([position], names)} with {_WAYS_OUT['mixed']}, or drop it."
        )
    labels = np.empty(len(cells), dtype=object)
    labels[:] = [distinct[cell] for cell in cells]
    return labels


def _clean(cell):
    """Return a cell as text, number or None, without types of other packages."""
    if is_missing(cell):
        return None
    if isinstance(cell, np.floating) and cell.dtype.itemsize < 8:
        return float(str(cell))  # the digits that are printed, as in a column of short floats
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    return cell if isinstance(cell, int | float) else str(cell)
