"""Copies among the training rows: equal rows become weights, near copies cause a warning.

A copy is no further evidence. If one copy is held out and the other one trains, the held-out
errors look smaller than the errors on new rows.
"""

from __future__ import annotations

import numpy as np

from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Rows with equal features are copies, unless more than 1 % of the distinct ones have several
# targets. Then the table is coarse: its equal rows are different observations.
_COPIES_PER_EXCEPTION = 100

# With more copies per distinct row the table is coarse too, even if equal rows always agree, as in
# a table of a few yes-or-no columns. Merging would leave too few rows to hold out.
_MOST_COPIES = 10

# A row is a near copy if its distance is below `_NEAR / r` times the distance of the neighbour of
# some rank r. If rows are spread evenly along a curve or in more dimensions, about 4 % of them are
# near copies. A rank must exceed the number of copies of a row.
_NEAR, _RANKS, _SHARE_TO_WARN = 0.04, (20, 60, 180), 0.1
_N_ASKED, _CHUNK_ELEMENTS = 256, 2**22


def merge_copies(X, Y, weights, groups=None):
    """Find the rows to keep, and the summed weights of each with its copies.

    Copies agree in features, targets and group. `X` is `(row, feature)`, `Y` is `(row, target)`,
    `weights` and `groups` are `(row,)`.

    Returns row numbers, in their order, and weights; the row numbers are None without copies.
    """
    n_distinct_x, _, _ = _find_distinct(X)
    if n_distinct_x == len(X) or len(X) > _MOST_COPIES * n_distinct_x:
        return None, weights
    n_distinct, first, which = _find_distinct(np.column_stack([X, Y]))
    if (n_distinct - n_distinct_x) * _COPIES_PER_EXCEPTION > n_distinct_x:
        return None, weights
    if groups is not None:
        n_distinct, first, which = _find_distinct(np.column_stack([which, groups]))
    summed = np.bincount(which, weights, minlength=n_distinct)
    order = np.argsort(first)
    return first[order], summed[order]


def count_common_rows(X, Y, X_val, Y_val) -> int:
    """Count the validation rows that are equal to a training row, in features and targets."""
    _, _, which = _find_distinct(np.vstack([np.hstack([X, Y]), np.hstack([X_val, Y_val])]))
    return int(np.isin(which[len(X) :], which[: len(X)]).sum())


def _find_distinct(table):
    """Count the distinct rows; return where each comes first, and which of them every row is."""
    table = np.ascontiguousarray(table, dtype=np.float64) + 0.0  # -0.0 equals 0.0
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return len(first), first, which


def warn_about_near_copies(x: np.ndarray) -> None:
    """Warn if many of the scaled rows `(row, feature)` have a near copy that is not equal."""
    ranks = [rank for rank in _RANKS if len(x) > 2 * rank]
    if not ranks:
        return
    x = x.astype(np.float64)
    asked = x[np.linspace(0, len(x) - 1, min(len(x), _N_ASKED)).astype(int)]
    step = max(1, _CHUNK_ELEMENTS // len(x))
    parts = (
        _measure_neighbours(asked[i : i + step], x, ranks) for i in range(0, len(asked), step)
    )
    nearest, *far = np.concatenate(list(parts)).T
    limit = np.max([_NEAR / rank * each for rank, each in zip(ranks, far, strict=True)], axis=0)
    share = float(np.mean((nearest > 0) & (nearest < limit)))
    if share >= _SHARE_TO_WARN:
        warn_caller(
            f"About {share:.0%} of the rows of X have a near copy among the other rows. If the "
            "hold-out separates copies, errors and intervals look better than they are. Pass "
            "groups=... to fit, with the same value for rows that belong together, or remove "
            "the copies.",
            UncertaintyWarning,
        )


def _measure_neighbours(asked, x, ranks):
    """Measure the distances to the nearest other row, and to the neighbours of these ranks.

    Returns `(asked row, 1 + rank)`.
    """
    squares = (asked**2).sum(axis=1)[:, None] - 2 * asked @ x.T + (x**2).sum(axis=1)
    order = np.argpartition(squares, [1, *ranks], axis=1)
    # The two nearest rows are the row itself and its neighbour, in any order. Measured again,
    # because rounding hides small distances in the squares.
    nearest = np.linalg.norm(x[order[:, :2]] - asked[:, None], axis=2).max(axis=1)
    far = np.linalg.norm(x[order[:, ranks]] - asked[:, None], axis=2)
    return np.column_stack([nearest, far])
