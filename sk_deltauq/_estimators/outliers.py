"""Outlier scores of a classifier, from its logits and the distance from the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sk_deltauq._estimators.classifier_calibration import ClassifierCalibration
from sk_deltauq._estimators.reverse_anchoring import measure_label_loss, score_reversed
from sk_deltauq._nearest_rows import measure_squashed_distance
from sk_deltauq._outlier_scores import (
    KINDS,
    NO_HELD_OUT_ROWS,
    average_log_proba,
    check_kind,
    measure_energy,
    measure_entropy,
)


def score_outliers(classifier: Any, X, kind: str) -> np.ndarray:
    """Score the rows of a table, see `BaseClassifier.outlier_score`."""
    check_kind(kind, KINDS)
    calibration: ClassifierCalibration = classifier._calibration_
    if kind == "reverse_anchoring":
        X, labelled = classifier._check_rows(X), calibration.labelled
        return score_reversed(classifier._predictor(), labelled, X, measure_label_loss)
    if kind == "combined" and calibration.held_scores is None:
        raise ValueError(NO_HELD_OUT_ROWS)

    def measure_distance(x: torch.Tensor) -> torch.Tensor:
        return measure_squashed_distance(x, calibration.nearest.rows.to(x))

    def measure(raw, adjusted, summarise, x):
        if kind == "combined":
            return measure_entropy(average_log_proba(raw)), measure_distance(x)
        if kind == "distance":
            return (measure_distance(x),)
        if kind == "energy":
            return (measure_energy(raw),)
        summary = summarise()
        return (getattr(summary, "total" if kind == "entropy" else kind),)

    scores = classifier._map_logits(X, measure)
    if kind == "combined":
        assert calibration.held_scores is not None
        return calibration.held_scores.combine(*scores)
    return scores[0]
