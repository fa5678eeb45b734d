"""Scorers for `scoring=`: a larger score is better.

A private function has the code and the docstring of each scorer.
"""

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import log_loss

from sk_deltauq.metrics._checks import check_probabilities, check_row_weights
from sk_deltauq.metrics._classification import brier_score, expected_calibration_error
from sk_deltauq.metrics._regression import coverage as share_covered
from sk_deltauq.metrics._regression import crps, gaussian_nll, interval_score, nll
from sk_deltauq.metrics._scored_models import (
    UncertaintyScorer,
    find_model,
    predict_dist,
    predict_matching,
    predict_proba,
    predict_std,
    reshape_like,
)


def _score_nll(estimator, X, y, sample_weight=None):
    """Log-likelihood of a normal prediction, or of the classes.

    Parameters
    ----------
    estimator : fitted regressor or classifier
        A regressor with ``predict(X, return_std=True)``, or a classifier with ``predict_proba``.
        It may be inside a Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values or class labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Minus `gaussian_nll`, or minus `sklearn.metrics.log_loss`.

    Raises
    ------
    TypeError
        If the estimator does not predict its uncertainty.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `X`, `y` or `sample_weight` is invalid, for example with another number of rows or an
        unknown label. If a predicted standard deviation is 0.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_deltauq.metrics import nll_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> gp = GaussianProcessRegressor(alpha=0.1, optimizer=None)
    >>> cross_val_score(gp, X, y, cv=2, scoring=nll_scorer).round(2)
    array([-1.02, -1.34])
    """
    model, X = find_model(estimator, X)
    if is_classifier(model):
        y_proba = predict_proba(model, X)
        check_probabilities(y, y_proba, model.classes_)
        if sample_weight is not None:
            sample_weight = check_row_weights(sample_weight, len(y_proba))
        if len(model.classes_) == 1:
            return 0.0  # certain and right; log_loss does not accept a single class
        return -float(log_loss(y, y_proba, labels=model.classes_, sample_weight=sample_weight))
    mean, std = predict_std(model, X)
    return -gaussian_nll(reshape_like(y, mean.shape), mean, std, sample_weight=sample_weight)


def _score_density_nll(estimator, X, y, sample_weight=None):
    """Log-likelihood of the predictive distribution, ``predict_dist(X)``.

    Without ``predict_dist``, the distribution is normal with the predicted mean and standard
    deviation.

    Parameters
    ----------
    estimator : fitted regressor or classifier
        A regressor with ``predict_dist`` or ``predict(X, return_std=True)``, or a classifier with
        ``predict_dist``. It may be inside a Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values or class labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Minus `nll`.

    Raises
    ------
    TypeError
        If the estimator does not predict its uncertainty, or is a classifier without
        ``predict_dist``.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `X`, `y` or `sample_weight` is invalid, for example with another number of rows or an
        unknown label. If a component of a predicted distribution is a point mass.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_deltauq.metrics import density_nll_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> gp = GaussianProcessRegressor(alpha=0.1, optimizer=None)
    >>> cross_val_score(gp, X, y, cv=2, scoring=density_nll_scorer).round(2)
    array([-1.02, -1.34])
    """
    model, X = find_model(estimator, X)
    if is_classifier(model):
        dist = predict_dist(model, X)
        return -nll(y, dist, labels=model.classes_, sample_weight=sample_weight)
    y, dist = predict_matching(model, X, y)
    return -nll(y, dist, sample_weight=sample_weight)


def _score_crps(estimator, X, y, sample_weight=None):
    """Minus the CRPS of a regressor.

    Without ``predict_dist``, the distribution is normal with the predicted mean and standard
    deviation.

    Parameters
    ----------
    estimator : fitted regressor
        A regressor with ``predict_dist`` or ``predict(X, return_std=True)``. It may be inside a
        Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Minus `crps`.

    Raises
    ------
    TypeError
        If the estimator does not predict its uncertainty, or is a classifier.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `X`, `y` or `sample_weight` is invalid, for example with another number of rows.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_deltauq.metrics import crps_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> gp = GaussianProcessRegressor(alpha=0.1, optimizer=None)
    >>> cross_val_score(gp, X, y, cv=2, scoring=crps_scorer).round(2)
    array([-0.34, -0.57])
    """
    y, dist = predict_matching(estimator, X, y)
    return -crps(y, dist, sample_weight=sample_weight)


