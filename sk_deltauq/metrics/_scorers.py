"""Scorers for `scoring=`: a larger score is better."""

import inspect

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics._classification import brier_score, expected_calibration_error
from sk_deltauq.metrics._regression import coverage as share_covered
from sk_deltauq.metrics._regression import crps, gaussian_nll, interval_score, nll


def nll_scorer(estimator, X, y, sample_weight=None):
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
    model, X = _unwrap(estimator, X)
    if is_classifier(model):
        y_proba = _predict_proba(model, X)
        if len(model.classes_) == 1 and np.all(np.asarray(y) == model.classes_[0]):
            return 0.0  # certain and right; log_loss does not accept a single class
        return -float(log_loss(y, y_proba, labels=model.classes_, sample_weight=sample_weight))
    mean, std = _predict_std(model, X)
    return -gaussian_nll(_reshape_like(y, mean.shape), mean, std, sample_weight=sample_weight)


def density_nll_scorer(estimator, X, y, sample_weight=None):
    """Minus the `nll` of the predictive distribution, ``predict_dist(X)``.

    For a regressor without ``predict_dist``, the distribution is normal with the predicted mean
    and standard deviation. Parameters and errors are described in `nll_scorer`.
    """
    model, X = _unwrap(estimator, X)
    if is_classifier(model):
        dist = _predict_dist(model, X)
        return -nll(y, dist, labels=model.classes_, sample_weight=sample_weight)
    y, dist = _predict_matching(model, X, y)
    return -nll(y, dist, sample_weight=sample_weight)


def crps_scorer(estimator, X, y, sample_weight=None):
    """Minus the `crps` of a regressor; see `density_nll_scorer`."""
    y, dist = _predict_matching(estimator, X, y)
    return -crps(y, dist, sample_weight=sample_weight)


def interval_score_scorer(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the `interval_score` of a regressor; see `density_nll_scorer`.

    For another coverage pass ``functools.partial(interval_score_scorer, coverage=0.5)``.
    """
    y, dist = _predict_matching(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    return -interval_score(y, lower, upper, coverage, sample_weight=sample_weight)


def coverage_error_scorer(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the absolute error of the observed `coverage` of a regressor's intervals.

    Very wide intervals can also have this coverage. Select models by `interval_score_scorer`, then
    check the coverage. See `density_nll_scorer`.
    """
    y, dist = _predict_matching(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    return -abs(share_covered(y, lower, upper, sample_weight=sample_weight) - coverage)


def brier_scorer(estimator, X, y, sample_weight=None):
    """Minus the `brier_score` of a classifier; see `nll_scorer`."""
    model, X = _unwrap(estimator, X)
    y_proba = _predict_proba(model, X)
    return -brier_score(y, y_proba, labels=model.classes_, sample_weight=sample_weight)


def ece_scorer(estimator, X, y, sample_weight=None):
    """Minus the `expected_calibration_error` of a classifier; see `nll_scorer`."""
    model, X = _unwrap(estimator, X)
    y_proba = _predict_proba(model, X)
    return -expected_calibration_error(
        y, y_proba, labels=model.classes_, sample_weight=sample_weight
    )


def _unwrap(estimator, X):
    """Remove searches and pipelines, which do not forward predict_dist and return_std."""
    if hasattr(estimator, "best_estimator_"):
        return _unwrap(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return _unwrap(estimator[-1], X)
    return estimator, X


def _predict_proba(model, X):
    if not (is_classifier(model) and hasattr(model, "predict_proba")):
        raise TypeError(
            f"This score needs a classifier with predict_proba, got {type(model).__name__}."
        )
    return model.predict_proba(X)


def _predict_std(model, X):
    parameters = inspect.signature(model.predict).parameters if hasattr(model, "predict") else ()
    if is_classifier(model) or "return_std" not in parameters:
        raise TypeError(
            "This score needs an estimator that predicts its uncertainty: a regressor with "
            "predict(X, return_std=True), or an estimator with predict_dist, got "
            f"{type(model).__name__}."
        )
    return model.predict(X, return_std=True)


def _predict_dist(model, X):
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    mean, std = _predict_std(model, X)
    return NormalMixture(mean[None], std[None])


def _predict_matching(estimator, X, y):
    """Predict the distribution of a regressor, and give `y` the same shape."""
    model, X = _unwrap(estimator, X)
    if is_classifier(model):
        raise TypeError(f"This score needs a regressor, got {type(model).__name__}.")
    dist = _predict_dist(model, X)
    return _reshape_like(y, dist.mean.shape), dist


def _reshape_like(y, shape):
    """Add or drop the axis of a single output, as some regressors do."""
    y = np.asarray(y)
    return y.reshape(shape) if (*y.shape, 1) == shape or y.shape == (*shape, 1) else y
