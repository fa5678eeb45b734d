"""The comparison for the page on choosing a method: its problems, its table, one small run."""

import numpy as np
import pytest

from benchmarks_uci.intervals import choice
from sk_deltauq import DeltaUQRegressor


def test_gap_has_no_training_rows_in_the_middle_of_the_first_feature():
    (X, _), (X_test, y_test) = choice.draw_gap(50, seed=0)
    assert X.shape == (50, 10)
    assert X_test.shape == (1000, 10)
    assert np.abs(X[:, 0] - 0.5).min() >= 1 / 6 > np.abs(X_test[:, 0] - 0.5).max()
    assert np.std(y_test - choice.predict_smooth(X_test)) == pytest.approx(1, abs=0.1)


def test_steps_are_constant_between_thresholds():
    X = np.full((2, 10), 0.5)
    X[1, :5] += 0.05
    np.testing.assert_array_equal(choice.predict_steps(X[:1]), choice.predict_steps(X[1:]) - 4)


def test_the_table_has_every_method_that_can_fit_the_rows(monkeypatch):
    def draw(seed):
        return choice.draw(choice.predict_smooth, lambda X: 1.0, 60, seed)

    small = {
        "Delta-UQ": choice.make_predictor(DeltaUQRegressor(max_iter=2)),
        "boosted quantiles": choice.predict_quantiles,
        "Gaussian process": choice.predict_simple_process,
    }
    monkeypatch.setattr(choice, "METHODS", small)
    monkeypatch.setattr(choice, "MAX_ROWS", {"Gaussian process": 59})
    records = [record for seed in range(2) for record in choice.measure("small", draw, seed)]
    header, _, row = choice.write_table("score", records).splitlines()
    assert [cell.strip() for cell in header.split("|")[1:-1]] == [
        "problem",
        "Delta-UQ",
        "boosted quantiles",
    ]
    assert row.count("**") == 2


def test_normal_intervals_hold_90_percent():
    lower, upper = choice.make_normal(np.zeros(1), np.ones(1)).T
    assert (lower[0], upper[0]) == pytest.approx((-1.645, 1.645), abs=1e-3)


@pytest.mark.parametrize(
    "predict", [choice.predict_split_conformal, choice.predict_conformal_quantiles]
)
def test_conformal_methods_return_intervals(predict):
    pytest.importorskip("mapie")
    train, (X, _) = choice.draw(choice.predict_steps, lambda X: 1.0, 80, seed=0)
    lower, upper = predict(train, X[:20], 0).T
    assert (lower <= upper).all()
