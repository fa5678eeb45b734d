"""Checks of weights and groups, and the scales that networks see.

A network needs finite scales, and a list of constant columns.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn import config_context
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from sk_deltauq._columns import (
    find_binary_columns,
    is_missing,
    name_columns,
    refuse_masked_cells,
)
from sk_deltauq._duplicates import count_common_rows, merge_copies, warn_about_near_copies
from sk_deltauq._sklearn import check_sample_weight
from sk_deltauq._tables.checks import encode_training_rows, name_inputs
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Rows are scaled in chunks of this many, so that no second float64 copy of X is made.
_CHUNK_ROWS = 16_384

# Standardised values are clipped to this size: a sum of a few products still fits float32.
FAR = 1e6

# Minimum and maximum of a constant column differ by this at most, relative to its size.
_ROUNDING = 4 * np.finfo(np.float64).eps

# Moments are computed about the middle of the column if it is so many ranges away from zero.
_FAR_OFFSET = 1e3

# Least scale of a column with two values, relative to their distance. Divided by its standard
# deviation, a level with one of 400 rows would be an input of 20, whose effect a network overfits;
# a network that holds the row out would not even train the weights. With 0.25 the CRPS of tables
# with many rare levels was 10 % lower. Values in 7 % of the rows or more are not affected.
_LEAST_BINARY_STD = 0.25

# A column has the floor of a column with two values too if less than this share of the weight has
# other values than the commonest one. Without weights this takes more than 10 000 rows.
_RARE_SHARE = 1e-4

# Squares below this one lose digits in float64.
_LEAST_SPREAD = np.sqrt(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)


@dataclass(frozen=True)
class FitData:
    """Checked training rows; rows of weight zero are dropped. Tensors are float32."""

    X: np.ndarray  # (row, feature), encoded, in the units of the user
    x: torch.Tensor  # (row, feature), scaled
    y: torch.Tensor  # (row, target), encoded
    weights: torch.Tensor  # (row,)
    labels: np.ndarray | None  # (row,), class numbers, for a classifier
    groups: np.ndarray | None = None  # (row,), group numbers, if the user names groups
    validation: FitData | None = None  # the user's own rows to hold out


@dataclass(frozen=True)
class FitPlan:
    """The kind of fit."""

    resume: bool  # continue from the fitted net, its scales and its classes
    partial: bool = False  # `partial_fit`: one epoch, and more rows may come
    classes: Any = None  # all classes that will ever come, if the caller names them
    groups: Any = None  # (row,): rows of a group are held out together
    validation: tuple[Any, Any] | None = None  # (X_val, y_val), the user's own rows to hold out
    ranges: np.ndarray | None = None  # (feature, 2): known ranges, which then scale the features


def check_weights(sample_weight, X) -> np.ndarray:
    """Return the weights as float64, scaled by `scale_weights`; not all may be zero."""
    refuse_masked_cells("sample_weight", sample_weight)
    try:
        with config_context(array_api_dispatch=False):
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    except (TypeError, ValueError) as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(
            f"sample_weight must hold one number for each of the {len(X)} rows of X: {error}"
        ) from error
    if not weights.max() > 0:
        raise ValueError(
            "sample_weight must hold at least one positive weight, but all weights are zero. "
            "Give at least one row a positive weight, or leave sample_weight out."
        )
    return scale_weights(weights)


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Scale to a maximum of one: only ratios count. Weights too small for float32 become zero."""
    weights = weights / weights.max()
    return np.where(weights < np.finfo(np.float32).tiny, 0.0, weights)


def drop_rows_without_weight(weights: np.ndarray, *arrays) -> tuple[Any, ...]:
    """Return the rows of each array whose weight is positive; None stays None."""
    present = weights > 0
    if present.all():
        return arrays
    return tuple(None if a is None else a[present] for a in arrays)


