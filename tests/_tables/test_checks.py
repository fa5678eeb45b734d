"""Tables in estimators: accepted tables, and the messages of errors."""

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from sk_deltauq import baselines
from sk_deltauq._tables import checks
from sk_deltauq.exceptions import UncertaintyWarning
from tests._helpers import (
    ONE_PER_METHOD,
    assert_finite,
    assert_same_predictions,
    classifier,
    mark_long,
    predict_all,
    regressor,
    table,
    target,
)
from tests._tables._frames import N, make_frame, make_target, to_arrow, to_polars


@pytest.fixture
def X():
    return make_frame()


@pytest.fixture
def y(make):
    return make_target() if make is regressor else np.where(make_target() > 5, "high", "low")


@pytest.mark.parametrize("name", mark_long(baselines.__all__, ONE_PER_METHOD))
def test_every_method_accepts_tables(name, X):
    model = getattr(baselines, name)(max_iter=2, early_stopping=False, random_state=0)
    y = make_target() if name.endswith("Regressor") else make_target() > 5
    found = model.fit(X, y).predict(X)
    assert found.shape == (N,)
    assert model.n_features_in_ == 5
    assert model.encoder_.transform(X).shape == (N, 14)


def test_a_table_equals_its_encoded_array(make, X, y):
    model = make().fit(X, y)
    assert model.feature_names_in_.tolist() == list(X)
    encoded = model.encoder_.transform(X)
    plain = make().fit(encoded, y)
    assert plain.encoder_ is None
    found = predict_all(model, X)
    assert_same_predictions(found, predict_all(plain, encoded))
    assert_same_predictions(found, predict_all(pickle.loads(pickle.dumps(model)), X))
    assert_same_predictions(found, predict_all(clone(model).fit(X, y), X))


@pytest.mark.parametrize("convert", [to_polars, to_arrow])
def test_polars_and_pyarrow_predict_the_same_as_pandas(make, X, y, convert):
    X["grade"] = X["grade"].map({1: "a", 2: "b", 3: "c"})  # polars has no categories of numbers
    expected = predict_all(make().fit(X, y), X)
    model = make().fit(convert(X), y)
    assert model.feature_names_in_.tolist() == list(X)
    assert_same_predictions(predict_all(model, convert(X)), expected)
    assert_same_predictions(predict_all(model, X), expected)


@pytest.mark.parametrize("wanted", [["kind"], [1], [False, True]], ids=str)
def test_categories_may_be_given_by_name_position_or_mask(make, wanted):
    X = pd.DataFrame({"size": np.arange(40.0), "kind": np.arange(40) % 3})
    y = X["kind"] * 2 + (make is regressor) * X["size"]
    model = make(categorical_features=wanted).fit(X, y)
    assert model.encoder_.get_feature_names_out().tolist() == [
        "size",
        "kind_0",
        "kind_1",
        "kind_2",
    ]
    if wanted != ["kind"]:
        for array in (X.to_numpy(), X.to_numpy(dtype=object), X.to_numpy().tolist()):
            found = make(categorical_features=wanted).fit(array, y)
            assert_same_predictions(predict_all(found, array), predict_all(model, X))


def test_arrays_of_objects_may_have_categories(make):
    X = np.array([[i, ["red", "blue"][i % 2]] for i in range(40)], dtype=object)
    y = np.arange(40) % 2
    model = make(categorical_features=[1]).fit(X, y)
    assert model.encoder_.get_feature_names_out().tolist() == ["x0", "x1_blue", "x1_red"]
    assert_finite(predict_all(model, X))


def test_missing_numbers_in_an_array(make, X, y):
    numbers = X[["age", "visits"]].to_numpy(dtype=float, na_value=np.nan)
    model = make().fit(numbers, y)
    assert model.encoder_.get_feature_names_out().tolist()[2:] == [
        "missingindicator_x0",
        "missingindicator_x1",
    ]
    assert_finite(predict_all(model, numbers))
    single = make().fit(numbers.astype(np.float32), y)
    assert single.encoder_.transform(numbers.astype(np.float32)).shape == (N, 4)


