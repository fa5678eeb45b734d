"""The hold-out: how many folds and networks there are, and which rows each network holds out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold

from sk_deltauq._validation import FitData, FitPlan, digest_rows
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Folds of fewer rows score so noisily that fewer, larger folds are worth it, up to a fifth of the
# rows. On five UCI sets cut down to 25 to 180 rows this was better than a tenth, and both were far
# better than training on all rows to the end, because variances overfit.
_WANTED_IN_FOLD, _FEWEST_FOLDS = 20, 5

# The number of rows that all networks together should hold out. With fewer rows the calibration
# is a guess, and a network on few rows is better for being averaged with others.
_WANTED_HELD_OUT = 60


# With fewer held-out rows the calibration is a rough guess: single data sets of 5 to 9 rows cover
# as little as 56 % with intervals of 90 %.
_FEW_HELD_OUT = 10

# What `identify_hold_out` returns for validation rows of the user.
_VALIDATION = "validation"


@dataclass(frozen=True)
class HoldOutPlan:
    """How many folds there are, and how many networks share them in turn."""

    n_folds: int  # 0 without hold-out
    n_networks: int


@dataclass(frozen=True)
class Assignment:
    """Row numbers to train on and to hold out, `(network, row)`.

    All networks have equally many. Random rows of the same network pad a shorter list; padding
    among the held-out rows is marked, because it must not count.
    """

    train: np.ndarray
    held_out: np.ndarray
    counts: np.ndarray  # (network, row), False for padding of `held_out`
    n_units: int  # independent rows (groups, if there are groups) that all networks hold out


def plan_hold_out(
    early_stopping: bool | str,
    data: FitData,
    n_members: int,
    validation_fraction: float,
    *,
    partial: bool = False,
) -> HoldOutPlan:
    """Choose the number of folds and networks; see `count_folds` and `count_networks`.

    With the user's own validation rows there are no folds, and each member is one network.
    """
    if data.validation is not None:
        return HoldOutPlan(0, n_members)
    n_classes = 0 if data.labels is None else len(np.unique(data.labels))
    n_units, unit = len(data.x), "samples"
    if data.groups is not None:
        n_units, unit, n_classes = len(np.unique(data.groups)), "groups", 0
    n_folds = count_folds(
        early_stopping,
        n_units,
        n_members,
        validation_fraction,
        n_classes=n_classes,
        partial=partial,
        unit=unit,
    )
    return HoldOutPlan(n_folds, count_networks(n_members, n_folds, n_units - n_classes))


def warn_about_hold_out(
    name: str, n_units: int, data: FitData, early_stopping: bool | str, *, partial: bool
) -> None:
    """Warn if no rows, or very few, check the uncertainty. `name` is the name of the estimator."""
    if n_units >= _FEW_HELD_OUT:
        return
    if n_units:
        one, several = "row", "rows"
        if data.groups is not None:
            one, several = "group of rows", "groups of rows"
        message = (
            f"{name} can hold out only {n_units} {one if n_units == 1 else several}, so its "
            f"uncertainty is a rough guess. Add rows: from {_FEW_HELD_OUT} {several} on intervals "
            "have been checked."
        )
    else:
        reason = f"because there are too few, {len(data.x)}"
        if data.groups is not None and len(np.unique(data.groups)) < 2:
            reason = "because all rows with a weight belong to one group"
        if partial:
            reason = "in partial_fit"
        elif not early_stopping:
            reason = "with early_stopping=False"
        message = (
            f"{name} holds out no rows {reason}, so nothing corrects its uncertainty, which "
            "is usually too small. Use fit with early_stopping='auto' and more rows, or check the "
            "coverage on rows of your own."
        )
    warn_caller(message, UncertaintyWarning)


def identify_hold_out(data: FitData, n_units: int) -> str | None:
    """Return a text that is the same for the same held-out rows; None without any.

    `n_units` is the number of held-out rows. The folds follow from all rows, in their order, so
    the text is a hash of them. The user's own validation rows need no hash: the networks do not
    train on them.
    """
    if not n_units:
        return None
    return _VALIDATION if data.validation is not None else digest_rows(data)


def warn_about_resuming(
    name: str, plan: FitPlan, before: str | None, now: str | None, ended_on_all_rows: bool
) -> None:
    """Warn if training continues from a fit in a way that spoils the calibration.

    `before` and `now` are what `identify_hold_out` returns for the last fit and for this one.
    `ended_on_all_rows` tells that the networks then trained on the held-out rows too.
    """
    if plan.partial and before is not None:
        message = (
            f"partial_fit trains {name} without held-out rows. The calibration of the last fit, "
            "if any, stays, so the uncertainty can become too small. Check it with new rows, or "
            "fit again on all rows."
        )
    elif now not in (None, _VALIDATION) and (now != before or ended_on_all_rows):
        message = (
            f"{name} continues (warm_start) from networks that may have trained on the rows that "
            "it holds out now, so its uncertainty can be too small. Use warm_start=False, or rows "
            "of your own to hold out (X_val, y_val)."
        )
    else:
        return
    warn_caller(message, UncertaintyWarning)


def count_folds(
    early_stopping: bool | str,
    n_samples: int,
    n_members: int,
    validation_fraction: float,
    *,
    n_classes: int = 0,
    partial: bool = False,
    unit: str = "samples",
) -> int:
    """Return the number of folds, of which each network holds out one; 0 for no hold-out.

    Members share folds in turn if there are more members than folds. One row of each class
    belongs to no fold, see `assign_folds`. `partial_fit` has no folds.

    Raises
    ------
    ValueError
        If `early_stopping` is True in `partial_fit`, or with fewer rows (or groups) than folds.
    """
    if partial and early_stopping not in (False, "auto"):
        raise ValueError(
            "partial_fit does not support early_stopping=True: one call has no later epochs "
            "to compare with. Use early_stopping='auto' or False."
        )
    if partial or not early_stopping:
        return 0
    n_units = n_samples - n_classes
    n_folds = math.ceil(1 / validation_fraction - 1e-9)
    if early_stopping == "auto":
        n_folds = min(n_folds, max(n_units // _WANTED_IN_FOLD, _FEWEST_FOLDS))
        # Each member has its own fold if the folds stay large enough.
        n_folds = max(n_folds, min(n_members, n_units // _WANTED_IN_FOLD))
        # Two rows in a fold say more about the noise than one; two folds there must be.
        return min(n_folds, max(n_units // 2, 2)) if n_units > 1 else 0
    if n_units < n_folds:
        besides = " (and one more row of each class)" if n_classes else ""
        raise ValueError(
            f"early_stopping=True needs at least one of the {unit} for each of {n_folds} folds"
            f"{besides} with validation_fraction={validation_fraction}, got n_{unit}={n_samples}. "
            "Raise validation_fraction, or use early_stopping='auto' or False."
        )
    return n_folds


def count_networks(n_members: int, n_folds: int, n_units: int) -> int:
    """Return how many networks to train: the members, or enough to hold out 60 rows together.

    Never more networks than folds for the sake of held-out rows. For one member this is five
    networks below 75 rows, and one from 600 rows on.
    """
    if not n_folds:
        return n_members
    in_fold = n_units // n_folds
    return max(n_members, min(n_folds, math.ceil(_WANTED_HELD_OUT / in_fold)))


def assign_hold_out(rng: np.random.Generator, data: FitData, plan: HoldOutPlan) -> Assignment:
    """Assign the rows to the networks; the user's own validation rows follow the training rows."""
    n_rows, shape = len(data.x), (plan.n_networks, 1)
    everyone = np.tile(np.arange(n_rows), shape)
    if data.validation is not None:
        n_held_out = len(data.validation.x)
        held_out = np.tile(np.arange(n_rows, n_rows + n_held_out), shape)
        return Assignment(everyone, held_out, np.ones_like(held_out, dtype=bool), n_held_out)
    if not plan.n_folds:
        nothing = everyone[:, :0]
        return Assignment(everyone, nothing, nothing.astype(bool), 0)
    if data.groups is not None:
        return assign_group_folds(rng, data.groups, plan.n_folds, plan.n_networks, data.labels)
    train, held_out = assign_folds(rng, n_rows, plan.n_folds, plan.n_networks, data.labels)
    counts = np.ones_like(held_out, dtype=bool)
    return Assignment(train, held_out, counts, len(np.unique(held_out)))