def check_groups(groups, X) -> np.ndarray | None:
    """Number the groups of the rows; None stays None.

    Raises
    ------
    ValueError
        If there is not one value per row, a value is missing, or there is only one group.
    """
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(
            f"groups must hold one value for each of the {len(X)} rows of X, got an array of "
            f"shape {groups.shape}."
        )
    groups = groups.ravel()
    if any(map(is_missing, groups)):
        raise ValueError("groups must name a group for each row, but some values are missing.")
    try:
        names, numbers = np.unique(groups, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"groups must hold values of one type, such as int or str: {error}."
        ) from error
    if len(names) < 2:
        raise ValueError(
            f"groups must hold at least two different values, got only {names.tolist()}. Rows of "
            "one group cannot be held out from each other: leave groups out, or give X_val and "
            "y_val."
        )
    return numbers


@contextlib.contextmanager
def naming_validation_rows():
    """Say in an error from this block that it is about X_val or y_val."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"X_val and y_val cannot be used: {error}") from error


def keep_distinct_rows(estimator, X, Y, weights, groups, plan: FitPlan) -> tuple[Any, ...]:
    """Drop rows without weight, and merge equal rows into one row with their summed weight.

    `Y` is `(row, target)`. `partial_fit` merges no rows. Unless it continues from a fit, this
    encodes the rows, which may be a `Table`, and sets `encoder_`.
    """
    weights = scale_weights(weights)
    X, Y, groups, weights = drop_rows_without_weight(weights, X, Y, groups, weights)
    if not plan.resume:
        X = encode_training_rows(estimator, X, weights)
    if plan.partial:
        return X, Y, weights, groups
    kept, weights = merge_copies(X, Y, weights, groups)
    if kept is None:
        return X, Y, weights, groups
    return X[kept], Y[kept], scale_weights(weights), None if groups is None else groups[kept]


def scale_rows(estimator, X, targets, weights, labels, plan: FitPlan, groups=None) -> FitData:
    """Scale the rows, and fit the scaler of the estimator unless it continues from a fit.

    `targets` are encoded, `(row, target)`; `weights` include class weights.
    """
    names = name_inputs(estimator)
    if plan.resume:
        check_still_constant(X, estimator.x_scaler_, "X", names)
    elif plan.ranges is not None:
        estimator.x_scaler_ = make_range_scaler(plan.ranges)
    else:
        estimator.x_scaler_ = fit_input_scaler(X, weights, names, more_to_come=plan.partial)
    x = scale_to_tensor(X, estimator.x_scaler_)
    if not (plan.partial or plan.validation or groups is not None):
        warn_about_near_copies(x.numpy())
    return FitData(
        X=X,
        x=x,
        y=targets,
        weights=torch.from_numpy(weights.astype(np.float32)),
        labels=labels,
        groups=groups,
    )


def digest_rows(data: FitData) -> str:
    """Return a hash of the rows and their targets, in their order."""
    digest = hashlib.sha256()
    for values in (data.x, data.y):
        digest.update(np.ascontiguousarray(values.numpy()).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def add_validation_rows(data: FitData, X_val, targets, labels, x_scaler: Scaler) -> FitData:
    """Attach the user's own rows to hold out.

    Warn if some of them are training rows too, or if most of them lie far outside.
    """
    n_common = count_common_rows(data.X, data.y.numpy(), X_val, targets.numpy())
    if n_common:
        warn_caller(
            f"{n_common} of {len(X_val)} validation rows are also training rows, so the hold-out "
            "is not independent and the uncertainty comes out too small. Remove them from X or "
            "from X_val.",
            UncertaintyWarning,
        )
    x = scale_to_tensor(X_val, x_scaler)
    if _lies_far_outside(data.x.numpy(), x.numpy()).mean() > 0.5:
        warn_caller(
            "Most validation rows lie far outside the training rows. Transform X_val as X was "
            "transformed (in a Pipeline: transform_input=['X_val']), or hold out other rows.",
            UncertaintyWarning,
        )
    return replace(data, validation=FitData(X_val, x, targets, torch.ones(len(x)), labels))


def _lies_far_outside(x: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Say which new rows have a feature beyond the training rows by more than their range."""
    low, high = x.min(axis=0), x.max(axis=0)
    margin = high - low
    return ((new < low - margin) | (new > high + margin)).any(axis=1)


