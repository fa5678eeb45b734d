"""What comes in: tables of numbers, targets, weights; and the scales that the networks see.

scikit-learn does the checking. Added here are what it does not say (which columns are no numbers,
and what to do about them) and what a network needs (finite scales, constant columns).
"""

from __future__ import annotations

import sys
from numbers import Number

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from sk_deltauq._sklearn import check_sample_weight

FLOAT_DTYPES = [np.float64, np.float32]

# Rows are scaled in chunks of this many, so that no second float64 copy of X is ever made.
_CHUNK_ROWS = 16_384

# A standardised value beyond this is drawn in to it: a sum of a few such products still fits
# float32, and the row is as far away from the data as it will ever be.
_FAR = 1e6

_NOT_NUMBERS = (
    *("category", "categorical", "enum", "str", "utf8", "object"),
    *("date", "duration", "time", "binary", "list", "array", "period", "interval"),
)


def _columns_without_numbers(X) -> list:
    """Names of the text, category and date columns of a data frame (pandas, polars, ...)."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    return [
        name
        for name, dtype in zip(X.columns, X.dtypes, strict=True)
        if str(dtype).lower().startswith(_NOT_NUMBERS)
        and not (str(dtype) == "object" and all(map(_is_number_or_missing, X[name])))
    ]


def _is_number_or_missing(value) -> bool:
    return (
        value is None
        or isinstance(value, Number | np.bool_)
        or value is getattr(sys.modules.get("pandas"), "NA", None)
    )


def check_table(estimator, X, y="no_validation", *, reset: bool, **check_params):
    """`validate_data`, with the way out named where columns are no numbers.

    Raises
    ------
    ValueError
        For all that `sklearn.utils.validation.validate_data` refuses, and for text, category or
        date columns.
    """
    hint = (
        f"{type(estimator).__name__} takes numbers only. Encode the other columns in a pipeline, "
        "for example make_pipeline(ColumnTransformer([('encode', OneHotEncoder(sparse_output="
        f"False), columns)], remainder='passthrough'), {type(estimator).__name__}())."
    )
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        raise ValueError("X is a lazy frame. Call its collect() first.")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):  # dates: NumPy has numbers
        raise ValueError(f"X holds dates or times, {X.dtype}. {hint}")
    if names := _columns_without_numbers(X):
        raise ValueError(f"X has columns that hold text, categories or dates: {names}. {hint}")
    try:
        return validate_data(
            estimator, X, y, reset=reset, dtype=FLOAT_DTYPES, order="C", **check_params
        )
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"X or y holds text: {error}. {hint}") from error
        raise


def check_weights(sample_weight, X) -> np.ndarray:
    """Weights as float64, at least zero and not all zero, see `scale_weights`."""
    weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.max() > 0:
        raise ValueError(
            "sample_weight must hold at least one positive weight, but all weights are zero. "
            "Weigh at least one row, or leave sample_weight out."
        )
    return scale_weights(weights)


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Scale to a maximum of one: only ratios count. What is too small for float32 is zero."""
    weights = weights / weights.max()
    return np.where(weights < np.finfo(np.float32).tiny, 0.0, weights)


def _fit_scaler(values: np.ndarray, weights: np.ndarray, name: str):
    """Fit a `StandardScaler` chunk by chunk, and tell which columns are constant."""
    scaler = StandardScaler()
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in gen_batches(len(values), _CHUNK_ROWS):
            scaler.partial_fit(values[rows], sample_weight=weights[rows])
    spread = np.sqrt(scaler.var_)
    if _varies_without_variance(values, spread).any():
        raise ValueError(
            f"{name} has values too small for their variance to be computed in float64 (largest "
            f"magnitude {np.abs(values).max():.3g}). Rescale {name}."
        )
    if not (np.isfinite(spread).all() and np.isfinite(scaler.mean_).all()):
        columns = np.flatnonzero(~np.isfinite(spread)).tolist()
        raise ValueError(
            f"{name} has values too large for their variance to be computed in float64 "
            f"(column {columns}, largest magnitude {np.abs(values).max():.3g}). Rescale {name}, "
            "or remove the outliers."
        )
    # StandardScaler replaces the scale of a column that is constant up to rounding.
    return scaler, scaler.scale_ != spread


def _varies_without_variance(values, spread):
    """Columns whose squares underflow."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (spread == 0) & (low < high) & (np.maximum(-low, high) < 1e-140)


def fit_input_scaler(X: np.ndarray, weights: np.ndarray, *, more_to_come=False):
    """Mean and scale of each column of X; a constant column is scaled to zero, so it is ignored.

    Nothing can be learnt from such a column, and a new value in it must not reach weights that
    were never trained. With `more_to_come` its scale is one: it may yet vary.
    """
    scaler, constant = _fit_scaler(X, weights, "X")
    scaler.scale_ = np.where(constant, 1.0 if more_to_come else np.inf, scaler.scale_)
    scaler.constant_ = constant & (not more_to_come)
    return scaler


def fit_target_scaler(Y: np.ndarray, weights: np.ndarray, *, more_to_come=False):
    """Mean and scale of each target; that of a constant target is the resolution of float64.

    So a constant target is predicted as it is, with a std of about its rounding error. With
    `more_to_come` it may yet vary, and its scale is its size.
    """
    scaler, constant = _fit_scaler(Y, weights, "y")
    eps = np.finfo(np.float64).eps
    size = np.abs(scaler.mean_)
    resolution, size = eps * np.maximum(size, eps), np.where(size > 0, size, 1.0)
    scaler.scale_ = np.where(constant, size if more_to_come else resolution, scaler.scale_)
    scaler.constant_ = constant & (not more_to_come)
    return scaler


def check_still_constant(values: np.ndarray, scaler: StandardScaler, name: str) -> None:
    """Refuse to go on from a fit where a column that was constant then varies now.

    Its scale is that of a constant: nothing could be learnt along it, without a word.
    """
    moved = scaler.constant_ & ~np.isclose(values, scaler.mean_, rtol=1e-12, atol=0).all(axis=0)
    if moved.any():
        raise ValueError(
            f"{name} varies in column {np.flatnonzero(moved).tolist()}, which was constant in the "
            "fit that training would go on from. Start afresh: fit with warm_start=False."
        )


def scaled_tensor(values: np.ndarray, scaler: StandardScaler, n_rows: int | None = None):
    """Standardise to a float32 tensor, in chunks; `n_rows` pads it with rows of zeros."""
    n_rows = len(values) if n_rows is None else n_rows
    out = np.zeros((n_rows, values.shape[1]), dtype=np.float32)
    for start in range(0, len(values), _CHUNK_ROWS):  # gen_batches checks its arguments for long
        rows = slice(start, min(start + _CHUNK_ROWS, len(values)))
        with np.errstate(over="ignore"):  # infinity is drawn in like any other far value
            scaled = (values[rows] - scaler.mean_) / scaler.scale_
        np.clip(scaled, -_FAR, _FAR, out=out[rows], casting="same_kind")
    return torch.from_numpy(out)


def layer_sizes(sizes) -> tuple[int, ...]:
    """`hidden_layer_sizes` as a tuple of positive ints."""
    sizes = np.atleast_1d(np.asarray(sizes))
    if sizes.ndim != 1 or (len(sizes) and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise ValueError(
            "hidden_layer_sizes must be a positive int or a sequence of them, got "
            f"{sizes.tolist()}."
        )
    return tuple(int(size) for size in sizes)
