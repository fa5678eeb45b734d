"""Scorers for `scoring=`: a larger score is better.

A private function has the code and the docstring of each scorer.
"""

import copy
import functools
import inspect

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import log_loss

from sk_deltauq._sklearn import BaseScorer
from sk_deltauq._wrappers import NO_STD_OF_TRANSFORMED_TARGET, open_layers
from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics._classification import brier_score, expected_calibration_error
from sk_deltauq.metrics._regression import coverage as share_covered
from sk_deltauq.metrics._regression import crps, gaussian_nll, interval_score, nll


class UncertaintyScorer(BaseScorer):
    """A scikit-learn scorer made from a function of a fitted estimator, rows and targets.

    `sklearn.metrics.make_scorer` gives a function the result of `predict` or `predict_proba`. A
    score of the predicted uncertainty needs other methods of the estimator.
    """

    def __init__(self, function, **options):
        # Every estimator has `predict`. Searches with several scorers only compare the names.
        super().__init__(function, sign=1, kwargs=options, response_method="predict")
        functools.update_wrapper(self, function)
        self.__name__ = self.__qualname__ = f"{function.__name__.removeprefix('_score_')}_scorer"

    def __call__(self, estimator, X, y, sample_weight=None, **options):
        """Score a fitted estimator on rows `X` with targets `y`."""
        return self._score(None, estimator, X, y, sample_weight=sample_weight, **options)

    def with_options(self, **options):
        """Return a copy of this scorer with other options, such as ``coverage=0.5``."""
        known = inspect.signature(self._score_func).parameters.values()
        known = [p.name for p in known if p.kind is p.KEYWORD_ONLY]
        for name in options:
            if name not in known:
                raise TypeError(
                    f"{self.__name__} has no option {name!r}. Its options are {known}."
                )
        changed = copy.copy(self)
        changed._kwargs = {**self._kwargs, **options}
        return changed

    def set_score_request(self, **requests):
        """Return a copy of this scorer that requests metadata, such as `sample_weight`.

        A copy, because the scorers of this package are shared by all code that imports them.
        Without metadata routing this raises a RuntimeError, as for all scikit-learn scorers.
        """
        return super(UncertaintyScorer, copy.copy(self)).set_score_request(**requests)

    def __repr__(self):
        options = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{self.__name__}.with_options({options})" if options else self.__name__

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        """Score an estimator; scikit-learn calls this method of a scorer."""
        return self._score_func(estimator, X, y_true, **{**self._kwargs, **kwargs})


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
    model, X = _find_model(estimator, X)
    if is_classifier(model):
        y_proba = _predict_proba(model, X)
        if len(model.classes_) == 1 and np.all(np.asarray(y) == model.classes_[0]):
            return 0.0  # certain and right; log_loss does not accept a single class
        return -float(log_loss(y, y_proba, labels=model.classes_, sample_weight=sample_weight))
    mean, std = _predict_std(model, X)
    return -gaussian_nll(_reshape_like(y, mean.shape), mean, std, sample_weight=sample_weight)


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
        If the estimator does not predict its uncertainty.

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
    model, X = _find_model(estimator, X)
    if is_classifier(model):
        dist = _predict_dist(model, X)
        return -nll(y, dist, labels=model.classes_, sample_weight=sample_weight)
    y, dist = _predict_matching(model, X, y)
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
    y, dist = _predict_matching(estimator, X, y)
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
    y, dist = _predict_matching(estimator, X, y)
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
    y, dist = _predict_matching(estimator, X, y)
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
        If the estimator has no ``predict_proba``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_deltauq.metrics import brier_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> cross_val_score(GaussianNB(), X, y, cv=2, scoring=brier_scorer).round(2)
    array([-0.25, -0.25])
    """
    model, X = _find_model(estimator, X)
    y_proba = _predict_proba(model, X)
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
        If the estimator has no ``predict_proba``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_deltauq.metrics import ece_scorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> cross_val_score(GaussianNB(), X, y, cv=2, scoring=ece_scorer).round(2)
    array([-0.25, -0.25])
    """
    model, X = _find_model(estimator, X)
    y_proba = _predict_proba(model, X)
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


def _find_model(estimator, X):
    """Find the innermost model: pipelines and searches pass on neither std nor distribution."""
    *_, innermost = open_layers(estimator, X)
    return innermost


def _predict_proba(model, X):
    if not (is_classifier(model) and hasattr(model, "predict_proba")):
        raise TypeError(
            f"This score needs a classifier with predict_proba, got {type(model).__name__}."
        )
    return model.predict_proba(X)


def _predict_std(model, X):
    parameters = inspect.signature(model.predict).parameters if hasattr(model, "predict") else ()
    if is_classifier(model) or "return_std" not in parameters:
        is_transformed = isinstance(model, TransformedTargetRegressor)
        advice = f" {NO_STD_OF_TRANSFORMED_TARGET}" if is_transformed else ""
        raise TypeError(
            "This score needs an estimator that predicts its uncertainty: a regressor with "
            "predict(X, return_std=True), or an estimator with predict_dist, got "
            f"{type(model).__name__}.{advice}"
        )
    return model.predict(X, return_std=True)


def _predict_dist(model, X):
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    mean, std = _predict_std(model, X)
    return NormalMixture(mean[None], std[None])


def _predict_matching(estimator, X, y):
    """Predict the distribution of a regressor, and give `y` the same shape."""
    model, X = _find_model(estimator, X)
    if is_classifier(model):
        raise TypeError(f"This score needs a regressor, got {type(model).__name__}.")
    dist = _predict_dist(model, X)
    return _reshape_like(y, dist.mean.shape), dist


def _reshape_like(y, shape):
    """Add or drop the axis of a single output, as some regressors do."""
    y = np.asarray(y)
    return y.reshape(shape) if (*y.shape, 1) == shape or y.shape == (*shape, 1) else y
