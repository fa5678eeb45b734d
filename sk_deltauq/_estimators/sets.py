"""Prediction sets of a classifier, from the logits of its components."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from sk_deltauq._outlier_scores import average_log_proba
from sk_deltauq._prediction_sets import METHODS, HeldOutLabels, draw_for_rows


def predict_sets(
    held: HeldOutLabels | None,
    map_logits: Callable,
    X,
    coverage: float,
    method: str,
    allow_empty: bool,
) -> np.ndarray:
    """Predict which classes are in the set of each row, `(row, class)`.

    `map_logits(X, function)` gives the logits of the components, in chunks.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
    if held is None:
        raise ValueError(
            "predict_set compares a row with rows that were held out of training, and this model "
            "has none, because of early_stopping=False, too few rows, or partial_fit. Call fit "
            "with early_stopping=True."
        )
    held.check_coverage(coverage)

    def predict_chunk(raw, adjusted, summarise, x):
        proba = [
            average_log_proba(adjusted if f.components is None else adjusted[f.components])
            .exp()
            .cpu()
            .numpy()
            for f in held.folds
        ]
        sets = held.predict(proba, draw_for_rows(x.cpu().numpy()), coverage, method)
        if not allow_empty:
            most_probable = average_log_proba(adjusted).argmax(dim=1).cpu().numpy()
            sets[np.arange(len(sets)), most_probable] = True
        return (torch.from_numpy(sets),)

    return map_logits(X, predict_chunk)[0].astype(bool)