class Scaler(StandardScaler):
    """A `StandardScaler` that knows which columns are constant."""

    mean_: np.ndarray
    var_: np.ndarray
    scale_: np.ndarray
    constant_: np.ndarray


def _fit_scaler(
    values: np.ndarray, weights: np.ndarray, name: str, names=None
) -> tuple[Scaler, np.ndarray]:
    """Fit a `StandardScaler` in chunks; also return which columns are constant.

    A column is constant if its minimum and maximum agree up to rounding, however many rows there
    are. `names` are the names of the columns, if they have names.
    """
    scaler, low, high = Scaler(), *(f(axis=0).astype(np.float64) for f in (values.min, values.max))
    with np.errstate(over="ignore", invalid="ignore"):
        constant = high - low <= _ROUNDING * np.maximum(-low, high)
        # Sums of values far from zero would lose the digits in which the values differ.
        middle = low + (high - low) / 2
        offset = np.where(np.abs(middle) > _FAR_OFFSET * (high - low), middle, 0.0)
        for rows in gen_batches(len(values), _CHUNK_ROWS):
            scaler.partial_fit(values[rows] - offset, sample_weight=weights[rows])
    scaler.mean_ += offset
    spread = np.sqrt(scaler.var_)
    largest = np.maximum(np.abs(low), np.abs(high))
    _check_moments(
        f"{name} has values too small", ~constant & (spread < _LEAST_SPREAD), largest, names, name
    )
    overflow = ~(np.isfinite(spread) & np.isfinite(scaler.mean_))
    _check_moments(f"{name} has values too large", overflow, largest, names, name)
    scaler.scale_ = np.where(constant, 1.0, spread)
    return scaler, constant


def _check_moments(problem: str, bad: np.ndarray, largest: np.ndarray, names, name: str) -> None:
    """Raise an error that names the columns whose variance float64 cannot hold."""
    if bad.any():
        raise ValueError(
            f"{problem} for their variance to be computed in float64 "
            f"({name_columns(np.flatnonzero(bad), names)}, largest magnitude "
            f"{largest[bad].max():.3g}). Rescale {name}, or remove outliers."
        )


def fit_input_scaler(
    X: np.ndarray, weights: np.ndarray, names=None, *, more_to_come=False
) -> Scaler:
    """Fit the mean and scale of each column of X; a constant column is scaled to zero.

    Nothing can be learnt from such a column, and a new value in it must not reach weights that
    were never trained. With `more_to_come` its scale is one, because it may vary later.
    Otherwise a column with two values has at least the scale `_LEAST_BINARY_STD`, relative to its
    range, and so has a column in which nearly all the weight has one value.
    """
    scaler, constant = _fit_scaler(X, weights, "X", names)
    scaler.scale_ = np.where(constant, 1.0 if more_to_come else np.inf, scaler.scale_)
    scaler.constant_ = constant & (not more_to_come)
    if not more_to_come:
        for columns in (find_binary_columns(X), _find_rarely_varying(X, weights, scaler.scale_)):
            floor = _LEAST_BINARY_STD * np.ptp(X[:, columns], axis=0)
            scaler.scale_[columns] = np.maximum(scaler.scale_[columns], floor)
    return scaler


def make_range_scaler(ranges: np.ndarray) -> Scaler:
    """Standardise uniform features over known ranges `(feature, 2)`."""
    scaler, (low, high) = Scaler(), ranges.T
    scaler.mean_, scaler.scale_ = (low + high) / 2, (high - low) / 12**0.5
    scaler.var_, scaler.constant_ = scaler.scale_**2, np.zeros(len(ranges), dtype=bool)
    return scaler


