"""What the metrics check before they compute, and how they average."""

import numpy as np
from sklearn.utils import check_array, column_or_1d


def real_array(name, values, *, finite=True):
    """Float64 without NaN and, if `finite`, without infinity."""
    array = check_array(
        values, dtype=np.float64, ensure_2d=False, ensure_all_finite=finite, input_name=name
    )
    if np.isnan(array).any():
        raise ValueError(f"{name} must not contain NaN.")
    return array


def same_shape(finite=True, **arrays):
    arrays = {name: real_array(name, values, finite=finite) for name, values in arrays.items()}
    first, *others = arrays
    for name in others:
        if arrays[name].shape != arrays[first].shape:
            raise ValueError(
                f"{name} must have the shape of {first}, {arrays[first].shape}, got "
                f"{arrays[name].shape}. Reshape one: broadcasting would pair every row with all."
            )
    return arrays.values()


def interval_ends(**arrays):
    """Checked intervals; an infinite end makes a one-sided one."""
    if "y_true" in arrays:
        real_array("y_true", arrays["y_true"])
    arrays = same_shape(finite=False, **arrays)
    *_, lower, upper = arrays
    if (lower > upper).any():
        raise ValueError("lower must not exceed upper. Are the two swapped?")
    return arrays


def class_index(y_true, n_classes, labels):
    """Column of each row's class."""
    y_true = column_or_1d(y_true)
    labels = np.unique(y_true) if labels is None else column_or_1d(labels)
    if len(labels) != n_classes:
        raise ValueError(
            f"labels must name the {n_classes} columns of the prediction, got {len(labels)}: "
            f"{labels}. Pass labels=estimator.classes_."
        )
    matches = y_true[:, None] == labels
    known = matches.any(axis=1)
    if not known.all():
        raise ValueError(
            f"y_true must contain labels of the prediction alone, {labels}, got "
            f"{np.unique(y_true[~known])} too."
        )
    return matches.argmax(axis=1)


def class_probabilities(y_true, y_proba, labels):
    y_proba = check_array(y_proba, dtype=np.float64, input_name="y_proba")
    index = class_index(y_true, y_proba.shape[1], labels)
    if len(index) != len(y_proba):
        raise ValueError(
            f"y_true and y_proba must have as many rows, got {len(index)} and {len(y_proba)}."
        )
    # float32 probabilities miss a sum of 1 by 1e-6, logits by far more.
    if y_proba.min() < 0 or np.abs(y_proba.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("y_proba must be probabilities: not negative, rows that sum to 1.")
    return index, y_proba


def row_weights(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    weights = real_array("sample_weight", sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight a row, got {weights.shape}."
        )
    if weights.min() < 0 or weights.sum() == 0:
        raise ValueError("sample_weight must not be negative, and not 0 throughout.")
    return weights


def average(scores, sample_weight):
    """Weighted mean over rows, plain mean over outputs."""
    by_row = scores.reshape(len(scores), -1).mean(axis=1)
    return float(np.average(by_row, weights=row_weights(sample_weight, len(scores))))
