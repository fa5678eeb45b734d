"""Scores of class probabilities, and of uncertainties used as outlier scores."""

import numpy as np
from sklearn.metrics import roc_auc_score

from sk_deltauq.metrics._checks import (
    average,
    check_number_of_bins,
    check_probabilities,
    check_real,
    check_row_weights,
    find_bins,
)


def expected_calibration_error(y_true, y_proba, *, n_bins=15, labels=None, sample_weight=None):
    """Mean absolute difference of confidence and accuracy; smaller is better.

    Rows are grouped into bins of equal width by the probability of their most probable class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Class labels.
    y_proba : array-like of shape (n_samples, n_classes)
        Predicted probabilities, ``predict_proba(X)``.
    n_bins : int, default=15
        Number of bins on [0, 1].
    labels : array-like of shape (n_classes,), default=None
        Label of each column, ``estimator.classes_``. None uses the sorted labels in `y_true`,
        which must contain every class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If `n_bins` is not an integer of at least 1. If `y_proba` does not hold probabilities, or
        `y_true` does not have one label for each of its rows. If `labels` does not have one label
        for each column, or lacks a label in `y_true`. If `sample_weight` has another shape, a
        value that is negative or not finite, or only zeros.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017). On calibration of modern neural networks.
    International Conference on Machine Learning, 1321-1330, eq. (3).

    Examples
    --------
    Four predictions are 80 % sure, and three of them are right:

    >>> from sk_deltauq.metrics import expected_calibration_error
    >>> y_proba = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]
    >>> round(expected_calibration_error([0, 0, 1, 0], y_proba), 2)
    0.05
    """
    check_number_of_bins(n_bins)
    index, y_proba = check_probabilities(y_true, y_proba, labels)
    weight = check_row_weights(sample_weight, len(index))
    confidence = y_proba.max(axis=1)
    surplus = confidence - (y_proba.argmax(axis=1) == index)
    bins = find_bins(confidence, n_bins)  # with their upper edge, as in the paper
    return float(np.abs(np.bincount(bins, weight * surplus)).sum() / weight.sum())


def brier_score(y_true, y_proba, *, labels=None, sample_weight=None):
    """Squared error of class probabilities, summed over classes; smaller is better.

    The score lies between 0 and 2, and equals `sklearn.metrics.brier_score_loss` with
    ``scale_by_half=False``, which scikit-learn has since version 1.7. Unlike that function, it
    takes columns in any order and a single class. For two classes, that function halves the score
    by default.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Class labels.
    y_proba : array-like of shape (n_samples, n_classes)
        Predicted probabilities, ``predict_proba(X)``.
    labels : array-like of shape (n_classes,), default=None
        Label of each column, ``estimator.classes_``. None uses the sorted labels in `y_true`,
        which must contain every class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows.

    Raises
    ------
    ValueError
        If `y_proba` does not hold probabilities, or `y_true` does not have one label for each of
        its rows. If `labels` does not have one label for each column, or lacks a label in
        `y_true`. If `sample_weight` has another shape, a value that is negative or not finite, or
        only zeros.

    Examples
    --------
    >>> from sk_deltauq.metrics import brier_score
    >>> round(brier_score(["ash", "oak"], [[0.9, 0.1], [0.4, 0.6]]), 2)
    0.17
    """
    index, y_proba = check_probabilities(y_true, y_proba, labels)
    one_hot = np.eye(y_proba.shape[1])[index]
    return average(np.square(y_proba - one_hot).sum(axis=1), sample_weight)


def ood_auroc(in_scores, out_scores):
    """Area under the ROC curve of an uncertainty as a detector of out-of-distribution rows.

    Parameters
    ----------
    in_scores : array-like of shape (n_in,)
        Uncertainties of in-distribution rows.
    out_scores : array-like of shape (n_out,)
        Uncertainties of out-of-distribution rows.

    Returns
    -------
    float
        Probability that an out-of-distribution row has a larger uncertainty than an
        in-distribution row. 0.5 is the score of a random guess.

    Raises
    ------
    ValueError
        If an array is empty, has several columns, or has a value that is not finite.

    Examples
    --------
    Five of the six pairs are in the right order:

    >>> from sk_deltauq.metrics import ood_auroc
    >>> round(ood_auroc(in_scores=[0.1, 0.2, 0.6], out_scores=[0.5, 0.9]), 2)
    0.83
    """
    scores = [check_real("in_scores", in_scores), check_real("out_scores", out_scores)]
    for name, part in zip(("in_scores", "out_scores"), scores, strict=True):
        if part.ndim != 1:
            raise ValueError(f"{name} must have shape (n_samples,), got {part.shape}.")
    is_out = np.repeat([0, 1], [len(part) for part in scores])
    return float(roc_auc_score(is_out, np.concatenate(scores)))
