"""Random numbers: every draw comes from a stream of its own, none from the global state.

Each purpose (initial weights, mini-batches, anchors, folds) and each member has its own generator,
so that a member trained inside a stack sees the numbers that it would see alone.
"""

from __future__ import annotations

import contextlib
import threading
from enum import IntEnum

import numpy as np
import torch
from sklearn.utils import check_random_state

_global_state = threading.RLock()


class Stream(IntEnum):
    """What a stream of random numbers is for; part of its seed, so never renumbered."""

    WEIGHTS = 0
    BATCHES = 1
    ANCHORS = 2
    FOLDS = 3
    MODULE = 4
    MASKS = 5
    DRAWS = 6
    LANDMARKS = 7


def draw_seed(random_state) -> int:
    """Reduce scikit-learn's `random_state` to one integer; an int gives the same one each time.

    None draws from the operating system, not from NumPy's global generator, which is the user's.
    """
    if random_state is None:
        random_state = np.random.RandomState(np.random.MT19937())
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def numpy_rng(seed: int, stream: Stream, *path: int) -> np.random.Generator:
    """NumPy generator for one purpose; `path` tells members and epochs apart."""
    return np.random.default_rng([seed, stream, *path])


def torch_generators(
    seed: int, stream: Stream, members: range | list[int], *path: int
) -> list[torch.Generator]:
    """One CPU generator a member: on the CPU, so that a device does not change the numbers."""
    return [
        torch.Generator().manual_seed(int(numpy_rng(seed, stream, member, *path).integers(2**63)))
        for member in members
    ]


@contextlib.contextmanager
def torch_seeded(seed: int, device: str = "cpu"):
    """Seed torch's global generators, and give the caller's state back at the end.

    Only for code that is not ours and draws from the global state (a user's own torch module).
    The generators of GPUs that are not used are not touched. The state belongs to the process, so
    such blocks wait for each other.
    """
    on_cuda = torch.device(device).type == "cuda"
    with _global_state, torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
