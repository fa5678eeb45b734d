"""Rows and labels of a classifier: checked, scaled and numbered."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from sk_deltauq._tables.checks import check_table
from sk_deltauq._validation import (
    FitData,
    FitPlan,
    add_validation_rows,
    check_groups,
    check_weights,
    drop_rows_without_weight,
    keep_distinct_rows,
    naming_validation_rows,
    scale_rows,
)


def encode_labelled_rows(model: Any, X, y, sample_weight, plan: FitPlan) -> FitData:
    """Check the rows, scale them, and number the classes."""
    X, y = check_table(model, X, y, reset=not plan.resume)
    weights, groups = check_weights(sample_weight, X), check_groups(plan.groups, X)
    X, y, weights, groups = drop_rows_without_weight(weights, X, y, weights, groups)
    y = convert_labels(y)
    if plan.partial and model.class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all rows at once, and partial_fit sees "
            "only some. Give the weights as a dict {label: weight}, or use sample_weight."
        )
    named = None if plan.classes is None else np.unique(_unwrap(np.asarray(plan.classes)))
    if not plan.resume:
        model.classes_ = np.unique(y) if named is None else named
    elif named is not None and not np.array_equal(named, model.classes_):
        raise ValueError(
            f"classes must equal the classes of the first call, {model.classes_.tolist()}, or "
            f"be None, got {named.tolist()}. Start afresh with fit for other classes."
        )
    labels = _number_classes(
        model,
        y,
        "y",
        "Name all labels in the first call, partial_fit(..., classes=...), or start afresh "
        "with fit.",
    )
    if model.class_weight is not None:
        factors = _weigh_classes(model, y, labels, weights)[labels]
        if not (np.isfinite(factors).all() and factors.min() >= 0):
            raise ValueError(
                "class_weight must hold finite weights of at least zero, got "
                f"{model.class_weight!r}. Use zero to leave a class out."
            )
        weights = weights * factors
        if not weights.any():
            raise ValueError(
                f"class_weight={model.class_weight!r} leaves no row with a positive weight. "
                "Give at least one class of y a positive weight."
            )
    # A class weight of zero equals a sample weight of zero.
    X, labels, weights, groups = keep_distinct_rows(
        model, X, labels[:, None], weights, groups, plan
    )
    labels = labels[:, 0]
    data = scale_rows(model, X, _as_targets(labels), weights, labels, plan, groups)
    if plan.validation is None:
        return data
    with naming_validation_rows():
        X_val, y_val = check_table(model, *plan.validation, reset=False)
    y_val = _unwrap(y_val)
    labels = _number_classes(
        model, y_val, "y_val", "Add rows with these labels to X, or drop them."
    )
    return add_validation_rows(data, X_val, _as_targets(labels), labels, model.x_scaler_)


def convert_labels(y: np.ndarray) -> np.ndarray:
    """Return labels of a type that scikit-learn knows; raise an error for other ones."""
    y = _unwrap(y)
    others = [v for v in y.ravel() if not isinstance(v, str)] if y.dtype == object else []
    if others:
        raise ValueError(
            "Unknown label type: y must hold text, ints or bools, got the label "
            f"{others[0]!r} of type {type(others[0]).__name__}. Convert the labels, for example "
            "with [str(label) for label in y]."
        )
    check_classification_targets(y)
    return y


def _unwrap(labels: np.ndarray) -> np.ndarray:
    """Return objects that are all numbers or bools as an array of such; others as they are."""
    if labels.dtype == object and all(isinstance(v, Real | np.bool_) for v in labels.ravel()):
        plain = np.array(labels.tolist())
        # Floats would merge some ints that no type of integers holds together.
        return plain if plain.dtype.kind in "biuf" and (plain == labels).all() else labels
    return labels


def _weigh_classes(model: Any, y, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weight of each class of `classes_`.

    Balanced classes have equal sums of weights. scikit-learn before 1.9 counts rows instead.
    """
    if model.class_weight != "balanced":
        try:
            return compute_class_weight(model.class_weight, classes=model.classes_, y=y)
        except ValueError as error:  # names some classes and others that do not exist
            raise ValueError(
                f"class_weight must name classes of y, {model.classes_.tolist()}, got "
                f"{[*model.class_weight]}."
            ) from error
    sums = np.bincount(labels, weights, minlength=len(model.classes_))
    present = sums > 0
    factors = np.zeros(len(sums))
    factors[present] = weights.sum() / (present.sum() * sums[present])
    return factors


def _number_classes(model: Any, y, name: str, way_out: str) -> np.ndarray:
    """Return the position of each label in `classes_`."""
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"{name} has labels {unknown.tolist()} that are not among the classes "
            f"{model.classes_.tolist()}. {way_out}"
        )
    return np.searchsorted(model.classes_, y)


def _as_targets(labels: np.ndarray) -> torch.Tensor:
    """Class numbers `(row,)` as targets `(row, 1)`."""
    return torch.from_numpy(labels.astype(np.float32))[:, None]