def test_numbers_need_no_encoder(make, y):
    X = make_frame()[["age"]].fillna(40).assign(n=np.arange(N))
    for frame in (X, X.to_numpy(), to_polars(X), to_arrow(X), X.astype(object)):
        assert make().fit(frame, y).encoder_ is None


def test_without_encoder_missing_values_become_the_mean_with_a_warning(make, y):
    X = np.arange(3.0 * N).reshape(N, 3)
    model = make().fit(X, y)
    incomplete = X.copy()
    incomplete[4, 1] = np.nan
    filled = X.copy()
    filled[4, 1] = X[:, 1].mean()
    with pytest.warns(UncertaintyWarning, match="missing values in column 1, where the training"):
        found = model.predict(incomplete)
    np.testing.assert_array_equal(found, model.predict(filled))
    objects = pd.DataFrame(incomplete, dtype=object)
    with pytest.warns(UncertaintyWarning, match="missing values in column 1"):
        np.testing.assert_array_equal(model.predict(objects), found)
    with pytest.warns(UncertaintyWarning, match="missing values in column 1"):
        model.partial_fit(incomplete, y)


def test_rows_of_weight_zero_are_ignored(make, X, y):
    weights = np.r_[np.zeros(10), np.ones(N - 10)]
    X.loc[0, "town"] = "Paris"
    model = make().fit(X, y, sample_weight=weights)
    kept = X.iloc[10:]
    assert_same_predictions(predict_all(model, X), predict_all(make().fit(kept, y[10:]), X))
    assert "town_Paris" not in model.encoder_.get_feature_names_out()


def test_class_weights_of_zero_are_ignored(X):
    y = np.r_[["a"] * 20, ["b"] * 20, ["c"] * (N - 40)]
    X.loc[:19, "town"] = "Paris"
    model = classifier(class_weight={"a": 0, "b": 1, "c": 1}).fit(X, y)
    assert "town_Paris" not in model.encoder_.get_feature_names_out()


def test_partial_fit_keeps_the_first_encoder(make, X, y):
    rows, more = X.iloc[:40].copy(), X.iloc[40:].copy()
    more["town"] = "Paris"
    keywords = {} if make is regressor else {"classes": ["high", "low"]}
    model = make().partial_fit(rows, y[:40], **keywords)
    encoder, names = model.encoder_, model.encoder_.get_feature_names_out()
    model.partial_fit(more, y[40:])
    assert model.encoder_ is encoder
    assert model.encoder_.get_feature_names_out().tolist() == names.tolist()
    assert_finite(predict_all(model, X))


def test_warm_start_keeps_the_encoder(make, X, y):
    model = make(warm_start=True).fit(X, y)
    encoder = model.encoder_
    assert model.fit(X.assign(town="Rome"), y).encoder_ is encoder
    model.set_params(warm_start=False).fit(X.assign(town="Rome"), y)
    assert model.encoder_ is not encoder


