"""The encoder equals a column transformer of scikit-learn, and warns about unusual columns."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from sk_deltauq._tables.encoder import Columns, TableEncoder, read_table
from sk_deltauq.exceptions import UncertaintyWarning
from tests._tables._frames import N, make_frame, to_arrow

COLUMNS = Columns(tuple(make_frame()), categories=(1, 2), n_columns=5)


def fit_encoder(X=None, columns=COLUMNS):
    X = make_frame() if X is None else X
    return TableEncoder(columns).fit(read_table(X, columns))


def test_encoded_rows_equal_a_column_transformer():
    X = make_frame().astype({"member": float, "visits": float, "town": object, "grade": object})
    reference = make_column_transformer(
        (SimpleImputer(add_indicator=True), ["age", "member", "visits"]),
        (OneHotEncoder(sparse_output=False), ["town", "grade"]),
        verbose_feature_names_out=False,
    )
    expected = reference.fit_transform(X)
    encoder = fit_encoder()
    found = encoder.transform(make_frame())
    assert found.shape == (N, 3 + 3 + 4 + 4)
    np.testing.assert_allclose(found, expected)
    names = [name.replace("_nan", "_None") for name in reference.get_feature_names_out()]
    assert [name.replace(".0", "") for name in names] == encoder.get_feature_names_out().tolist()


def test_pyarrow_tables_and_a_copy_have_the_same_encoding():
    encoder = fit_encoder()
    expected = encoder.transform(make_frame())
    np.testing.assert_array_equal(encoder.transform(to_arrow(make_frame())), expected)
    copied = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(copied.transform(make_frame()), expected)


def test_tables_can_be_indexed_by_rows():
    table = read_table(make_frame(), COLUMNS)
    assert len(table) == N
    chosen = np.arange(N) % 3 == 0
    part = read_table(make_frame()[chosen].reset_index(drop=True), COLUMNS)
    np.testing.assert_array_equal(table[chosen].numbers, part.numbers)
    np.testing.assert_array_equal(table[chosen].labels, part.labels)


def test_an_unseen_level_sets_no_input():
    encoder, X = fit_encoder(), make_frame().iloc[:1]
    names = encoder.get_feature_names_out()
    town_inputs = np.char.startswith(names.astype(str), "town_")
    assert encoder.transform(X)[0, town_inputs].sum() == 1
    assert encoder.transform(X.assign(town="Paris"))[0, town_inputs].sum() == 0


def test_the_rarest_of_many_levels_share_an_input():
    labels = np.r_[np.repeat(np.arange(260), 3), np.repeat(np.arange(200), 3)].astype(str)
    X, columns = pd.DataFrame({"id": labels}), Columns(("id",), (0,), 1)
    with pytest.warns(UncertaintyWarning, match=r"260 levels in column 'id' .*Only the 255 most"):
        encoder = fit_encoder(X, columns)
    assert encoder.transform(X).shape[1] == 256
    assert encoder.get_feature_names_out()[-1] == "id_infrequent_sklearn"
    unseen = encoder.transform(pd.DataFrame({"id": ["new"]}))
    assert np.flatnonzero(unseen[0]).tolist() == [255]
    assert encoder.count_levels().tolist() == [1] * 255 + [5]


def test_inputs_hold_one_level_each():
    encoder = fit_encoder()
    assert encoder.count_levels().tolist() == [1] * len(encoder.get_feature_names_out())


@pytest.mark.parametrize(
    ("labels", "advice"),
    [
        ([f"row {i}" for i in range(40)], "Merge levels, .*Drop it if it only identifies rows"),
        ([str(i / 2) for i in range(40)], "numbers written as text: convert the column"),
    ],
)
def test_categories_with_almost_only_unique_levels_cause_a_warning(labels, advice):
    columns = Columns(("id",), (0,), 1)
    with pytest.warns(UncertaintyWarning, match=f"40 levels in column 'id' of 40 rows.*{advice}"):
        fit_encoder(pd.DataFrame({"id": labels}), columns)


def test_a_column_without_values_causes_a_warning_and_is_ignored():
    X = make_frame().assign(age=np.nan)
    with pytest.warns(UncertaintyWarning, match="only missing values in column 'age'"):
        encoder = fit_encoder(X)
    filled = encoder.transform(X)
    position = encoder.get_feature_names_out().tolist().index("age")
    assert (filled[:, position] == 0).all()


def test_new_missing_values_cause_a_warning():
    complete = make_frame().dropna().reset_index(drop=True)
    encoder = fit_encoder(complete)
    X = complete.iloc[:2].copy()
    X.loc[0, "age"] = np.nan
    with pytest.warns(UncertaintyWarning, match="missing values in column 'age', where the train"):
        filled = encoder.transform(X)
    np.testing.assert_allclose(filled[0, 0], complete["age"].mean())
    X = complete.iloc[:2].assign(town=None)  # in a category, a missing value is an unseen level
    assert encoder.transform(X).shape == filled.shape


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("town", 1.5, "numbers in column 'town', a category that held text"),
        ("grade", "1", "text in column 'grade', a category that held numbers"),
    ],
)
def test_categories_of_another_type_are_rejected(column, cells, message):
    with pytest.raises(ValueError, match=message):
        fit_encoder().transform(make_frame().assign(**{column: cells}))


def test_means_are_weighted_like_repeated_rows():
    X, columns = make_frame()[["age", "visits"]], Columns(("age", "visits"), (), 2)
    weights = np.random.default_rng(1).integers(1, 5, N)
    table = read_table(X, columns)
    found = TableEncoder(columns).fit(table, weights / weights.max()).encode(table)
    repeated = TableEncoder(columns).fit(table[np.repeat(np.arange(N), weights)])
    np.testing.assert_allclose(found, repeated.encode(table), rtol=1e-14)
    expected = [np.average(X[c].dropna(), weights=weights[X[c].notna()]) for c in X]
    np.testing.assert_allclose(found[3, 0], expected[0])
    np.testing.assert_allclose(found[30, 1], expected[1])
    equal = TableEncoder(columns).fit(table, np.ones(N)).encode(table)
    np.testing.assert_array_equal(equal, fit_encoder(X, columns).encode(table))


def test_a_column_without_values_has_no_weighted_mean():
    columns = Columns(None, (), 2)
    table = read_table(np.array([[np.nan, 1.0], [np.nan, 4.0]]), columns)
    with pytest.warns(UncertaintyWarning, match="only missing values in column 0"):
        encoder = TableEncoder(columns).fit(table, np.array([1.0, 0.5]))
    assert encoder.imputer_ is not None
    assert encoder.imputer_.statistics_.tolist() == [0, 2]


def test_names_of_inputs_are_unique():
    columns = Columns(("c", "c_x", "c_None_2"), (0,), 3)
    X = pd.DataFrame({"c": ["None", None, "x"], "c_x": [1.0, 2, 3], "c_None_2": [1.0, 2, 3]})
    names = fit_encoder(X, columns).get_feature_names_out().tolist()
    assert names == ["c_x", "c_None_2", "c_None", "c_x_2", "c_None_3"]


def test_only_categories_or_only_numbers():
    X = make_frame()[["town"]]
    encoder = fit_encoder(X, Columns(("town",), (0,), 1))
    assert encoder.imputer_ is None
    assert encoder.transform(X).sum(axis=1).tolist() == [1] * N
    X = np.array([[1.0, np.nan], [3.0, 2.0]])
    encoder = fit_encoder(X, Columns(None, (), 2))
    assert encoder.one_hot_ is None
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "missingindicator_x1"]
    np.testing.assert_array_equal(encoder.transform(X), [[1, 2, 1], [3, 2, 0]])
    np.testing.assert_array_equal(encoder.transform(X.tolist()), [[1, 2, 1], [3, 2, 0]])
