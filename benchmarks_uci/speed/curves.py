"""Seconds of fit and prediction against rows, features, anchors, members and width.

Each curve varies one of these and keeps the others at a base case.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks_uci.figures import make_figure
from benchmarks_uci.speed.results import measure_in_turns
from benchmarks_uci.speed.training import fit_quietly, random_rows
from sk_deltauq import DeltaUQRegressor

EPOCHS = 3
BASE = {"n_rows": 4096, "n_features": 16, "n_anchors": 20, "n_members": 1, "width": 64}
VALUES = {
    "n_rows": [1024, 4096, 16_384, 65_536, 262_144],
    "n_features": [4, 16, 64, 256],
    "n_anchors": [2, 5, 20, 80],
    "n_members": [1, 2, 5, 10, 20],
    "width": [16, 64, 256, 1024],
}
QUICK_BASE = {"n_rows": 64, "n_features": 2, "n_anchors": 3, "n_members": 1, "width": 4}
QUICK_VALUES = {"n_rows": [64, 128], "width": [4, 8]}
TITLES = {
    "n_rows": "rows (n)",
    "n_features": "features (d)",
    "n_anchors": "anchors (K)",
    "n_members": "members (M)",
    "width": "units in each of two layers",
}


@dataclass(frozen=True)
class Curve:
    """Measure seconds of `EPOCHS` epochs of training, and of a prediction with std."""

    varied: str  # the setting, a key of `TITLES`
    values: list[int]
    fit: list[float]
    predict: list[float]


def measure(quick: bool) -> list[Curve]:
    """One curve per setting, with the medians of three rounds."""
    base, values = (QUICK_BASE, QUICK_VALUES) if quick else (BASE, VALUES)
    return [
        _measure_curve(varied, base, of_varied, repeats=1 if quick else 3)
        for varied, of_varied in values.items()
    ]


def _measure_curve(varied, base, values, repeats):
    curve = Curve(varied, list(values), [], [])
    for value in values:
        settings = {**base, varied: value}
        X, y = random_rows(settings.pop("n_rows"), settings.pop("n_features"))
        width = settings.pop("width")
        # The default embedding would depend on the number of features.
        settings |= {"embedding": None, "max_iter": EPOCHS, "early_stopping": False}
        model = DeltaUQRegressor((width, width), **settings, random_state=0)
        fit_quietly(model, X[:100], y[:100])  # loads what the first call needs
        functions = {
            "fit": functools.partial(fit_quietly, model, X, y),
            "predict": functools.partial(model.predict, X, return_std=True),
        }
        seconds = measure_in_turns(functions, repeats)
        curve.fit.append(median(seconds["fit"]))
        curve.predict.append(median(seconds["predict"]))
    return curve


def plot(curves: list[Curve], figure=None):
    """Draw one panel per curve with logarithmic axes, and a line that shows proportional growth.

    Without `figure`, a new figure is created.
    """
    if figure is None:
        figure = make_figure(2.4 * len(curves) + 0.4, 2.8)
    axes = np.atleast_1d(figure.subplots(1, len(curves), sharey=True))
    for axis, curve in zip(axes, curves, strict=True):
        axis.loglog(curve.values, curve.fit, "o-", color="C0", label=f"fit, {EPOCHS} epochs")
        axis.loglog(curve.values, curve.predict, "s-", color="C3", label="predict with std")
        proportional = curve.predict[-1] * np.array(curve.values) / curve.values[-1]
        axis.loglog(curve.values, proportional, ":", color="0.6", label="proportional")
        axis.set(xlabel=TITLES[curve.varied])
        axis.set_xticks(curve.values, [f"{value:,}" for value in curve.values], fontsize=7)
        axis.minorticks_off()
    axes[0].set_ylabel("seconds, one thread")
    axes[0].legend(fontsize=7)
    return figure
