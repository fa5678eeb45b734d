import pytest
import torch
from threadpoolctl import threadpool_info

from benchmarks_uci.threads import threads


def thread_counts():
    return [torch.get_num_threads(), *(library["num_threads"] for library in threadpool_info())]


def test_threads_are_set_and_given_back():
    before = thread_counts()
    with threads(2):
        assert torch.get_num_threads() == 2
    assert thread_counts() == before


def test_threads_are_given_back_after_an_error():
    before = thread_counts()
    with pytest.raises(ZeroDivisionError), threads(2):
        1 / 0  # noqa: B018
    assert thread_counts() == before
