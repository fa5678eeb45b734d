from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.inspection import partial_dependence
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_deltauq.plotting import PredictiveIntervalDisplay
from tests._helpers import regressor
from tests.plotting._helpers import FirstFeature, TwoOutputs


def test_other_features_are_fixed_at_their_median(line):
    X, y = line  # 80 rows, so the lower median is the 40th
    model = regressor().fit(X, y)
    display = PredictiveIntervalDisplay.from_estimator(
        model, X, 1, y=y, grid=[-1.0, 0.5], coverage=0.8
    )
    rows = np.column_stack([np.full(2, np.sort(X[:, 0])[39]), [-1.0, 0.5]])
    np.testing.assert_allclose(display.mean, model.predict(rows))
    np.testing.assert_allclose(display.lower, model.predict_interval(rows, 0.8)[:, 0])
    np.testing.assert_allclose(display.upper, model.predict_interval(rows, 0.8)[:, 1])
    np.testing.assert_allclose(display.epistemic, model.predict_uncertainty(rows).epistemic)
    np.testing.assert_array_equal(display.points_.get_xdata(), X[:, 1])
    np.testing.assert_array_equal(display.points_.get_ydata(), y)
    assert display.ax_.get_xlabel() == "feature 1"


@pytest.mark.parametrize("weighted", [False, True])
def test_averaged_mean_equals_partial_dependence(line, ridge, weighted):
    X, _ = line
    weights = np.arange(80.0) if weighted else None
    display = PredictiveIntervalDisplay.from_estimator(
        ridge, X, 0, kind="average", grid=5, sample_weight=weights
    )
    np.testing.assert_allclose(
        display.feature_values, np.linspace(X[:, 0].min(), X[:, 0].max(), 5)
    )
    expected = partial_dependence(
        ridge, X, [0], sample_weight=weights, kind="average", percentiles=(0, 1), grid_resolution=5
    )
    np.testing.assert_allclose(display.mean, expected["average"][0])
    stds = [
        np.average(
            ridge.predict(np.column_stack([np.full(80, v), X[:, 1]]), return_std=True)[1],
            weights=weights,
        )
        for v in display.feature_values
    ]
    np.testing.assert_allclose(display.upper - display.mean, norm.ppf(0.95) * np.array(stds))
    assert display.epistemic is None


