"""Create figures and their files. matplotlib is optional, so it is imported where it is used."""

from __future__ import annotations

import io
from typing import Any

FORMATS = ("png", "svg")
# The same numbers give the same bytes: no date, and identifiers that are not random.
RC_PARAMS: dict[Any, Any] = {"svg.hashsalt": "benchmarks_uci", "font.size": 9}
METADATA = {"png": {"Software": None}, "svg": {"Date": None}}


def make_figure(width: float, height: float):
    """Return a `matplotlib.figure.Figure` without a window, which needs no closing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'sk-deltauq[plotting]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def as_bytes(figure, fmt: str = "png") -> bytes:
    """Return the figure as a file in one of `FORMATS`."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(RC_PARAMS):
        figure.savefig(buffer, format=fmt, dpi=120, metadata=METADATA[fmt])
    return buffer.getvalue()
