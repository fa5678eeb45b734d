"""The thread count of all numeric libraries, set for a while."""

from __future__ import annotations

import contextlib

import torch
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def threads(n: int):
    """Let torch and the BLAS libraries use `n` threads, and give them back what they had."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        torch.set_num_threads(before)
