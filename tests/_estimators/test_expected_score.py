"""The score to expect: from draws of the predictive distribution, and against real scores."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq._estimators.expected_score import compute_root_mean_square
from sk_deltauq.exceptions import UncertaintyWarning

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
ERRORS = {"rmse": root_mean_squared_error, "mae": mean_absolute_error}


def draw_line(n, seed=0):
    """A line with normal noise that grows with the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=n)


@pytest.mark.parametrize("transform", [None, "yeo-johnson"])
def test_the_error_of_a_regressor_is_the_error_of_draws(regression_data, transform):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, target_transform=transform).fit(X, y)
    errors = model.sample_y(X, 20_000, random_state=0) - model.predict(X)[:, np.newaxis]
    assert model.expected_score(X) == pytest.approx(np.sqrt(np.square(errors).mean()), rel=0.01)
    assert model.expected_score(X, metric="mae") == pytest.approx(np.abs(errors).mean(), rel=0.01)


def test_the_error_agrees_with_the_error_on_new_rows():
    X, y = draw_line(600)
    model = DeltaUQRegressor(**{**SMALL, "max_iter": 40}).fit(X, y)
    X, y = draw_line(3000, seed=1)
    for rows in (X[:, 0] < 0.5, X[:, 0] >= 0.5):  # the error differs by a factor of two
        for metric, measure in ERRORS.items():
            actual = measure(y[rows], model.predict(X[rows]))
            assert model.expected_score(X[rows], metric=metric) == pytest.approx(actual, rel=0.2)


def test_the_accuracy_of_a_classifier_is_the_mean_probability(classification_data):
    X, y = classification_data
    model = DeltaUQClassifier(**SMALL).fit(X, y)
    labels, proba = model.predict(X), model.predict_proba(X)
    expected = proba[np.arange(len(X)), np.searchsorted(model.classes_, labels)].mean()
    assert model.expected_score(X) == pytest.approx(expected)
    assert isinstance(model.expected_score(X), float)


def test_the_accuracy_falls_with_the_true_accuracy(classification_data):
    X, y = classification_data
    model = DeltaUQClassifier(**{**SMALL, "max_iter": 60}).fit(X, y)
    shifted = X + np.random.default_rng(0).normal(scale=3, size=(20, *X.shape))
    actual = np.mean([model.score(rows, y) for rows in shifted])
    expected = model.expected_score(shifted.reshape(-1, 2))
    held = model.expected_score(X)  # of usual rows, as a held-out score would be
    assert actual < 0.6
    assert abs(expected - actual) < 0.8 * abs(held - actual)


def test_several_outputs_have_an_error_each(regression_data):
    X, y = regression_data
    Y = np.column_stack([y, 1e6 * X[:, 2], 1e-6 * X[:, 1]])
    model = DeltaUQRegressor(**SMALL).fit(X, Y)
    std = model.predict(X, return_std=True)[1]
    found = model.expected_score(X)
    assert found.shape == (3,)
    np.testing.assert_allclose(found, np.sqrt(np.square(std).mean(axis=0)))
    assert model.expected_score(X, metric="mae").shape == (3,)


def test_one_output_has_a_float(regression_data):
    model = baselines.PBPRegressor(max_iter=3, random_state=0).fit(*regression_data)
    for metric in ERRORS:
        assert isinstance(model.expected_score(regression_data[0], metric=metric), float)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_large_and_small_units_do_not_overflow(unit):
    found = compute_root_mean_square(unit * np.array([3.0, 4.0]))
    assert found == pytest.approx(unit * np.sqrt(12.5))
    assert compute_root_mean_square(np.zeros((2, 3))).tolist() == [0, 0, 0]


def test_without_held_out_rows_there_is_a_warning(regression_data, classification_data):
    cases = (DeltaUQRegressor, regression_data), (DeltaUQClassifier, classification_data)
    for cls, (X, y) in cases:
        model = cls(**SMALL).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.expected_score(X)
        model.partial_fit(X, y)
        with pytest.warns(UncertaintyWarning, match="the last fit held none out"):
            model.expected_score(X)


def test_mistakes_have_clear_messages(regression_data):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="metric must be 'rmse' or 'mae', got 'r2'"):
        model.expected_score(X, metric="r2")
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.expected_score(X[:0])
    for cls in (DeltaUQRegressor, DeltaUQClassifier):
        with pytest.raises(NotFittedError):
            cls().expected_score(X)
