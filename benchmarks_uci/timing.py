"""What the first fit of a process imports: imported before the clock starts."""

from __future__ import annotations

import functools
import importlib
from typing import Any


def warm_up(model: Any, requires: str | None = None) -> None:
    """Import what the first fit of a process imports, so that the fit is not charged for it.

    `requires` is the module of the optional package that the model needs.
    """
    if requires:
        importlib.import_module(requires)
    if type(model).__module__.startswith("sk_deltauq."):
        load_optimizer()


@functools.cache
def load_optimizer() -> None:
    """Make an optimizer, which loads torch's compiler: this takes seconds."""
    import torch

    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
