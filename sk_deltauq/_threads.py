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
_local = threading.local()
_users = 0
_found = 1


@contextlib.contextmanager
def one_thread():
    """Let torch use one thread in this block; an inner block changes nothing.

    torch's count belongs to the thread, but a new thread begins with the last one that was set
    anywhere: one, while a block is open elsewhere. It leaves with what the first block found.
    """
    global _users, _found
    if getattr(_local, "inside", False):
        yield
        return
    with _lock:
        count = torch.get_num_threads()
        if _users == 0:
            _found = count
        elif count == 1:
            count = _found
        _users += 1
        _local.inside = True
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            _local.inside = False
            torch.set_num_threads(count)


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
