"""The message of a tuple that is used like an array."""

import pickle

import numpy as np
import pytest

from sk_deltauq._estimators.prediction_tuple import PredictionTuple

PAIR = PredictionTuple((np.zeros(3), np.ones(3)))


def test_it_is_a_tuple():
    mean, std = PAIR
    assert mean.sum() == 0
    assert std.sum() == 3
    assert isinstance(pickle.loads(pickle.dumps(PAIR)), tuple)


@pytest.mark.parametrize("name", ["shape", "mean", "ndim"])
def test_a_missing_attribute_says_to_unpack(name):
    message = rf"no attribute '{name}'. Unpack the tuple, for example: mean, std = model.predict"
    with pytest.raises(AttributeError, match=message) as caught:
        getattr(PAIR, name)
    assert caught.value.name == name
    assert ("target_transform" in str(caught.value)) == (name == "ndim")
