import pytest

from sk_deltauq._host import one_thread


@pytest.fixture
def single_thread():
    """Run the test with one thread, as `fit` does."""
    with one_thread():
        yield
