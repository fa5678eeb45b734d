"""What the package shares with the host program: torch's settings, random numbers and threads.

Every random draw comes from a stream of its own. Each purpose (initial weights, mini-batches,
anchors, folds) and each member has its own generator, so a member trained inside a stack meets
the same numbers as a member trained alone. The number of threads is restored after use.

`plain_torch` shields all computations from settings of the host program that would change them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum

import numpy as np
import torch
from sklearn.utils import check_random_state

_MOST_THREADS = 8

_generator_lock = threading.RLock()
_thread_lock = threading.Lock()
_local = threading.local()
_users = 0
_found = 1

_dtype_lock = threading.Lock()
_dtype_users = 0
_dtype_found = torch.float32


class Stream(IntEnum):
    """The purpose of a stream of random numbers. It is part of the seed: never renumber."""

    WEIGHTS = 0
    BATCHES = 1
    ANCHORS = 2
    FOLDS = 3
    MODULE = 4
    MASKS = 5
    DRAWS = 6
    CALIBRATION = 7
    METRIC = 8


def draw_seed(random_state) -> int:
    """Reduce scikit-learn's `random_state` to one integer; an int always gives the same one.

    None draws from the operating system: NumPy's global generator belongs to the user.
    """
    if random_state is None:
        random_state = np.random.RandomState(np.random.MT19937())
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def numpy_rng(seed: int, stream: Stream, *path: int) -> np.random.Generator:
    """NumPy generator for one purpose; `path` tells members and epochs apart."""
    return np.random.default_rng([seed, stream, *path])


def torch_generators(
    seed: int, stream: Stream, members: Sequence[int], *path: int
) -> list[torch.Generator]:
    """One CPU generator per member, so that the device does not change the numbers."""
    return [
        torch.Generator().manual_seed(int(numpy_rng(seed, stream, member, *path).integers(2**63)))
        for member in members
    ]


@contextlib.contextmanager
def plain_torch(*, gradients: bool = False):
    """Neutralise the torch settings of the host program in this block.

    Inside, autocast is off, new tensors are float32 on the CPU, and with `gradients` the graph is
    recorded, in any mode of the caller. The caller's settings return at the end, also after an
    error. A user's own module and callbacks run in such a block too.

    Deterministic algorithms, anomaly detection, and the precision of matrix products stay as the
    caller set them: they are requests, and do not change the results on a CPU.
    """
    if not gradients and _is_plain():  # the usual case, in a tenth of the time of a layer
        yield
        return
    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        # Only if needed: inside the block each call of torch takes longer. A tensor tells the
        # default of any torch version.
        if torch.empty(0).device.type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.enter_context(_default_float32())
        if gradients:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
        yield


def _is_plain() -> bool:
    """Tell whether `plain_torch` without gradients would change nothing."""
    new = torch.empty(0)
    return (
        new.dtype == torch.float32
        and new.device.type == "cpu"
        and _dtype_users == 0
        and not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"))
    )


@contextlib.contextmanager
def _default_float32():
    """Set torch's default dtype to float32 in this block.

    The dtype belongs to the process. If blocks overlap in threads, the last one restores it.
    """
    global _dtype_users, _dtype_found
    with _dtype_lock:
        needed = _dtype_users > 0 or torch.get_default_dtype() != torch.float32
        if needed:
            if _dtype_users == 0:
                _dtype_found = torch.get_default_dtype()
                torch.set_default_dtype(torch.float32)
            _dtype_users += 1
    try:
        yield
    finally:
        if needed:
            with _dtype_lock:
                _dtype_users -= 1
                if _dtype_users == 0:
                    torch.set_default_dtype(_dtype_found)


@contextlib.contextmanager
def seed_torch(seed: int, device: str = "cpu"):
    """Seed torch's global generators in this block, and restore their state at the end.

    Use it only for code of the user that draws from the global state, such as a torch module.
    Generators of unused GPUs are not touched. The state belongs to the process, so such blocks
    wait for each other.
    """
    on_cuda = torch.device(device).type == "cuda"
    with _generator_lock, torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextlib.contextmanager
def one_thread():
    """Let torch use one thread in this block; an inner block changes nothing.

    The networks are small. More threads hardly speed up their products on an idle machine, and
    slow them down many times on a busy one, where threads wait for each other at every product.

    torch's count belongs to the thread. A new thread starts with the last count that was set
    anywhere: with one, while a block is open elsewhere. It ends with the count that the first
    block found.
    """
    global _users, _found
    if getattr(_local, "inside", False):
        yield
        return
    with _thread_lock:
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
        with _thread_lock:
            _users -= 1
            _local.inside = False
            torch.set_num_threads(count)


def map_in_threads(function, items: list, n_threads: int):
    """Map `function` over `items` in threads in which torch uses one thread each.

    A few items are not worth the threads, and many threads wait for Python's lock. Call it
    inside `one_thread`.
    """
    n_threads = min(n_threads, len(items) // 4, _MOST_THREADS)
    if n_threads < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from pool.map(function, items)
