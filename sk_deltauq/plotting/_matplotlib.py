"""The import of matplotlib, which is optional and only needed to draw something."""

from __future__ import annotations

from typing import Any

# Blue and orange differ for colour-blind readers too; misses also have a marker of their own.
MEAN, INTERVAL, EPISTEMIC = "#08519c", "#c6dbef", "#fd8d3c"
OBSERVED, MISSED, REFERENCE = "#252525", "#d7301f", "#737373"


def get_axes(ax, caller: str) -> tuple[Any, Any]:
    """Return the figure and the axes to draw on; new ones if `ax` is None.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller}.plot draws with matplotlib, which is not installed. Install it with: "
            "pip install 'sk-deltauq[plotting]'"
        ) from error
    if ax is None:
        return plt.subplots(layout="constrained")
    return ax.figure, ax


def merge_line_style(defaults: dict, given: dict | None) -> dict:
    """Return the style of a line or of points; `given` wins, also by a short name such as "c"."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**normalize_kwargs(defaults, Line2D), **normalize_kwargs(given or {}, Line2D)}


def merge_area_style(defaults: dict, given: dict | None) -> dict:
    """Return the style of a filled area without an outline; `given` wins."""
    return {"linewidth": 0, **defaults, **(given or {})}