def assign_folds(
    rng: np.random.Generator, n_rows: int, n_folds: int, n_networks: int, labels=None
):
    """Assign a hold-out fold to each network; networks take the folds in turn.

    The rows are shuffled, sorted by label if there are labels, and assigned in turn, so the folds
    are stratified. One row of each label belongs to no fold: every network trains on every class.

    Returns row numbers to train on and to hold out, `(network, row)`, equally many per network.
    """
    order = rng.permutation(n_rows)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
        _, first = np.unique(labels[order], return_index=True)
        order = np.delete(order, first)
    size = len(order) // n_folds
    folds = [np.sort(order[m::n_folds][:size]) for m in range(min(n_folds, n_networks))]
    everyone = np.arange(n_rows)
    train = np.stack([np.setdiff1d(everyone, fold, assume_unique=True) for fold in folds])
    of_network = np.arange(n_networks) % n_folds
    return train[of_network], np.stack(folds)[of_network]


def assign_group_folds(
    rng: np.random.Generator, groups: np.ndarray, n_folds: int, n_networks: int, labels=None
) -> Assignment:
    """Assign whole groups to folds, equally many groups to each.

    A group is not held out if the other rows would lack one of the labels.
    """
    splitter = GroupKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    everyone = np.arange(len(groups))
    folds = [held_out for _, held_out in splitter.split(everyone, groups=groups)]
    if labels is not None:
        folds = [_keep_every_label(fold, labels, groups) for fold in folds]
    folds = [fold for fold in folds if len(fold)]
    if not folds:
        raise ValueError(
            "groups leave no rows to hold out: each group is the only one with some label. Give "
            "validation rows (X_val, y_val), or leave groups out."
        )
    train = [np.setdiff1d(everyone, fold, assume_unique=True) for fold in folds]
    (train, _), (held_out, counts) = _pad(rng, train), _pad(rng, folds)
    of_network = np.arange(n_networks) % len(folds)
    n_units = len(np.unique(groups[held_out[of_network]]))
    return Assignment(train[of_network], held_out[of_network], counts[of_network], n_units)


def _keep_every_label(fold, labels, groups):
    """Drop groups from a fold until the other rows have every label."""
    outside = np.setdiff1d(np.arange(len(labels)), fold, assume_unique=True)
    for label in np.setdiff1d(labels, labels[outside]):
        rows = fold[labels[fold] == label]
        if len(rows):
            fold = fold[groups[fold] != groups[rows[0]]]
    return fold


def _pad(rng: np.random.Generator, parts: list[np.ndarray]):
    """Stack parts of different lengths; random rows of its own pad a shorter part."""
    longest = max(map(len, parts))
    padded = [np.concatenate([p, rng.choice(p, longest - len(p))]) for p in parts]
    counts = [np.arange(longest) < len(p) for p in parts]
    return np.stack(padded), np.stack(counts)
