import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from benchmarks_uci.methods import METHODS, ConstantNoise, MarginalGaussian, make


@pytest.mark.parametrize("name", METHODS)
def test_method_is_made_new_with_its_seed(name):
    first, second = make(name, random_state=3), make(name, random_state=3)
    assert first is not second
    assert repr(first) == repr(second)
    assert repr(clone(first)) == repr(first)


def test_methods_predict_a_distribution_that_agrees_with_the_std(regression_data):
    X, y = regression_data
    for name in ("marginal", "mlp"):
        model = make(name, random_state=0).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        dist = model.predict_dist(X)
        assert np.array_equal(model.predict(X), mean)
        assert np.array_equal(dist.mean, mean)
        assert np.array_equal(dist.std, std)


def test_marginal_gaussian_ignores_the_rows():
    y = np.array([1.0, 2.0, 6.0])
    mean, std = MarginalGaussian().fit(None, y).predict(np.zeros((2, 1)), return_std=True)
    assert mean.tolist() == [3, 3]
    assert std == pytest.approx(np.std(y, ddof=1))


def test_constant_noise_is_that_of_held_out_rows(regression_data):
    X, y = regression_data
    model = ConstantNoise(LinearRegression(), random_state=0).fit(X, y)
    errors = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        errors += list(y[test] - LinearRegression().fit(X[train], y[train]).predict(X[test]))
    assert model.noise_std_ == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X))


def test_constant_noise_leaves_its_predictor_unfitted(regression_data):
    predictor = DummyRegressor()
    ConstantNoise(predictor, random_state=0).fit(*regression_data)
    assert not hasattr(predictor, "constant_")
