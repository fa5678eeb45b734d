"""Figures and their files. matplotlib is an extra, so it is imported where it is used."""

from __future__ import annotations

import io

FORMATS = ("png", "svg")
# The same numbers give the same bytes: no date, and identifiers that are not random.
RC_PARAMS = {"svg.hashsalt": "benchmarks_uci", "font.size": 9}
METADATA = {"png": {"Software": None}, "svg": {"Date": None}}


def new_figure(width: float, height: float):
    """A `matplotlib.figure.Figure` that no window knows of, and that nobody has to close."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'sk-deltauq[plotting]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def as_bytes(figure, fmt: str = "png") -> bytes:
    """The figure as a file of one of `FORMATS`."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(RC_PARAMS):
        figure.savefig(buffer, format=fmt, dpi=120, metadata=METADATA[fmt])
    return buffer.getvalue()
