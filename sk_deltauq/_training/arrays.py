"""Tensors in nested dicts, lists and tuples as NumPy arrays, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def to_arrays(tree: Any) -> Any:
    """Replace all tensors by arrays with the values in C order."""
    return _map_leaves(
        tree, lambda v: v.detach().cpu().contiguous().numpy() if torch.is_tensor(v) else v
    )


def to_tensors(tree: Any) -> Any:
    """Replace all arrays by tensors on the CPU."""
    # Copied into torch's own memory, which is aligned.
    return _map_leaves(tree, lambda v: torch.tensor(v) if isinstance(v, np.ndarray) else v)


def _map_leaves(tree: Any, function: Callable) -> Any:
    if isinstance(tree, dict):
        return {key: _map_leaves(value, function) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_map_leaves(value, function) for value in tree)
    return function(tree)
