import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge


@pytest.fixture(autouse=True)
def _close_figures():
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def line():
    """A noisy plane with two features: `X` (80, 2) and `y` (80,)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, X[:, 0] + 0.5 * rng.normal(size=80)


@pytest.fixture(scope="session")
def ridge(line):
    """A regressor of scikit-learn with `predict(X, return_std=True)`."""
    return BayesianRidge().fit(*line)
