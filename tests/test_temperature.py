"""Temperatures by distance, against their formula."""

import copy
import pickle

import numpy as np
import pytest
import torch

from sk_deltauq._temperature import Temperature


def test_the_temperature_follows_its_formula():
    distances = torch.tensor([0.0, 1.0, 2.0, 5.0, 1e6])
    found = Temperature(base=1.5, exponent=2.0, reach=1.0)(distances)
    expected = 1.5 * (np.maximum(distances.numpy() + 0.25, 1.25) / 1.25) ** 2
    np.testing.assert_allclose(found[:4], expected[:4], rtol=1e-6)
    assert found[4] == pytest.approx(1.5e6)  # the limit
    np.testing.assert_array_equal(Temperature(base=0.5)(distances), np.full(5, 0.5))


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(copy_of):
    temperature = copy_of(Temperature(2.0, 1.0, 0.5))
    assert temperature.__getstate__() == {"base": 2.0, "exponent": 1.0, "reach": 0.5}
