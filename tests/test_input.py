"""Any input gives either a valid model or an error that says what to do."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError

from tests._helpers import (
    ESTIMATORS,
    N,
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
    regressor,
    table,
    target,
)


@pytest.fixture(scope="module")
def references():
    """Predictions of each estimator when it is fitted on the plain table."""
    return {make: predict_all(make().fit(table(), target(make)), table()) for make in ESTIMATORS}


# Containers and dtypes: equal numbers give equal models


def frame(library, dtype):
    columns = dict(zip("abc", table().T, strict=True))
    if library == "pandas":
        return pd.DataFrame(columns).astype(dtype)
    return pl.DataFrame(columns).cast(dtype)


def memory_mapped(tmp_path):
    joblib.dump(table(), tmp_path / "X")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    return mapped


def read_only(array):
    array.flags.writeable = False
    return array


CONTAINERS = {
    **{name: lambda _, name=name: table(name) for name in ("f4", "f2", ">f8", "i8", "i1", "u2")},
    "object": lambda _: table(object),
    "lists": lambda _: table().tolist(),
    "Fortran order": lambda _: np.asfortranarray(table()),
    "strided": lambda _: np.repeat(table(), 2, axis=1)[:, ::2],
    "negative strides": lambda _: table()[:, ::-1].copy()[:, ::-1],
    "read-only": lambda _: read_only(table()),
    "read-only float32": lambda _: read_only(table("f4")),
    "memory map": memory_mapped,
    "pandas": lambda _: frame("pandas", float),
    "pandas float32": lambda _: frame("pandas", "float32"),
    "pandas object": lambda _: frame("pandas", object),
    "pandas Int64": lambda _: frame("pandas", "Int64"),
    "pandas Float64": lambda _: frame("pandas", "Float64"),
    "pandas mixed": lambda _: frame("pandas", {"a": "Int8", "b": "float32", "c": object}),
    "pandas odd index": lambda _: frame("pandas", float).set_index(np.arange(N)[::-1] * 3),
    "polars": lambda _: frame("polars", pl.Float64),
    "polars Int16": lambda _: frame("polars", pl.Int16),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_and_dtypes_of_equal_numbers_give_the_same_model(
    make, y, name, tmp_path, references
):
    X = CONTAINERS[name](tmp_path)
    copy = np.array(X, dtype=float)
    model = make().fit(X, y)
    found = predict_all(model, X)
    assert all(value.dtype == references[make][name].dtype for name, value in found.items())
    assert_same_predictions(found, references[make])
    np.testing.assert_array_equal(np.array(X, dtype=float), copy, err_msg="the caller's data")


@pytest.mark.parametrize("dtype", [bool, "boolean", pl.Boolean], ids=str)
def test_bool_columns_are_zeros_and_ones(make, y, dtype):
    flags = table()[:, :2] > 4
    if dtype is bool:
        X = flags
    elif dtype == "boolean":
        X = pd.DataFrame(flags, columns=["a", "b"]).astype(dtype)
    else:
        X = pl.DataFrame(flags, schema=["a", "b"])
    assert_same_predictions(
        predict_all(make().fit(X, y), X), predict_all(make().fit(flags.astype(float), y), flags)
    )


def as_list(y):
    return y.tolist()


@pytest.mark.parametrize("container", [as_list, pd.Series, pl.Series, read_only])
def test_y_and_weights_may_be_in_any_container(make, y, container):
    X, weights = table(), np.linspace(1, 2, N)
    reference = predict_all(make().fit(X, y, sample_weight=weights), X)
    assert_same_predictions(
        predict_all(make().fit(X, container(y), sample_weight=container(weights)), X), reference
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "i4", "i8", "u1", "bool", "Int64", "Float32", "O"])
def test_y_may_have_any_number_dtype(dtype):
    X = table()
    y = X[:, 0] > 4
    found = predict_all(regressor().fit(X, pd.Series(y).astype("int64").astype(dtype)), X)
    assert_same_predictions(found, predict_all(regressor().fit(X, y.astype(float)), X))


@pytest.mark.parametrize("library", [pd, pl])
def test_several_outputs_may_be_a_data_frame(library):
    X = table()
    y = X @ np.array([[1.0, 0], [2, 1], [0, 5]])
    found = predict_all(regressor().fit(X, library.DataFrame({"u": y[:, 0], "v": y[:, 1]})), X)
    for method, value in predict_all(regressor().fit(X, y), X).items():
        np.testing.assert_allclose(found[method], value, rtol=1e-12, err_msg=method)


def test_the_index_of_a_frame_is_ignored(make, y):
    X = pd.DataFrame(table(), columns=list("abc"), index=np.arange(N)[::-1])
    weights = pd.Series(np.linspace(1, 2, N), index=np.roll(np.arange(N), 3))
    found = predict_all(
        make().fit(X, pd.Series(y, index=np.arange(N) + 5), sample_weight=weights), X
    )
    plain = make().fit(X, y, sample_weight=weights.to_numpy())
    assert_same_predictions(found, predict_all(plain, X))


# Text, duplicate names and labels; tests/_tables has more tests of columns


@pytest.mark.parametrize("dtype", [object, str, "S5"], ids=str)
def test_text_in_an_array_is_rejected_with_advice(make, y, dtype):
    with pytest.raises(ValueError, match=r"could not convert string.*pass a data frame"):
        make().fit(np.full((N, 2), "red", dtype=dtype), y)


@pytest.mark.parametrize("dtype", [object, str, "S5"], ids=str)
def test_text_as_the_target_of_a_regressor_is_rejected(dtype):
    y = np.array(["red"] * N, dtype=dtype)
    with pytest.raises(ValueError, match="y must hold numbers, got text in row 0"):
        regressor().fit(table(), y)


def test_text_and_missing_values_in_an_array_are_named_in_one_message(make, y):
    X = table(object)
    X[3, 1], X[5, 0] = "red", None
    with pytest.raises(ValueError, match=r"text in column 1 .*row 3.*missing values in column 0"):
        make().fit(X, y)


def test_duplicate_column_names_are_rejected(make, y):
    X = pd.DataFrame(table(), columns=["a", "b", "a"])
    message = r"duplicate column names, columns 'a', 'a' at positions \[0, 2\]. Rename"
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)
    model = make().fit(X.set_axis(["a", "b", "c"], axis=1), y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT], ids=str)
def test_missing_labels_are_rejected_with_advice(missing):
    labels = np.array(["u", "v"] * (N // 2), dtype=object)
    labels[[3, 8]] = missing
    with pytest.raises(ValueError, match=r"y has 2 missing labels .*rows 3, 8.*Remove"):
        classifier().fit(table(), labels)


def test_labels_of_mixed_types_are_rejected():
    labels = np.array(["u", 1] * (N // 2), dtype=object)
    with pytest.raises(ValueError, match=r"y mixes text and other labels, such as 'u' and 1"):
        classifier().fit(table(), labels)


# Missing, infinite and complex values, and sparse tables


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None, pd.NA], ids=str)
def test_nan_and_infinity_in_x_are_rejected(make, y, bad):
    X = table(object)
    X[3, 1] = bad
    if bad is pd.NA:
        X = pd.DataFrame(X).astype("Float64")
    is_infinite = isinstance(bad, float) and np.isinf(bad)
    word = "infinity.*infinite" if is_infinite else "NaN.*missing"
    word += r" values in column 1 \(first in row 3\)"
    word += "" if is_infinite else ".*Impute them, or use missing_values='indicator'"
    with pytest.raises(ValueError, match=f"(?s){word}"):
        make(missing_values="error").fit(X, y)
    model = make(missing_values="error").fit(table(), y)
    with pytest.raises(ValueError, match=f"(?s){word}"):
        model.predict(X)
    with pytest.raises(ValueError, match=f"(?s){word}"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_in_y_are_rejected(make, bad):
    y = np.arange(N) % 2.0
    y[5] = bad
    with pytest.raises(
        ValueError, match=r"y contains (NaN|infinity).* in row 5. Remove such rows"
    ):
        make().fit(table(), y)


@pytest.mark.parametrize("dtype", [float, object, "Float64"], ids=str)
def test_error_names_the_column_with_missing_values(make, y, dtype):
    X = pd.DataFrame(table(), columns=list("abc")).astype(dtype)
    X.iloc[7, 2] = np.nan if dtype is float else pd.NA
    with pytest.raises(ValueError, match=r"missing values in column 'c' \(first in row 7\)"):
        make(missing_values="error").fit(X, y)


def test_pandas_na_in_the_target_of_a_regressor_is_rejected():
    y = pd.Series(target(regressor)).astype(object)
    y[4] = pd.NA
    with pytest.raises(ValueError, match="y contains NaN or another missing value in row 4"):
        regressor().fit(table(), y)


def test_complex_numbers_are_rejected(make, y):
    with pytest.raises(ValueError, match="Complex data not supported"):
        make().fit(table() + 1j, y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        make().fit(table(), np.arange(N) + 1j)
    with pytest.raises(ValueError, match="Complex data not supported"):
        make().fit(table(), y).predict(table() + 1j)
    frame = pd.DataFrame({"z": table()[:, 0] + 1j, "c": ["a", "b"] * (N // 2)})
    with pytest.raises(ValueError, match="column 'z' with complex numbers"):
        make().fit(frame, y)


@pytest.mark.parametrize(
    "sparse", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array]
)
def test_sparse_tables_are_rejected_with_advice(make, y, sparse):
    with pytest.raises(TypeError, match="toarray"):
        make().fit(sparse(table()), y)
    with pytest.raises(TypeError, match="toarray"):
        make().fit(table(), y).predict(sparse(table()))


# Shapes


def test_empty_tables_are_rejected(make, y):
    model = make().fit(table(), y)
    for call in (lambda X: make().fit(X, y[: len(X)]), model.predict, model.predict_uncertainty):
        with pytest.raises(ValueError, match="0 sample"):
            call(table()[:0])
        with pytest.raises(ValueError, match="0 feature"):
            call(table()[:, :0])


def test_wrong_shapes_are_rejected(make, y):
    X = table()
    model = make().fit(X, y)
    for method in (model.predict, model.predict_uncertainty, model.predict_dist):
        with pytest.raises(ValueError, match=r"2 features, but .* is expecting 3 features"):
            method(X[:, :2])
        with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
            method(X[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        make().fit(X, None)
    with pytest.raises(ValueError, match="dim"):
        make().fit(X[None], y)


def test_misspelt_keyword_raises_an_error(make, y):
    with pytest.raises(TypeError, match="return_sdt"):
        make().fit(table(), y).predict(table(), return_sdt=True)


@pytest.mark.parametrize(
    "method", ["predict", "predict_uncertainty", "predict_dist", "score", "own"]
)
def test_unfitted_estimator_raises_an_error(make, y, method):
    if method == "own":
        methods = ["predict_interval", "predict_quantiles", "sample_y"]
        methods = methods if make is regressor else ["predict_proba", "predict_log_proba"]
    else:
        methods = [method]
    for name in methods:
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(make(), name)(table(), *([y] if name == "score" else []))


def test_one_row_to_predict(make, y, references):
    found = predict_all(make().fit(table(), y), table()[:1])
    expected = {method: value[:1] for method, value in references[make].items()}
    if "sample_y" in found:  # each call draws new samples
        assert found.pop("sample_y").shape == (1, 2)
        del expected["sample_y"]
    assert_close_predictions(expected, found)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_to_fit(make, y, n):
    X = table()
    model = make(n_members=2).fit(X[:n], y[:n])
    assert_finite(predict_all(model, X))
    assert len(model.anchors_) == n
    if n == 1:
        np.testing.assert_array_equal(model.predict(X), np.repeat(y[:1], N))


def test_too_few_rows_to_hold_out_are_rejected(make, y):
    with pytest.raises(ValueError, match=r"early_stopping=True needs at least .* n_samples=8"):
        make(early_stopping=True).fit(table()[:8], y[:8])


def test_one_feature(make, y):
    X = table()[:, :1]
    assert_finite(predict_all(make().fit(X, y), X))


def test_more_anchors_than_rows(make, y):
    model = make(n_anchors=500).fit(table(), y)
    n_distinct = len(np.unique(table(), axis=0))
    assert model.anchors_.shape == (n_distinct, 3)
    assert model.n_components_ == n_distinct
    assert_finite(predict_all(model, table()))


def test_a_batch_larger_than_the_data(make, y):
    X = table()
    found = predict_all(make(batch_size=10_000).fit(X, y), X)
    assert_same_predictions(found, predict_all(make(batch_size=N).fit(X, y), X))


def test_a_column_vector_is_flattened_with_scikit_learns_warning(make, y):
    X = table()
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = make().fit(X, y[:, None])
    assert_same_predictions(predict_all(model, X), predict_all(make().fit(X, y), X))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_diverging_training_raises_an_error_with_advice(make, y, early_stopping):
    model = make(learning_rate_init=1e35, max_iter=20, early_stopping=early_stopping)
    with pytest.raises(ValueError, match=r"Training diverged.*Lower learning_rate_init"):
        model.fit(table(), y)
    with pytest.raises(NotFittedError):
        model.predict(table())


def test_lazy_frame_is_rejected_with_advice_to_collect_it(make, y):
    frame = pl.DataFrame(table(), schema=["a", "b", "c"]).lazy()
    with pytest.raises(ValueError, match=r"lazy frame.*collect"):
        make().fit(frame, y)


def test_none_and_dates_among_the_targets_are_rejected(regression_data):
    X, y = regression_data
    missing = y.astype(object)
    missing[7] = None
    for early_stopping in (False, True):
        with pytest.raises(ValueError, match="y contains NaN"):
            regressor(early_stopping=early_stopping).fit(X, missing)
    with pytest.raises(ValueError, match="y must hold numbers, got dates"):
        regressor().fit(X, np.arange(len(y)).astype("datetime64[D]"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m, X: m.predict_interval(X, coverage="0.9"),
            "coverage must be one number strictly between 0 and 1",
        ),
        (
            lambda m, X: m.predict_interval(X, coverage=1.0),
            "coverage must be one number strictly between 0 and 1",
        ),
        (lambda m, X: m.sample_y(X, -1), "n_samples == -1, must be >= 1"),
        (lambda m, X: m.predict_quantiles(X, [0.5, 1.5]), r"in \[0, 1\]"),
    ],
    ids=["text", "one", "negative", "quantile"],
)
def test_arguments_of_predictions_are_checked(regression_data, call, message):
    X, y = regression_data
    with pytest.raises((ValueError, TypeError), match=message):
        call(regressor().fit(X, y), X)
