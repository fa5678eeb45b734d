"""One thread for torch, and the caller's count given back.

The networks here are small. More threads make their products hardly faster on an idle machine,
and many times slower on a busy one, where the threads wait for each other at every product.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

_MOST_THREADS = 8

_lock = threading.Lock()
_users = 0
_found = 1


@contextlib.contextmanager
def one_thread():
    """Let torch use one thread in this block; not to be nested.

    torch's count belongs partly to the process, so blocks that overlap in several threads share
    the count that the first of them found: the last one out must not restore another's one.
    """
    global _users, _found
    with _lock:
        if _users == 0:
            _found = torch.get_num_threads()
        _users += 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            torch.set_num_threads(_found)


def map_in_threads(function, items: list, n_threads: int):
    """`map(function, items)` over threads in which torch uses one thread each.

    A few items are not worth the threads, and many threads wait for Python's lock. Must run inside
    `one_thread`.
    """
    n_threads = min(n_threads, len(items) // 4, _MOST_THREADS)
    if n_threads < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from pool.map(function, items)
