"""The predictor that an estimator makes once, and makes anew if anything has changed."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import torch

from sk_deltauq._estimators.prediction import PredictorCache
from tests._helpers import regressor, table, target


@pytest.fixture
def X():
    return table()


@pytest.fixture
def model(X):
    return regressor(n_members=2).fit(X, np.column_stack([target(regressor), X[:, 2]]))


def test_the_predictor_is_made_once(model, X):
    first = model._predictor()
    before = vars(model).copy()
    model.predict(X, return_std=True)
    assert model._predictor() is first
    assert vars(model) == before


@pytest.mark.parametrize("name", ["std_factor_", "noise_factor_"])
def test_new_scales_make_a_new_predictor(model, X, name):
    _, std = model.predict(X, return_std=True)
    for change in (lambda scales: 3 * scales, lambda scales: np.multiply(scales, 2, out=scales)):
        setattr(model, name, change(getattr(model, name)))
        _, changed = model.predict(X, return_std=True)
        assert (changed > std).all()
        std = changed


def test_a_new_scale_of_the_target_makes_a_new_predictor(model, X):
    mean = model.predict(X)
    model.y_scaler_.mean_ += 100
    np.testing.assert_allclose(model.predict(X), mean + 100)


def test_more_training_makes_a_new_predictor(model, X):
    Y = np.column_stack([X[:, 0], X[:, 1]])
    before = model.predict(X)
    model.partial_fit(X, Y)
    after = model.predict(X)
    assert (before != after).any()
    assert (model.fit(X, Y + 50).predict(X) > after).all()


def test_new_weights_of_the_same_network_count(model, X):
    before = model.predict(X)
    with torch.no_grad():
        for parameter in model.net_.module_.parameters():
            parameter.mul_(2)
    assert (model.predict(X) != before).all()


def test_copies_have_predictors_of_their_own(model, X):
    expected = model.predict(X)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), expected)
        assert other._predictor() is not model._predictor()


def test_the_predictor_keeps_no_estimator_alive(X):
    model = regressor().fit(X, target(regressor))
    model.predict(X)
    seen = weakref.ref(model)
    del model
    gc.collect()
    assert seen() is None


def test_objects_count_by_identity_and_numbers_by_value():
    class Thing:
        pass

    cache, thing, source, made = PredictorCache(), Thing(), [1], []
    numbers = 1.0, np.array([2.0, 3.0])

    def find(sources, values):
        return cache.find(thing, sources, values, lambda: made.append(0) or len(made))

    assert find((source, "cpu"), numbers) == 1
    assert find((source, "cpu"), (1.0, np.array([2.0, 3.0]))) == 1
    assert find(([1], "cpu"), numbers) == 2
    assert find((source, "cpu"), numbers) == 3
    assert find((source, "cpu"), (1.5, numbers[1])) == 4
    numbers[1][0] = 9
    assert find((source, "cpu"), (1.5, numbers[1])) == 5


def test_levels_without_a_variance_cost_nothing():
    rng = np.random.default_rng(0)
    common, rare = rng.random(200) < 0.5, np.arange(200) < 3
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    for flag, adds in ((common, False), (rare, True)):
        model = regressor(early_stopping=True).fit(np.column_stack([X, flag]), y)
        assert model._rarity_ is not None
        assert (model._predictor().rarity is not None) == adds
