"""Outlier scores of a classifier, from its logits and the distance from the training rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from sk_deltauq._estimators.classifier_calibration import ClassifierCalibration
from sk_deltauq._outlier_scores import (
    KINDS,
    mean_log_proba,
    measure_energy,
    measure_entropy,
    squash,
)
from sk_deltauq._temperature import measure_nearest


def score_outliers(
    calibration: ClassifierCalibration, map_logits: Callable, X, kind: str
) -> np.ndarray:
    """Score the rows of a table; `map_logits(X, function)` gives the logits, in chunks."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    if kind == "combined" and calibration.held_scores is None:
        raise ValueError(
            "kind='combined' compares a row with rows that were held out of training, and this "
            "model has none: after early_stopping=False, or partial_fit without fit. Fit with "
            "early_stopping=True, or use kind='distance'."
        )

    def measure_distance(x: torch.Tensor) -> torch.Tensor:
        return measure_nearest(squash(x), squash(calibration.nearest.rows.to(x))).mean(dim=1)

    def measure(raw, adjusted, summarise, x):
        if kind == "combined":
            return measure_entropy(mean_log_proba(raw)), measure_distance(x)
        if kind == "distance":
            return (measure_distance(x),)
        if kind == "energy":
            return (measure_energy(raw),)
        summary = summarise()
        return (getattr(summary, "total" if kind == "entropy" else kind),)

    scores = map_logits(X, measure)
    if kind == "combined":
        assert calibration.held_scores is not None
        return calibration.held_scores.combine(*scores)
    return scores[0]
