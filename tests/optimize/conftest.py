import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.optimize import BoTorchModel
from tests.optimize._helpers import SMALL, draw


@pytest.fixture(scope="session")
def fitted():
    """A regressor with one output and heteroscedastic noise."""
    return DeltaUQRegressor(**SMALL, n_members=2).fit(*draw(40))


@pytest.fixture(scope="session")
def model(fitted):
    return BoTorchModel(fitted)


@pytest.fixture(scope="session")
def points():
    return torch.tensor(draw(6, seed=1)[0])


@pytest.fixture(scope="session")
def two_outputs():
    X, y = draw(40)
    return DeltaUQRegressor(**SMALL).fit(X, np.column_stack([y, -3 * y + X[:, 0]]))
