"""A method of the comparison, and factories of the package's networks in either preset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator

PRESETS = ("default", "paper")

# The literature gives its large sets (protein) a layer of 100 units, and all others one of 50.
LARGE = 30_000


@dataclass(frozen=True)
class Method:
    """A way to predict a target with its uncertainty.

    Attributes
    ----------
    name, title, description : str
        Key of `ALL`; for a table; for a note under it.
    chosen : str
        How its settings were chosen.
    make : callable
        `make(preset, n_rows, random_state)` is a new estimator for `n_rows` training rows.
    max_rows : int or None
        Most training rows that it can be asked to fit.
    requires : str or None
        Package that it needs besides those of the harness.
    """

    name: str
    title: str
    description: str
    chosen: str
    make: Callable[[str, int, int], BaseEstimator]
    max_rows: int | None = None
    requires: str | None = None


def hidden(preset, n_rows):
    """Widths of the hidden layers."""
    if preset == "default":
        return (50, 50)
    return (100,) if n_rows > LARGE else (50,)


def network(estimator, *, paper=None, **settings):
    """A factory of one of the package's networks: its defaults but for `settings`.

    The preset paper has other widths, no embedding, and the settings in `paper`.
    """

    def make(preset, n_rows, random_state):
        changed = dict(settings)
        if preset == "paper":
            its_own = {"hidden_layer_sizes": hidden(preset, n_rows), "embedding": None}
            changed = its_own | changed | (paper or {})
        return estimator(**changed, random_state=random_state)

    return make
