import contextlib
from unittest import mock

import numpy as np
import pytest

from benchmarks_uci.speed.internals import list_prediction_parts, move_to_device
from benchmarks_uci.speed.prediction import draw_features, fit_model


@pytest.fixture(scope="module")
def model():
    return fit_model()


def test_moved_copy_predicts_the_same_and_leaves_the_model_alone(model):
    X = draw_features(5, 9, seed=1)
    moved = move_to_device(model, "cpu")
    assert moved.net_.module_ is not model.net_.module_
    np.testing.assert_array_equal(moved.predict(X), model.predict(X))


def test_a_prediction_runs_all_its_parts(model):
    with contextlib.ExitStack() as stack:
        spies = [
            stack.enter_context(mock.patch.object(owner, name, wraps=getattr(owner, name)))
            for owner, name in list_prediction_parts(model).values()
        ]
        model.predict(draw_features(5, 9, seed=1), return_std=True)
    assert all(spy.called for spy in spies)
