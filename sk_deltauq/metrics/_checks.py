"""Checks of the arguments of metrics, and the average over rows."""

from numbers import Integral

import numpy as np
from sklearn.utils import column_or_1d

from sk_deltauq.distributions._arrays import as_real


def check_real(name, values, *, finite=True):
    """Convert to float64; refuse NaN and, if `finite`, infinity."""
    array = as_real(name, values)
    if not (array.ndim and len(array)):
        raise ValueError(f"{name} must have at least one row, got shape {array.shape}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} must not contain NaN.")
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name} must not contain infinity.")
    return array


def check_same_shape(finite=True, **arrays):
    """Convert arrays, given by name, to float64, and check that their shapes are equal."""
    arrays = {name: check_real(name, values, finite=finite) for name, values in arrays.items()}
    first, *others = arrays
    for name in others:
        if arrays[name].shape != arrays[first].shape:
            raise ValueError(
                f"{name} must have the shape of {first}, {arrays[first].shape}, got "
                f"{arrays[name].shape}. Reshape one, since broadcasting would mix rows."
            )
    return arrays.values()


def check_intervals(**arrays):
    """Check intervals; an infinite bound makes an interval one-sided."""
    if "y_true" in arrays:
        check_real("y_true", arrays["y_true"])
    arrays = check_same_shape(finite=False, **arrays)
    *_, lower, upper = arrays
    if (lower > upper).any():
        raise ValueError(
            "lower must not exceed upper. Swap the two if they are in the wrong order."
        )
    return arrays


def find_class_index(y_true, n_classes, labels):
    """Find the column of the class of each row."""
    y_true = _check_labels("y_true", y_true)
    labels = np.unique(y_true) if labels is None else _check_labels("labels", labels)
    if len(np.unique(labels)) < len(labels):
        raise ValueError(f"labels must name each class once, got {labels}.")
    if len(labels) != n_classes:
        raise ValueError(
            f"labels must name the {n_classes} columns of the prediction, got {len(labels)}: "
            f"{labels}. Pass labels=estimator.classes_."
        )
    matches = y_true[:, None] == labels
    known = matches.any(axis=1)
    if not known.all():
        raise ValueError(
            f"y_true must contain labels of the prediction only, {labels}, got also "
            f"{np.unique(y_true[~known])}."
        )
    return matches.argmax(axis=1)


def _check_labels(name, values):
    """Return class labels as an array `(row,)` of values that can be sorted."""
    try:
        values = column_or_1d(values)
        np.unique(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a 1-D array of labels, all text or all numbers: {error}"
        ) from error
    return values


def check_probabilities(y_true, y_proba, labels):
    """Check class probabilities; return the column of each row's class and the probabilities."""
    y_proba = check_real("y_proba", y_proba)
    if y_proba.ndim != 2:
        raise ValueError(
            f"y_proba must have shape (n_samples, n_classes), got {y_proba.shape}. For two "
            "classes, pass both columns of predict_proba(X)."
        )
    index = find_class_index(y_true, y_proba.shape[1], labels)
    if len(index) != len(y_proba):
        raise ValueError(
            f"y_true and y_proba must have as many rows, got {len(index)} and {len(y_proba)}."
        )
    # Sums of float32 probabilities differ from 1 by about 1e-6, sums of logits by far more.
    if y_proba.min() < 0 or np.abs(y_proba.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("y_proba must be probabilities: not negative, with rows that sum to 1.")
    return index, y_proba


def find_bins(values, n_bins):
    """Return the bin of equal width on [0, 1] of each value; bins include their upper edge."""
    check_number_of_bins(n_bins)
    return np.clip(np.ceil(values * n_bins).astype(int) - 1, 0, n_bins - 1)


def check_number_of_bins(n_bins):
    """Raise an error unless there is a positive number of bins."""
    if not isinstance(n_bins, Integral) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}.")


def check_row_weights(sample_weight, n_samples):
    """Check the weights of the rows; None gives equal weights."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = check_real("sample_weight", sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one per row, got {weights.shape}."
        )
    if weights.min() < 0 or weights.sum() == 0:
        raise ValueError("sample_weight must not be negative, and not 0 throughout.")
    return weights


def average(scores, sample_weight):
    """Compute the weighted mean over rows of the mean over outputs."""
    by_row = scores.reshape(len(scores), -1).mean(axis=1)
    return float(np.average(by_row, weights=check_row_weights(sample_weight, len(scores))))
