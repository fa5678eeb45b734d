import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression


@pytest.fixture(scope="package")
def regression():
    return make_regression(60, 3, noise=20, random_state=0)


@pytest.fixture(scope="package")
def classification():
    X, y = make_classification(
        90, 4, n_informative=3, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0
    )
    return X, np.array(["late", "early", "never"])[y]  # not in alphabetical order
