"""Rows held out to stop early by: how many folds of them, and who holds out which."""

from __future__ import annotations

import math

import numpy as np

# Below this the score of the held-out rows says nothing.
_MIN_HELD_OUT = 5
# With fewer rows than this in a fold the score is noisy enough to make larger folds worth it, up
# to a quarter of the rows: on five UCI sets cut down to 25 to 180 rows that was better than a
# tenth, and both were far better than training on all rows to the end (variances overfit).
_WANTED_HELD_OUT, _FEWEST_FOLDS = 20, 4


def number_of_folds(
    early_stopping,
    n_samples: int,
    n_members: int,
    validation_fraction: float,
    *,
    n_classes: int = 0,
    partial: bool = False,
) -> int:
    """Into how many folds to deal the rows, of which each member holds out one; 0 for none.

    One row of each class is dealt to nobody, see `deal_folds`. In `partial_fit` there are none.

    Raises
    ------
    ValueError
        If `early_stopping` is True, and it is `partial_fit`, or there is not one row for each
        fold.
    """
    if partial and early_stopping not in (False, "auto"):
        raise ValueError(
            "partial_fit does not support early_stopping=True: one call has no later epochs "
            "to compare with. Use early_stopping='auto' or False."
        )
    if partial or not early_stopping:
        return 0
    n_rows = n_samples - n_classes
    n_folds = math.ceil(1 / validation_fraction - 1e-9)
    if early_stopping == "auto":
        n_folds = min(n_folds, max(n_rows // _WANTED_HELD_OUT, _FEWEST_FOLDS))
        n_folds = max(n_folds, n_members)
        return n_folds if n_rows // n_folds >= _MIN_HELD_OUT else 0
    n_folds = max(n_folds, n_members)
    if n_rows < n_folds:
        besides = " (and one of each class besides)" if n_classes else ""
        members = f"n_members={n_members} and " if n_members > 1 else ""
        raise ValueError(
            f"early_stopping=True needs at least one row for each of {n_folds} folds{besides} "
            f"with {members}validation_fraction={validation_fraction}, got n_samples={n_samples}. "
            "Raise validation_fraction, or use early_stopping='auto' or False."
        )
    return n_folds


def deal_folds(rng: np.random.Generator, n_rows: int, n_folds: int, n_members: int, labels=None):
    """Give each member another fold to hold out.

    The rows are shuffled, sorted by label if there are labels, and dealt like cards, so the folds
    are stratified. One row of each label is dealt to nobody: every member trains on every class.

    Parameters
    ----------
    n_rows, n_folds, n_members : int
        The first `n_members` of `n_folds` folds are held out.
    labels : ndarray of shape (n_rows,), optional
        Class of each row.

    Returns
    -------
    train, held_out : ndarray of shape (n_members, n_train), (n_members, n_held_out)
        Row numbers; all members have equally many.
    """
    order = rng.permutation(n_rows)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
        _, first = np.unique(labels[order], return_index=True)
        order = np.delete(order, first)
    size = len(order) // n_folds
    held_out = np.stack([np.sort(order[m::n_folds][:size]) for m in range(n_members)])
    everyone = np.arange(n_rows)
    train = np.stack([np.setdiff1d(everyone, fold, assume_unique=True) for fold in held_out])
    return train, held_out
