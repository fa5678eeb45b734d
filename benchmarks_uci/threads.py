"""Set the thread count of all numeric libraries for a while."""

from __future__ import annotations

import contextlib

import torch
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def threads(n: int):
    """Let torch and the BLAS libraries use `n` threads, and restore their thread counts after."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        torch.set_num_threads(before)
