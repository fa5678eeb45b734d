"""The one way from a user's table to an array of numbers, for `fit` and for prediction.

scikit-learn does most of the checking. This module adds categories, missing values, the names of
columns at fault, and a way out.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import check_array, check_X_y, validate_data

from sk_deltauq._columns import (
    check_labels,
    check_target_is_numbers,
    describe_bad_cells,
    describe_bad_targets,
    is_missing,
    name_columns,
    refuse_masked_cells,
)
from sk_deltauq._tables.categories import find_categories, find_kinds, refuse_other_kinds
from sk_deltauq._tables.encoder import (
    Columns,
    Table,
    TableEncoder,
    read_table,
    warn_about_new_gaps,
)
from sk_deltauq._tables.frames import as_cells, is_frame, list_kinds, list_names

FLOAT_DTYPES = [np.float64, np.float32]
_FLOATS = np.dtype(np.float64), np.dtype(np.float32)


def check_table(estimator, X, y: Any = "no_validation", *, reset: bool, **check_params) -> Any:
    """Check rows and targets with scikit-learn, and name the column at fault and the way out.

    The rows become an array of numbers. With `reset` they may have categories and missing values,
    and are a `Table` then: `encode_training_rows` learns how to encode it from the rows that have
    a weight.

    Raises
    ------
    ValueError
        For all errors of `sklearn.utils.validation.validate_data`, for columns that are neither
        numbers nor categories, for text as a numeric target, and for missing class labels.
    """
    if not reset and isinstance(y, str) and _is_checked(estimator, X):
        return X
    X = _check_container(X)
    if not (y is None or isinstance(y, str)):
        refuse_masked_cells("y", y)
        (check_target_is_numbers if check_params.get("y_numeric") else check_labels)(y)
    # Tensors become arrays here, and nothing is left to dispatch.
    with config_context(array_api_dispatch=False):
        if _needs_reading(estimator, X, reset=reset):
            found = _check_columns(estimator, X, y, reset=reset, **check_params)
        else:
            found = _check_numbers(estimator, X, y, reset=reset, **check_params)
    if isinstance(found, tuple):
        return (_complete(estimator, found[0], reset=reset), *found[1:])
    return _complete(estimator, found, reset=reset)


def encode_training_rows(estimator, X: np.ndarray | Table, weights: np.ndarray) -> np.ndarray:
    """Set `encoder_` of the estimator, and encode the training rows.

    All `weights`, `(row,)`, are positive.
    """
    estimator.encoder_ = None
    if not isinstance(X, Table):
        return X
    if X.columns.categories or np.isnan(X.numbers).any():
        estimator.encoder_ = TableEncoder(X.columns).fit(X, weights)
        return estimator.encoder_.encode(X)
    return X.numbers


def name_inputs(estimator) -> Any:
    """Return the names of the encoded columns, or None if they have no names."""
    if estimator.encoder_ is None:
        return getattr(estimator, "feature_names_in_", None)
    return estimator.encoder_.get_feature_names_out()


def _is_checked(estimator, X) -> bool:
    """Tell whether rows to predict pass all checks without a change, nor a warning.

    For one row, scikit-learn's checks take longer than the networks. A False says nothing: then
    they decide, and find the words.
    """
    if not (
        type(X) is np.ndarray
        and X.dtype in _FLOATS  # in the byte order of the machine
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and X.flags.c_contiguous
        and estimator.encoder_ is None
        and not hasattr(estimator, "feature_names_in_")
    ):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(X.sum())


def _check_container(X):
    """Raise an error for tables that no column can be read from."""
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        raise ValueError("X is a lazy frame. Call its collect() first.")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):  # dates: NumPy has numbers
        raise ValueError(
            f"X holds dates or times, {X.dtype}. Convert them to numbers, such as days since a "
            "start."
        )
    refuse_masked_cells("X", X)
    names = list_names(X) if is_frame(X) else []
    if len(set(names)) < len(names):
        repeated = [p for p, name in enumerate(names) if names.count(name) > 1]
        raise ValueError(
            f"X has duplicate column names, {name_columns(repeated, names)} at positions "
            f"{repeated}. Rename them: names must tell columns apart."
        )
    return X


def _needs_reading(estimator, X, *, reset: bool) -> bool:
    """Tell whether columns of X must be read one by one: categories, or cells of any type."""
    wanted = estimator.categorical_features
    if reset and not (wanted is None or isinstance(wanted, str)):
        return True
    if not reset and estimator.encoder_ is not None and estimator.encoder_.columns.categories:
        return True
    return is_frame(X) and any(kind != "number" for kind in list_kinds(X))


def _check_columns(estimator, X, y, *, reset: bool, **check_params):
    """Check a table whose columns are read one by one; return a `Table`, and the targets."""
    if not is_frame(X):
        as_it_is: Any = {"dtype": None, "ensure_all_finite": False}
        X = check_array(as_cells(X), estimator=estimator, **as_it_is)
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    columns = _find_columns(estimator, X, reset=reset)
    table = read_table(X, columns)
    check: dict[str, Any] = {
        "dtype": FLOAT_DTYPES,
        "ensure_all_finite": _allow_gaps(estimator),
        "ensure_min_features": 0,  # all columns may be categories
        "estimator": estimator,
    }
    gaps = [
        p for p, cells in zip(columns.categories, table.labels.T, strict=True) if None in cells
    ]
    if check["ensure_all_finite"] is True and gaps:
        places = name_columns(gaps, columns.names)
        raise ValueError(f"X has missing values in {places}. {_explain_gaps(estimator)}")
    names = None if columns.names is None else [columns.name(p) for p in columns.numbers]
    with _explain_errors(estimator, table.numbers, y, names):
        if isinstance(y, str):
            check_array(table.numbers, input_name="X", **check)
            return table
        _, y = check_X_y(table.numbers, y, **check, **check_params)
        return table, y


def _find_columns(estimator, X, *, reset: bool) -> Columns:
    """Find the categories of a table, or take them from the fit; refuse other columns."""
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(names)
    kinds, wanted = find_kinds(X), estimator.categorical_features
    if reset:
        categories = find_categories(kinds, wanted, names)
        reason = (
            f"which categorical_features={wanted!r} leaves out. Use "
            "categorical_features='from_dtype', or convert or drop them."
        )
    else:
        encoder = estimator.encoder_
        categories = () if encoder is None else encoder.columns.categories
        reason = "which held numbers when the model was fitted. Convert them to numbers."
    refuse_other_kinds(kinds, categories, names, reason)
    return Columns(names, categories, len(kinds))


def _check_numbers(estimator, X: Any, y, *, reset: bool, **check_params):
    """Check a table of numbers; return an array, NaN for missing values, and the targets."""
    check_params |= {"dtype": FLOAT_DTYPES, "order": "C"}
    check_params["ensure_all_finite"] = _allow_gaps(estimator)
    with _explain_errors(estimator, X, y):
        try:
            return validate_data(estimator, X, y, reset=reset, **check_params)
        except TypeError as error:  # NumPy cannot convert pandas.NA
            if "NAType" not in str(error):
                raise
    cells: Any = np.array(X, dtype=object)
    cells[np.asarray(np.frompyfunc(is_missing, 1, 1)(cells), dtype=bool)] = np.nan
    with _explain_errors(estimator, cells, y):
        return validate_data(estimator, cells, y, reset=reset, **check_params)


def _allow_gaps(estimator) -> Any:
    """Return the argument `ensure_all_finite` of scikit-learn."""
    return "allow-nan" if estimator.missing_values == "indicator" else True


@contextlib.contextmanager
def _explain_errors(estimator, X, y, names=None):
    """Name the cells at fault and the way out in an error of scikit-learn from this block."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if "could not convert string" in message:
            message = (
                f"{describe_bad_cells(X)} {message}. An array must hold numbers: pass a data "
                "frame, whose columns of text become categories, or name the categories in "
                "categorical_features."
            )
        elif "Input X contains" in message:
            way_out = f" {_explain_gaps(estimator)}" if "contains NaN" in message else ""
            message = f"{message}\n{describe_bad_cells(X, names)}{way_out}"
        elif "Input y contains" in message:
            message = f"{message} {describe_bad_targets(y)} Remove such rows."
        else:
            raise
        raise ValueError(message) from error


def _explain_gaps(estimator) -> str:
    return (
        f"{type(estimator).__name__} has missing_values='error'. Impute them, or use "
        "missing_values='indicator'."
    )


def _complete(estimator, X: Any, *, reset: bool) -> np.ndarray | Table:
    """Encode checked rows, unless the encoder is still to be learnt from them."""
    encoder = None if reset else estimator.encoder_
    if isinstance(X, np.ndarray):
        if encoder is None and not np.isnan(X.min()):  # the minimum needs no memory
            return X
        names = getattr(estimator, "feature_names_in_", None)
        columns = Columns(None if names is None else tuple(names), (), X.shape[1])
        X = Table(columns, X, np.empty((len(X), 0), dtype=object))
    if reset:
        return X
    return encoder.encode(X) if encoder is not None else _fill_gaps(estimator, X)


def _fill_gaps(estimator, table: Table) -> np.ndarray:
    """Put means in place of missing values that no training row has."""
    numbers = table.numbers
    rows, columns = np.nonzero(np.isnan(numbers))
    if len(rows):
        warn_about_new_gaps(np.unique(columns), table.columns.names)
        numbers = numbers.copy()
        numbers[rows, columns] = estimator.x_scaler_.mean_[columns]
    return numbers
