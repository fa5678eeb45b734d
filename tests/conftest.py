"""Data and estimators for all tests, and checks of the global settings of NumPy and torch."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from tests._helpers import ESTIMATORS, regressor, target


def pytest_configure():
    # Two threads, so that the tests detect code that sets one thread and does not restore the
    # count. A hook, so that the doctests outside this folder have two threads too.
    torch.set_num_threads(2)


@pytest.fixture(autouse=True)
def _check_thread_count():
    yield
    assert torch.get_num_threads() == 2, "this test changed torch's thread count"


@pytest.fixture
def two_threads():
    """Run the test with two threads of torch, and fail if the test changes their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    count = torch.get_num_threads()
    torch.set_num_threads(before)
    assert count == 2


@pytest.fixture
def global_state_is_kept():
    """Fail if the test changes NumPy's or torch's global random state, or torch's settings."""
    before = _global_state()
    yield
    assert _global_state() == before


def _global_state():
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {
        "numpy's global random state": (name, keys.tobytes(), *rest),
        "torch's global random state": torch.get_rng_state().numpy().tobytes(),
        "torch's grad mode": torch.is_grad_enabled(),
        "torch's default dtype": torch.get_default_dtype(),
        "torch's deterministic mode": torch.are_deterministic_algorithms_enabled(),
    }


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def regression_data():
    """Noisy sine on [0, 1]^3 in units of hundreds: read-only `X` (60, 3) and `y` (60,)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = 500 + 100 * np.sin(6 * X[:, 0]) + 50 * X[:, 1] + 10 * rng.standard_normal(60)
    return _read_only(X), _read_only(y)


@pytest.fixture(scope="session")
def classification_data():
    """Three blobs that overlap a little, with text labels: read-only `X` (60, 2) and `y` (60,)."""
    X, y = make_blobs(60, centers=[[0, 0], [3, 0], [0, 3]], random_state=0)
    return _read_only(X), _read_only(np.array(["ash", "beech", "cedar"])[y])


@pytest.fixture(params=ESTIMATORS, ids=lambda make: make.__name__)
def make(request):
    """A factory of small estimators: `regressor` or `classifier`."""
    return request.param


@pytest.fixture
def data(make, regression_data, classification_data):
    """Data for the estimator of `make`."""
    return regression_data if make is regressor else classification_data


@pytest.fixture
def y(make):
    """A target that the estimator of `make` can learn from `tests._helpers.table`."""
    return target(make)


def _read_only(array):
    array.flags.writeable = False
    return array
