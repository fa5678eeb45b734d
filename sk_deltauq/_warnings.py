"""Warnings that point at the line of the caller's code."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this package.

    A fixed `stacklevel` would change with every function in between.
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