def _find_rarely_varying(X: np.ndarray, weights: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the positions of columns in which nearly all the weight has one value.

    `spread` are the standard deviations.
    """
    # The variance of such a column is below the share of the other values times its squared range,
    # so only few columns are searched for their commonest value.
    high, low = (f(axis=0).astype(np.float64) for f in (X.max, X.min))
    limit = np.sqrt(_RARE_SHARE) * (high - low)
    found = []
    for column in np.flatnonzero(spread < limit):
        _, which = np.unique(X[:, column], return_inverse=True)
        shares = np.bincount(which, weights) / weights.sum()
        if 1 - shares.max() < _RARE_SHARE:
            found.append(column)
    return np.array(found, dtype=int)


def fit_target_scaler(Y: np.ndarray, weights: np.ndarray, *, more_to_come=False) -> Scaler:
    """Fit the mean and scale of each target.

    The scale of a constant target is the resolution of float64, so its predicted standard
    deviation is about its rounding error. With `more_to_come` the target may vary later, and its
    scale is its size.
    """
    scaler, constant = _fit_scaler(Y, weights, "y")
    eps = np.finfo(np.float64).eps
    size = np.abs(scaler.mean_)
    resolution, size = eps * np.maximum(size, eps), np.where(size > 0, size, 1.0)
    scaler.scale_ = np.where(constant, size if more_to_come else resolution, scaler.scale_)
    scaler.constant_ = constant & (not more_to_come)
    return scaler


def guess_constant_std(scaler: Scaler, n_rows: int) -> np.ndarray:
    """Return a standard deviation for each constant target, and zero for each target that varies.

    Equal targets in `n_rows` rows do not say how far the next one lies. The guess is the size of
    the target (1 for a target of zero) over the square root of the number of rows. It is the
    predictive standard deviation of a normal target with a prior worth one row for its variance.
    """
    constant = scaler.constant_
    if constant.any():
        warn_caller(
            f"y is constant in output {np.flatnonzero(constant).tolist()}: all {n_rows} distinct "
            "rows have the same target. Nothing is known about its spread, so the standard "
            "deviation is a guess from the size of y and the number of rows. Check y.",
            UncertaintyWarning,
        )
    size = np.where(scaler.mean_ == 0, 1.0, np.abs(scaler.mean_))
    return np.where(constant, size / np.sqrt(n_rows), 0.0)


def check_still_constant(values: np.ndarray, scaler: Scaler, name: str, names=None) -> None:
    """Raise an error if a column varies that was constant in the fit to continue from.

    It has the scale of a constant, so nothing could be learnt from it.
    """
    distance = np.abs(values - scaler.mean_).max(axis=0)
    moved = scaler.constant_ & (distance > _ROUNDING * np.abs(scaler.mean_))
    if moved.any():
        raise ValueError(
            f"{name} varies in {name_columns(np.flatnonzero(moved), names)}, which was constant "
            "in the fit that training would continue from. Start afresh: fit with "
            "warm_start=False."
        )


def scale_to_tensor(values: np.ndarray, scaler: Scaler):
    """Standardise to a float32 tensor in chunks."""
    out = np.empty(values.shape, dtype=np.float32)
    with np.errstate(over="ignore"):  # infinity is clipped like any far value
        for start in range(0, len(values), _CHUNK_ROWS):  # gen_batches spends time on checks
            rows = slice(start, start + _CHUNK_ROWS)
            scaled = (values[rows] - scaler.mean_) / scaler.scale_
            # np.clip does the same, and spends time on checks.
            np.maximum(scaled, -FAR, out=scaled)
            np.minimum(scaled, FAR, out=out[rows], casting="same_kind")
    return torch.from_numpy(out)
