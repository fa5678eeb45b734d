"""Predictions are those of the first version, to 1e-5; see `make.py`."""

import numpy as np

from tests.golden.make import FILE, predictions


def test_predictions_are_those_of_the_first_version():
    found = predictions()
    with np.load(FILE) as golden:
        assert found.keys() == set(golden)
        for name, values in golden.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-5, err_msg=name)