def _score_interval_score(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the interval score of a regressor.

    Without ``predict_dist``, the distribution is normal with the predicted mean and standard
    deviation.

    Parameters
    ----------
    estimator : fitted regressor
        A regressor with ``predict_dist`` or ``predict(X, return_std=True)``. It may be inside a
        Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    coverage : float, default=0.9
        Nominal coverage of the intervals. For another one, use
        ``interval_score_scorer.with_options(coverage=0.5)`` as the scorer.

    Returns
    -------
    float
        Minus `interval_score`.

    Raises
    ------
    TypeError
        If the estimator does not predict its uncertainty, or is a classifier.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `coverage` is not one number strictly between 0 and 1. If `X`, `y` or `sample_weight` is
        invalid, for example with another number of rows.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_deltauq.metrics import interval_score_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> gp = GaussianProcessRegressor(alpha=0.1, optimizer=None)
    >>> cross_val_score(gp, X, y, cv=2, scoring=interval_score_scorer).round(2)
    array([-2.92, -2.92])
    """
    y, dist = predict_matching(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    return -interval_score(y, lower, upper, coverage, sample_weight=sample_weight)


def _score_coverage_error(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the absolute error of the coverage of a regressor's intervals.

    Very wide intervals can also have the right coverage. Select models by
    `interval_score_scorer`, then check the coverage.

    Parameters
    ----------
    estimator : fitted regressor
        A regressor with ``predict_dist`` or ``predict(X, return_std=True)``. It may be inside a
        Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    coverage : float, default=0.9
        Nominal coverage of the intervals. For another one, use
        ``coverage_error_scorer.with_options(coverage=0.5)`` as the scorer.

    Returns
    -------
    float
        Minus the absolute difference of the observed and the nominal coverage.

    Raises
    ------
    TypeError
        If the estimator does not predict its uncertainty, or is a classifier.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `coverage` is not one number strictly between 0 and 1. If `X`, `y` or `sample_weight` is
        invalid, for example with another number of rows.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_deltauq.metrics import coverage_error_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> gp = GaussianProcessRegressor(alpha=0.1, optimizer=None)
    >>> cross_val_score(gp, X, y, cv=2, scoring=coverage_error_scorer).round(2)
    array([-0.1, -0.1])
    """
    y, dist = predict_matching(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    return -abs(share_covered(y, lower, upper, sample_weight=sample_weight) - coverage)


def _score_brier(estimator, X, y, sample_weight=None):
    """Minus the Brier score of a classifier, summed over classes.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier with ``predict_proba``. It may be inside a Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Minus `brier_score`.

    Raises
    ------
    TypeError
        If the estimator is not a classifier with ``predict_proba``.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `X`, `y` or `sample_weight` is invalid, for example with another number of rows or an
        unknown label.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_deltauq.metrics import brier_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> cross_val_score(GaussianNB(), X, y, cv=2, scoring=brier_scorer).round(2)
    array([-0.25, -0.25])
    """
    model, X = find_model(estimator, X)
    y_proba = predict_proba(model, X)
    return -brier_score(y, y_proba, labels=model.classes_, sample_weight=sample_weight)


def _score_ece(estimator, X, y, sample_weight=None):
    """Minus the expected calibration error of a classifier.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier with ``predict_proba``. It may be inside a Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Minus `expected_calibration_error`.

    Raises
    ------
    TypeError
        If the estimator is not a classifier with ``predict_proba``.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `X`, `y` or `sample_weight` is invalid, for example with another number of rows or an
        unknown label.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_deltauq.metrics import ece_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> cross_val_score(GaussianNB(), X, y, cv=2, scoring=ece_scorer).round(2)
    array([-0.25, -0.25])
    """
    model, X = find_model(estimator, X)
    y_proba = predict_proba(model, X)
    return -expected_calibration_error(
        y, y_proba, labels=model.classes_, sample_weight=sample_weight
    )


nll_scorer = UncertaintyScorer(_score_nll)
density_nll_scorer = UncertaintyScorer(_score_density_nll)
crps_scorer = UncertaintyScorer(_score_crps)
interval_score_scorer = UncertaintyScorer(_score_interval_score)
coverage_error_scorer = UncertaintyScorer(_score_coverage_error)
brier_scorer = UncertaintyScorer(_score_brier)
ece_scorer = UncertaintyScorer(_score_ece)