def test_validation_rows_and_groups(make, X, y):
    model = make(early_stopping="auto")
    model.fit(X.iloc[:40], y[:40], X_val=X.iloc[40:].assign(town="Paris"), y_val=y[40:])
    assert "town_Paris" not in model.encoder_.get_feature_names_out()
    assert_finite(predict_all(model, X))
    model.fit(X, y, groups=np.arange(N) // 4)
    assert_finite(predict_all(model, X))


def test_target_transform_auto_sees_encoded_rows():
    X = pd.concat([make_frame()] * 2, ignore_index=True)
    y = np.exp(np.tile(make_target(), 2) / 3 + np.linspace(0, 1, 2 * N))
    model = regressor(target_transform="auto", categorical_features=["town", "grade"])
    assert_finite(predict_all(model.fit(X, y), X))


def test_conformalize_accepts_tables(X):
    model = regressor().fit(X, make_target())
    model.conformalize(X, make_target() + np.linspace(-1, 1, N))
    assert model.predict_interval(X, method="conformal").shape == (N, 2)


def test_a_constant_category_changes_nothing(make, X, y):
    model = make().fit(X.assign(town="Rome"), y)
    found = predict_all(model, X.assign(town="Rome"))
    assert_same_predictions(predict_all(model, X.assign(town="Oslo")), found)


def test_the_table_of_the_user_is_not_changed(make, X, y):
    before = X.copy()
    model = make().fit(X, y)
    model.predict(X)
    pd.testing.assert_frame_equal(X, before)


def test_a_failed_fit_keeps_the_encoder(make, X, y):
    model = make().fit(X, y)
    encoder = model.encoder_
    with pytest.raises(ValueError, match="dates or times"):
        model.fit(X.assign(day=datetime.date(2026, 1, 1)), y)
    assert model.encoder_ is encoder


# Errors


@pytest.mark.parametrize("convert", [pd.DataFrame, to_polars, to_arrow])
def test_the_error_about_dates_explains_the_conversion(make, X, y, convert):
    X = X.assign(day=pd.date_range("2026", periods=N))
    with pytest.raises(ValueError, match=r"column 'day' with dates or times. Convert them"):
        make().fit(convert(X), y)


def test_text_and_numbers_in_one_column_are_rejected(make, X, y):
    X = X.assign(odd=np.array([1.0, "red"] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match=r"column 'odd' with text and numbers.*astype\(str\)"):
        make().fit(X, y)
    X["odd"] = X["odd"].astype(str)
    assert_finite(predict_all(make().fit(X, y), X))


def test_text_in_columns_that_are_no_categories_is_rejected(make, X, y):
    message = (
        "columns 'town', 'grade' with text or categories, which categorical_features=None leaves "
        "out. Use categorical_features='from_dtype'"
    )
    with pytest.raises(ValueError, match=message):
        make(categorical_features=None).fit(X, y)
    with pytest.raises(ValueError, match=r"column 'grade' .*categorical_features=\['town'\]"):
        make(categorical_features=["town"]).fit(X, y)


def test_missing_values_may_be_errors(make, X, y):
    model = make(missing_values="error")
    with pytest.raises(ValueError, match=r"columns 'town', 'grade'. .*missing_values='indicator'"):
        model.fit(X, y)
    X = X.assign(town="Rome", grade="1")
    message = r"(?s)contains NaN.*column.* 'age', 'member', 'visits' \(first in row 2\).*Impute"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    model.fit(X.dropna().reset_index(drop=True), y[: len(X.dropna())])
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_the_error_about_infinity_names_the_column(make, X, y):
    X.loc[4, "age"] = np.inf
    with pytest.raises(ValueError, match=r"(?s)infinity.*column 'age' \(first in row 4\)"):
        make().fit(X, y)


def test_predict_rejects_columns_of_another_kind(make, X, y):
    model = make().fit(X, y)
    with pytest.raises(ValueError, match=r"column 'age' with text .*held numbers when the model"):
        model.predict(X.assign(age="old"))
    with pytest.raises(ValueError, match="numbers in column 'town', a category that held text"):
        model.predict(X.assign(town=1.0))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list(X)[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list(X)[:4]])


def make_labels(make, values):
    values = np.array(values, dtype=float)
    return values if make is regressor else np.where(values > np.median(values), "high", "low")


def test_cells_of_lists_keep_their_types(make):
    """NumPy would convert all cells to text, and a missing value to the level "nan"."""
    rng = np.random.default_rng(0)
    towns, sizes = rng.choice(["Bern", "Oslo", None], N).tolist(), rng.normal(size=N).tolist()
    rows = [list(row) for row in zip(towns, sizes, (rng.random(N) < 0.5).tolist(), strict=True)]
    frame = pd.DataFrame({"town": towns, "size": sizes, "flag": [row[2] for row in rows]})
    labels = make_labels(make, sizes)
    named, listed = make().fit(frame, labels), make(categorical_features=[0]).fit(rows, labels)
    expected = predict_all(named, frame)
    assert_same_predictions(predict_all(listed, rows), expected)
    incomplete_row = [[np.nan, 0.5, True]]
    for model in (named, listed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # lists have no names
            together = model.predict([["Bern", 0.5, True], *incomplete_row])
            assert together[1] == pytest.approx(model.predict(incomplete_row)[0])
            assert together[1] == pytest.approx(model.predict([[None, 0.5, True]])[0])


def test_lists_with_text_in_a_column_of_numbers_are_rejected(make):
    rows = [["a", 1.0], ["b", 2.0]] * 5
    model = make(categorical_features=[0]).fit(rows, make_labels(make, range(10)))
    with pytest.raises(ValueError, match="X must hold numbers in column 1"):
        model.predict([["a", "x"]])


@pytest.mark.parametrize("name", ["X", "y"])
def test_masked_cells_are_rejected(make, name):
    data = {"X": np.arange(20.0).reshape(10, 2), "y": make_labels(make, range(10))}
    data[name] = np.ma.masked_array(data[name], np.arange(data[name].size) == 3)
    with pytest.raises(ValueError, match=f"{name} is a masked array with masked cells"):
        make().fit(**data)


def test_an_array_of_objects_is_a_table_without_names(make, X, y):
    model = make().fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(X.to_numpy())
    np.testing.assert_array_equal(found, model.predict(X))


def test_invalid_shapes_of_tables_are_rejected(make, X, y):
    with pytest.raises(ValueError, match="0 sample"):
        make().fit(X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        make().fit(X, None)
    with pytest.raises(ValueError, match="Expected 2D array"):
        make(categorical_features=[0]).fit(np.arange(5.0), y[:5])
    with pytest.raises(ValueError, match="lazy frame"):
        make().fit(pl.DataFrame({"a": ["x"] * N}).lazy(), y)


def test_the_tag_allow_nan_follows_missing_values(make):
    assert make().__sklearn_tags__().input_tags.allow_nan
    assert not make(missing_values="error").__sklearn_tags__().input_tags.allow_nan


def test_rare_levels_are_merged_by_the_encoder_of_scikit_learn(X):
    encoder = regressor().fit(X, make_target()).encoder_
    assert isinstance(encoder.one_hot_, OneHotEncoder)
    assert encoder.one_hot_.handle_unknown == "infrequent_if_exist"


def fail_on_check(*args, **kwargs):
    raise AssertionError("scikit-learn checked rows that need no check")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_plain_arrays_need_no_check_of_scikit_learn(make, monkeypatch, dtype):
    rows = table(dtype)
    model = make().fit(rows, target(make))
    expected = model.predict(rows.tolist())
    monkeypatch.setattr(checks, "validate_data", fail_on_check)
    np.testing.assert_array_equal(model.predict(rows), expected)
    assert len(model.predict(rows[:1])) == 1


OTHER_ARRAYS = {
    "list": lambda rows: rows.tolist(),
    "int": lambda rows: rows.astype(int),
    "other byte order": lambda rows: rows.astype(">f8"),
    "columns first": np.asfortranarray,
    "strided": lambda rows: rows.repeat(2, axis=1)[:, ::2],
    "subclass": lambda rows: rows.view(np.memmap),
    "huge": lambda rows: np.full_like(rows, 1e308),  # the values are finite, but their sum is not
}


@pytest.mark.parametrize("change", OTHER_ARRAYS.values(), ids=OTHER_ARRAYS)
def test_other_arrays_are_checked(make, monkeypatch, change):
    rows = table()
    model = make().fit(rows, target(make))
    found = model.predict(change(rows))
    assert found.shape == (len(rows),)
    monkeypatch.setattr(checks, "validate_data", fail_on_check)
    with pytest.raises(AssertionError, match="scikit-learn checked"):
        model.predict(change(rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((2, 3), np.nan), "contains NaN"),
        (np.array([[np.inf, 0.0, 0.0]]), "contains infinity"),
        (np.zeros((2, 4)), "expecting 3 features"),
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((2, 3), dtype=complex), "Complex data not supported"),
    ],
)
def test_invalid_arrays_are_rejected(make, rows, message):
    model = make(missing_values="error").fit(table(), target(make))
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


def test_arrays_without_names_cause_a_warning(make):
    model = make().fit(pd.DataFrame(table(), columns=["a", "b", "c"]), target(make))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(table())
