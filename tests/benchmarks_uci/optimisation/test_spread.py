"""Ratios of errors to the epistemic std: the measures on a model with known predictions."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from benchmarks_uci.optimisation import spread
from benchmarks_uci.optimisation.problems import PROBLEMS


class Known:
    """Predicts a function with a constant error, and a constant standard deviation."""

    def __init__(self, function, error, std):
        self.function, self.error, self.std = function, error, std

    def fit(self, X, y):
        np.testing.assert_allclose(y, [self.function(x) for x in X])
        self.n_points = len(X)

    def predict(self, X):
        return np.array([self.function(x) for x in X]) + self.error

    def predict_uncertainty(self, X):
        return Bunch(epistemic=np.full(len(X), self.std))


def test_the_ratio_is_the_error_over_the_standard_deviation():
    model = Known(PROBLEMS["branin"].function, error=3.0, std=2.0)
    assert spread.measure_ratio(model, "branin", seed=100) == pytest.approx(1.5)
    assert model.n_points == 30


@pytest.mark.parametrize(("error", "share"), [(0.19, 1.0), (0.21, 0.0)])
def test_two_standard_deviations_count_as_inside(error, share):
    model = Known(lambda x: np.sin(6 * x[0]), error, std=0.1)
    assert spread.measure_sine(model) == share
    assert model.n_points == 6


def test_the_table_has_a_row_per_surrogate(monkeypatch):
    def make(random_state):
        return Known(PROBLEMS["booth"].function, error=1.0, std=0.5)

    monkeypatch.setattr(spread, "METHODS", {"a": make, "b": make})
    monkeypatch.setattr(spread, "measure_sine", lambda model: 0.75)
    records = spread.measure(2, ["booth"])
    assert len(records) == 2 * 2 * 2
    table = spread.tabulate(records)
    assert table.rows == [["`a`", "2.00", "0.75"], ["`b`", "2.00", "0.75"]]
