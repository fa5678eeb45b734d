"""The rows and targets of a regressor: checks, the transformation of the target, and scales."""

from __future__ import annotations

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from sk_deltauq._estimators.target_transform import resolve_target_transform
from sk_deltauq._outliers import warn_about_outliers
from sk_deltauq._tables.checks import check_table
from sk_deltauq._validation import (
    FitData,
    FitPlan,
    add_validation_rows,
    check_groups,
    check_still_constant,
    check_weights,
    fit_target_scaler,
    guess_constant_std,
    keep_distinct_rows,
    naming_validation_rows,
    scale_rows,
    scale_to_tensor,
)


def encode_rows(regressor, X, y, sample_weight, plan: FitPlan) -> FitData:
    """Check rows and targets, transform the targets, and scale both.

    Unless it continues from a fit, this sets the fitted attributes `n_outputs_`, `x_scaler_`,
    `y_scaler_` and `target_transform_`.
    """
    X, Y = check_targets(regressor, X, y, reset=not plan.resume)
    weights, groups = check_weights(sample_weight, X), check_groups(plan.groups, X)
    places = np.flatnonzero(weights > 0)  # in the table of the user, for a warning
    given = Y[places], weights[places], places
    X, Y, weights, groups = keep_distinct_rows(regressor, X, Y, weights, groups, plan)
    if plan.resume:
        check_outputs(regressor, Y, "y")
        _check_same_transform(regressor)
        Y = transform_targets(regressor, Y)
        check_still_constant(Y, regressor.y_scaler_, "y")
    else:
        regressor.n_outputs_ = Y.shape[1]
        regressor._wanted_transform_ = regressor.target_transform
        regressor.target_transform_ = resolve_target_transform(
            regressor, X, Y, weights, groups, partial=plan.partial
        )
        warn_about_outliers(*given, regressor.target_transform_)
        Y = transform_targets(regressor, Y)
        regressor.y_scaler_ = fit_target_scaler(Y, weights, more_to_come=plan.partial)
    targets = scale_to_tensor(Y, regressor.y_scaler_)
    data = scale_rows(regressor, X, targets, weights, None, plan, groups)
    if not (plan.partial and plan.resume):
        regressor._constant_std_ = guess_constant_std(regressor.y_scaler_, len(data.x))
    if plan.validation is None:
        return data
    with naming_validation_rows():
        X_val, Y_val = check_targets(regressor, *plan.validation, reset=False)
    check_outputs(regressor, Y_val, "y_val")
    targets = scale_to_tensor(transform_targets(regressor, Y_val), regressor.y_scaler_)
    return add_validation_rows(data, X_val, targets, None, regressor.x_scaler_)


def _check_same_transform(regressor) -> None:
    """Raise an error if training would continue with another transformation."""
    now, first = regressor.target_transform, regressor._wanted_transform_
    if now is not first and now != first:
        raise ValueError(
            "Training cannot continue from the last fit with another target_transform: it is "
            f"{now!r}, and was {first!r}. Set it back, or start afresh: fit with "
            "warm_start=False."
        )


def transform_targets(regressor, Y):
    """Map targets `(row, output)` to the targets that the network learns, before scaling."""
    return Y if regressor.target_transform_ is None else regressor.target_transform_.transform(Y)


def check_targets(regressor, X, y, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Check rows and targets; return the targets as `(row, target)`."""
    X, y = check_table(regressor, X, y, reset=reset, multi_output=True, y_numeric=True)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind in "mM":
        raise ValueError(f"y must hold numbers, got dates or times, {y.dtype}.")
    Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
    assert_all_finite(Y, input_name="y")  # a None in an array of objects is NaN only now
    return X, Y


def check_outputs(regressor, Y, name: str) -> None:
    """Raise an error for another number of outputs than in the fit."""
    if Y.shape[1] != regressor.n_outputs_:
        raise ValueError(
            f"{name} must have {regressor.n_outputs_} outputs, as in the first fit, got "
            f"{Y.shape[1]}. Give y as many columns, or start afresh: fit with warm_start=False."
        )
