"""Scores of class probabilities, and of uncertainties as outlier scores."""

import numpy as np
from sklearn.metrics import roc_auc_score

from sk_deltauq.metrics._checks import average, class_probabilities, real_array, row_weights


def expected_calibration_error(y_true, y_proba, *, n_bins=15, labels=None, sample_weight=None):
    """Mean distance between confidence and accuracy of a classifier; smaller is better.

    Rows are binned by the probability of their most probable class, in bins of equal width.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Class labels.
    y_proba : array-like of shape (n_samples, n_classes)
        As from ``predict_proba(X)``.
    n_bins : int, default=15
        Number of bins on [0, 1].
    labels : array-like of shape (n_classes,), default=None
        The label of each column, ``estimator.classes_``. None: the sorted labels in `y_true`,
        which must then be as many as the columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017). On calibration of modern neural networks.
    International Conference on Machine Learning, 1321-1330, eq. (3).
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}.")
    index, y_proba = class_probabilities(y_true, y_proba, labels)
    weight = row_weights(sample_weight, len(index))
    confidence = y_proba.max(axis=1)
    surplus = confidence - (y_proba.argmax(axis=1) == index)
    # Bins are closed on the right, as in the reference.
    bins = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    return float(np.abs(np.bincount(bins, weight * surplus)).sum() / weight.sum())


def brier_score(y_true, y_proba, *, labels=None, sample_weight=None):
    """Squared error of class probabilities, summed over classes; smaller is better.

    The original definition, between 0 and 2. For two classes it is twice the squared error of the
    probability of one of them, which `sklearn.metrics.brier_score_loss` returns by default.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Class labels.
    y_proba : array-like of shape (n_samples, n_classes)
        As from ``predict_proba(X)``.
    labels : array-like of shape (n_classes,), default=None
        The label of each column, ``estimator.classes_``. None: the sorted labels in `y_true`,
        which must then be as many as the columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows.
    """
    index, y_proba = class_probabilities(y_true, y_proba, labels)
    one_hot = np.eye(y_proba.shape[1])[index]
    return average(np.square(y_proba - one_hot).sum(axis=1), sample_weight)


def ood_auroc(in_scores, out_scores):
    """Area under the ROC curve of an uncertainty as a detector of out-of-distribution rows.

    Parameters
    ----------
    in_scores : array-like of shape (n_in,)
        Uncertainties of rows like the training data.
    out_scores : array-like of shape (n_out,)
        Uncertainties of rows unlike them.

    Returns
    -------
    float
        Probability that a row from outside is the less certain of two; 0.5 is guessing.
    """
    scores = [real_array("in_scores", in_scores), real_array("out_scores", out_scores)]
    is_out = np.repeat([0, 1], [len(part) for part in scores])
    return float(roc_auc_score(is_out, np.concatenate(scores)))
