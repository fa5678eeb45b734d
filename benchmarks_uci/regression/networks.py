"""Factories of estimators, which import them only when they are called."""

from __future__ import annotations

import importlib

# The literature gives its large sets (protein) a layer of 100 units, and all others one of 50.
LARGE = 30_000

PRESETS = ("default", "paper")


def hidden(preset, n_rows):
    """Return the widths of the hidden layers."""
    if preset == "default":
        return (50, 50)
    return (100,) if n_rows > LARGE else (50,)


def load_class(path):
    """Import a class by its full name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def network(estimator, /, *, paper=None, **settings):
    """Return a factory of a network of the package: its defaults except `settings`.

    `estimator` is the full name of its class. The preset paper has other widths, no embedding,
    and the settings in `paper`.
    """

    def make(preset, n_rows, random_state):
        changed = dict(settings)
        if preset == "paper":
            changed = {"hidden_layer_sizes": hidden(preset, n_rows), "embedding": None} | changed
            changed |= paper or {}
        return load_class(estimator)(**changed, random_state=random_state)

    return make


def external(name, /, seeded=True, **settings):
    """Return a factory of an estimator in `external`, the same for both presets."""

    def make(preset, n_rows, random_state):
        seed = {"random_state": random_state} if seeded else {}
        return load_class(f"benchmarks_uci.regression.external.{name}")(**settings, **seed)

    return make
