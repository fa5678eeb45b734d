"""Scores of predicted probabilities, of outlier scores, and of prediction sets."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from sk_deltauq.metrics import brier_score, expected_calibration_error

N_BINS = 15


def score_probabilities(y: np.ndarray, log_proba: np.ndarray, labels) -> dict[str, float]:
    """Compute the scores of `metrics.PROBABILITY`.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Class labels, all among `labels`.
    log_proba : ndarray of shape (n_samples, n_classes)
        Logarithms of the predicted probabilities; columns in the order of `labels`.
    labels : ndarray of shape (n_classes,)
        Sorted labels.
    """
    proba, index = np.exp(log_proba), np.searchsorted(labels, y)
    proba = proba / proba.sum(axis=1, keepdims=True)
    return {
        "nll": float(-log_proba[np.arange(len(y)), index].mean()),
        "ece": expected_calibration_error(y, proba, n_bins=N_BINS, labels=labels),
        "ece_adaptive": measure_adaptive_ece(index, proba),
        "brier": brier_score(y, proba, labels=labels),
        "accuracy": float(np.mean(proba.argmax(axis=1) == index)),
    }


def measure_adaptive_ece(index: np.ndarray, proba: np.ndarray, n_bins: int = N_BINS) -> float:
    """Compute the calibration error of the top class with bins of equal numbers of rows.

    Nguyen and O'Connor (2015), "Posterior calibration and exploratory analysis for natural
    language processing models", section 3. The numbers differ by at most one row.
    """
    confidence = proba.max(axis=1)
    surplus = confidence - (proba.argmax(axis=1) == index)
    # Rows of the same confidence in random order could fall into different bins: sort them by
    # what was observed too, so that the result does not depend on the order of the rows.
    parts = np.array_split(surplus[np.lexsort([surplus, confidence])], n_bins)
    return float(sum(abs(part.sum()) for part in parts) / len(index))


def score_outliers(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """Compute the scores of `metrics.DETECTION` from outlier scores; higher is stranger.

    `aupr_in` has the inside rows as positives, `aupr_out` the outliers. `accuracy` is the largest
    mean of the two rates of correct decisions over all thresholds (Liang et al., 2018).
    """
    is_out = np.repeat([0, 1], [len(inside), len(outside)])
    scores = np.concatenate([inside, outside])
    false_alarms, found, _ = roc_curve(is_out, scores)
    return {
        "auroc": float(roc_auc_score(is_out, scores)),
        "accuracy": float(np.max((1 - false_alarms + found) / 2)),
        "aupr_in": float(average_precision_score(1 - is_out, -scores)),
        "aupr_out": float(average_precision_score(is_out, scores)),
    }


def score_sets(y: np.ndarray, sets: np.ndarray, labels) -> list[float]:
    """Return coverage and mean size of sets `(row, class)` of flags."""
    sets = np.asarray(sets, dtype=bool)
    inside = sets[np.arange(len(y)), np.searchsorted(labels, y)]
    return [float(inside.mean()), float(sets.sum(axis=1).mean())]