def test_subsample_is_random_and_repeatable(line, ridge):
    X, _ = line
    first, second, other = (
        PredictiveIntervalDisplay.from_estimator(
            ridge, X, 0, kind="average", grid=3, subsample=5, random_state=seed
        ).mean
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_subsample_has_rows_of_positive_weight(line, ridge):
    """Random rows can all have weight zero."""
    X, _ = line
    weights = np.zeros(len(X))
    weights[3] = 1
    draw = partial(PredictiveIntervalDisplay.from_estimator, ridge, X, feature=0, kind="average")
    found, expected = draw(subsample=1, sample_weight=weights), draw(sample_weight=weights)
    np.testing.assert_allclose(found.mean, expected.mean)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    size = rng.uniform(1, 9, size=60)
    colour = np.array(["red", "blue", "blue"])[np.arange(60) % 3]
    table = pd.DataFrame({"size": size, "colour": colour, "number": rng.integers(5, size=60)})
    return table, size + (colour == "red") + 0.1 * rng.normal(size=60)


def make_encoder():
    return make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")


@pytest.mark.parametrize("kind", ["median", "average"])
@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
def test_pipelines_get_frames_of_the_same_type(frame, to_frame, kind):
    table, y = frame
    pipeline = make_pipeline(make_encoder(), BayesianRidge()).fit(table, y)
    X = to_frame(table.to_dict("list"))
    display = PredictiveIntervalDisplay.from_estimator(pipeline, X, "size", kind=kind, grid=4)
    slopes = np.diff(display.mean) / np.diff(display.feature_values)
    np.testing.assert_allclose(slopes, pipeline[-1].coef_[2])
    assert display.ax_.get_xlabel() == "size"


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
def test_categories_have_one_interval_each(frame, to_frame):
    table, y = frame
    pipeline = make_pipeline(make_encoder(), BayesianRidge())
    search = GridSearchCV(pipeline, {}, cv=2).fit(table, y)
    X = to_frame(table.to_dict("list"))
    display = PredictiveIntervalDisplay.from_estimator(search, X, "colour", y=y)
    assert display.feature_values.tolist() == ["blue", "red"]
    coefficients = search.best_estimator_[-1].coef_[:2]
    np.testing.assert_allclose(np.diff(display.mean), np.diff(coefficients))
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["blue", "red"]
    np.testing.assert_array_equal(
        display.points_.get_xdata(), (table["colour"] == "red").astype(int)
    )


def test_pandas_categories_stay_categories(frame):
    table = frame[0].astype({"colour": "category"})
    seen = []

    class Remember(FirstFeature):
        def predict(self, X, return_std=False, *, coverage=None, quantiles=None):
            seen.append(X.dtypes["colour"])
            values = np.zeros((len(X), 2))
            return super().predict(values, return_std, coverage=coverage, quantiles=quantiles)

    PredictiveIntervalDisplay.from_estimator(Remember().fit(table), table, "colour")
    PredictiveIntervalDisplay.from_estimator(Remember().fit(table), table, "size", kind="average")
    assert set(seen) == {table.dtypes["colour"]}


def test_predictions_are_sorted_by_feature_with_their_bounds(line):
    display = PredictiveIntervalDisplay.from_predictions(
        [3, 1, 2],
        [30, 10, 20],
        [29, 9, 19],
        [32, 12, 22],
        epistemic=[3, 1, 2],
        y_true=[33, 11, 22],
    )
    np.testing.assert_array_equal(display.feature_values, [1, 2, 3])
    np.testing.assert_array_equal(display.line_.get_ydata(), [10, 20, 30])
    np.testing.assert_array_equal(display.upper - display.lower, 3)
    np.testing.assert_array_equal(display.epistemic, [1, 2, 3])
    np.testing.assert_array_equal(display.y_observed, [11, 22, 33])
    outline = display.epistemic_.get_paths()[0].vertices
    assert outline[:, 1].max() == pytest.approx(30 + 3 * norm.ppf(0.95))


def test_one_of_several_outputs(line):
    X, _ = line
    model = TwoOutputs().fit(X)
    display = PredictiveIntervalDisplay.from_estimator(
        model, X, 1, y=X, target=1, grid=[0.0, 1.0], kind="average"
    )
    np.testing.assert_allclose(display.mean, [0, 1])
    np.testing.assert_allclose(display.upper - display.mean, 2 * norm.ppf(0.95))
    np.testing.assert_allclose(display.epistemic, 1.2)
    np.testing.assert_array_equal(display.y_observed, X[:, 1])
    with pytest.raises(ValueError, match="target must be the position"):
        PredictiveIntervalDisplay.from_estimator(model, X, 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"feature": 2}, "feature must be a name, or a position from 0 to 1"),
        ({"feature": "x"}, "feature must be a position, as X has no names"),
        ({"kind": "mean"}, "kind must be 'median' or 'average'"),
        ({"grid": 1}, "grid must be at least 2"),
        ({"grid": [[1.0]]}, "grid must be a number of values or a 1-D array"),
        ({"kind": "average", "subsample": 0}, "subsample must be a number of at least 1"),
        ({"kind": "average", "subsample": "a"}, "subsample must be a number of at least 1"),
        ({"sample_weight": [1.0]}, "sample_weight must have shape"),
        ({"coverage": 90}, "coverage must be one number strictly between 0 and 1"),
        ({"y": [1.0, 2.0]}, r"y must have one value for each of the \d+ rows of X, got 2"),
    ],
)
def test_from_estimator_rejects_invalid_parameters(line, ridge, params, message):
    with pytest.raises(ValueError, match=message):
        PredictiveIntervalDisplay.from_estimator(ridge, line[0], **{"feature": 0, **params})


def test_from_predictions_rejects_other_shapes():
    with pytest.raises(ValueError, match="y_true must have one value for each"):
        PredictiveIntervalDisplay.from_predictions([1, 2], [1, 2], [0, 1], [2, 3], y_true=[1])
