"""Scores of real-valued predictions, and the log-likelihood for any prediction."""

import math

import numpy as np

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.distributions._arrays import check_coverage, check_distribution
from sk_deltauq.metrics._checks import (
    average,
    check_intervals,
    check_real,
    check_row_weights,
    check_same_shape,
    find_class_index,
)


def gaussian_nll(y_true, mean, std, *, sample_weight=None):
    """Negative log-likelihood of normal predictions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    mean, std : array-like of the shape of `y_true`
        Predictions, ``predict(X, return_std=True)``. Every `std` must be positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in nats.

    Raises
    ------
    ValueError
        If an array is empty or has more than two axes, or if shapes differ. If a value is not
        finite, or a `std` is not positive. If `sample_weight` has another shape, a value that is
        negative or not finite, or only zeros.

    Examples
    --------
    >>> from sk_deltauq.metrics import gaussian_nll
    >>> round(gaussian_nll([0.0, 1.0], mean=[0.0, 0.0], std=[1.0, 1.0]), 3)
    1.169
    """
    y_true, mean, std = check_same_shape(y_true=y_true, mean=mean, std=std)
    if std.min() <= 0:
        raise ValueError(
            f"std must be positive, got a minimum of {std.min()}. A prediction without noise has "
            "no density; use gaussian_crps instead."
        )
    scores = np.log(math.sqrt(2 * math.pi) * std) + 0.5 * ((y_true - mean) / std) ** 2
    return average(scores, sample_weight)


def nll(y_true, dist, *, labels=None, sample_weight=None):
    """Negative log-likelihood of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values, or class labels.
    dist : NormalMixture, TransformedMixture or CategoricalMixture
        Predictions, ``predict_dist(X)``.
    labels : array-like of shape (n_classes,), default=None
        For classes, the label of each column of `dist`, ``estimator.classes_``. None uses the
        sorted labels in `y_true`, which must contain every class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in nats.

    Raises
    ------
    TypeError
        If `dist` is not a distribution.
    ValueError
        If `y_true` has another shape than the predictions, or a value that is not finite. If a
        component of `dist` is a point mass. If `labels` does not have one label for each class,
        lacks a label in `y_true`, or is given for real values. If `sample_weight` has another
        shape, a value that is negative or not finite, or only zeros.

    Examples
    --------
    Two rows with equal forecasts of two components, at 0 and at 2. The first value lies on a
    component, the second between them:

    >>> import numpy as np
    >>> from sk_deltauq.distributions import NormalMixture
    >>> from sk_deltauq.metrics import nll
    >>> mean = np.array([[0.0, 0.0], [2.0, 2.0]])  # (component, sample)
    >>> dist = NormalMixture(mean, np.full((2, 2), 0.5))
    >>> round(nll([0.0, 1.0], dist), 3)
    1.572
    """
    if hasattr(dist, "log_prob"):
        index = find_class_index(y_true, dist.n_classes, labels)
        return average(-dist.log_prob(index), sample_weight)
    check_distribution("dist", dist, "log_pdf")
    if labels is not None:
        raise ValueError("labels must be None for a distribution of real values.")
    return average(-dist.log_pdf(check_real("y_true", y_true)), sample_weight)


def crps(y_true, dist, *, sample_weight=None):
    """Continuous ranked probability score of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    dist : NormalMixture or TransformedMixture
        Predictions, ``predict_dist(X)``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.

    Raises
    ------
    TypeError
        If `dist` is not a distribution.
    ValueError
        If `y_true` has another shape than the predictions, or a value that is not finite. If
        `sample_weight` has another shape, a value that is negative or not finite, or only zeros.

    Examples
    --------
    The score of a normal prediction with the standard deviation 1, when the value is the mean, and
    when it is 3 above:

    >>> import numpy as np
    >>> from sk_deltauq.distributions import NormalMixture
    >>> from sk_deltauq.metrics import crps
    >>> dist = NormalMixture(np.zeros((1, 1)), np.ones((1, 1)))  # (component, sample)
    >>> round(crps([0.0], dist), 3), round(crps([3.0], dist), 3)
    (0.234, 2.437)
    """
    check_distribution("dist", dist, "crps")
    return average(dist.crps(check_real("y_true", y_true)), sample_weight)


def gaussian_crps(y_true, mean, std, *, sample_weight=None):
    """Continuous ranked probability score of normal predictions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    mean, std : array-like of the shape of `y_true`
        Predictions, ``predict(X, return_std=True)``. If `std` is 0, the score is the absolute
        error.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.

    Raises
    ------
    ValueError
        If an array is empty or has more than two axes, or if shapes differ. If a value is not
        finite, or a `std` is negative. If `sample_weight` has another shape, a value that is
        negative or not finite, or only zeros.

    Examples
    --------
    The right standard deviation scores better than one that is too small or too large, on average
    over normal errors:

    >>> import numpy as np
    >>> from sk_deltauq.metrics import gaussian_crps
    >>> y_true = np.random.default_rng(0).normal(size=1000)
    >>> for std in (0.3, 1.0, 3.0):
    ...     print(std, round(gaussian_crps(y_true, np.zeros(1000), np.full(1000, std)), 2))
    0.3 0.64
    1.0 0.55
    3.0 0.82
    """
    y_true, mean, std = check_same_shape(y_true=y_true, mean=mean, std=std)
    return crps(y_true, NormalMixture(mean[None], std[None]), sample_weight=sample_weight)


def interval_score(y_true, lower, upper, coverage=0.9, *, sample_weight=None):
    """Width of predictive intervals plus a penalty for values outside; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    lower, upper : array-like of the shape of `y_true`
        Bounds of equal-tailed intervals.
    coverage : float, default=0.9
        Nominal probability of the intervals, strictly between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.

    Raises
    ------
    ValueError
        If `coverage` is not strictly between 0 and 1. If an array is empty or has more than two
        axes, or if shapes differ. If a bound is NaN, a value in `y_true` is not finite, or a lower
        bound exceeds the upper one. If `sample_weight` has another shape, a value that is negative
        or not finite, or only zeros.

    References
    ----------
    Gneiting and Raftery (2007). Strictly proper scoring rules, prediction, and estimation.
    Journal of the American Statistical Association 102, 359-378, eq. (43).

    Examples
    --------
    The interval [0, 1] has the width 1. The second value lies 0.5 above it, which costs
    0.5 * 2 / (1 - 0.9) = 10:

    >>> from sk_deltauq.metrics import interval_score
    >>> round(interval_score([0.4], [0.0], [1.0], coverage=0.9), 3)
    1.0
    >>> round(interval_score([1.5], [0.0], [1.0], coverage=0.9), 3)
    11.0
    """
    check_coverage(coverage)
    y_true, lower, upper = check_intervals(y_true=y_true, lower=lower, upper=upper)
    outside = np.maximum(lower - y_true, 0) + np.maximum(y_true - upper, 0)
    return average(upper - lower + 2 / (1 - coverage) * outside, sample_weight)


def coverage(y_true, lower, upper, *, sample_weight=None):
    """Fraction of the values inside their predictive intervals, bounds included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    lower, upper : array-like of the shape of `y_true`
        Bounds of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1; compare it with the nominal probability of the intervals.

    Raises
    ------
    ValueError
        If an array is empty or has more than two axes, or if shapes differ. If a bound is NaN, a
        value in `y_true` is not finite, or a lower bound exceeds the upper one. If `sample_weight`
        has another shape, a value that is negative or not finite, or only zeros.

    Examples
    --------
    >>> from sk_deltauq.metrics import coverage
    >>> coverage([0.4, 1.5, 3.0, 1.0], lower=[0, 0, 2, 0], upper=[1, 1, 4, 1])
    0.75
    """
    y_true, lower, upper = check_intervals(y_true=y_true, lower=lower, upper=upper)
    return average((lower <= y_true) & (y_true <= upper), sample_weight)


def mean_width(lower, upper, *, sample_weight=None):
    """Mean width of predictive intervals (sharpness); smaller is better at equal coverage.

    Parameters
    ----------
    lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Bounds of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of the intervals.

    Raises
    ------
    ValueError
        If an array is empty or has more than two axes, or if shapes differ. If a bound is NaN, or
        a lower bound exceeds the upper one. If `sample_weight` has another shape, a value that is
        negative or not finite, or only zeros.

    Examples
    --------
    >>> from sk_deltauq.metrics import mean_width
    >>> mean_width(lower=[0, 0, 2], upper=[1, 1, 6])
    2.0
    """
    lower, upper = check_intervals(lower=lower, upper=upper)
    return average(upper - lower, sample_weight)


def quantile_calibration_error(y_true, dist, *, quantiles=None, sample_weight=None):
    """Mean absolute difference between nominal and observed levels of predicted quantiles.

    The observed level is the fraction of the values at or below the predicted quantile. 0 is
    perfect calibration. Sampling noise alone gives about ``0.3 / sqrt(n_samples)``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    dist : NormalMixture or TransformedMixture
        Predictions, ``predict_dist(X)``.
    quantiles : array-like of shape (n_quantiles,), default=None
        Levels strictly between 0 and 1. None uses 0.05, 0.10, ..., 0.95.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over levels and outputs, between 0 and 1.

    Raises
    ------
    TypeError
        If `dist` is not a distribution.
    ValueError
        If `y_true` has another shape than the predictions, or a value that is not finite. If
        `quantiles` is empty or has two axes, or a level is not strictly between 0 and 1. If
        `sample_weight` has another shape, a value that is negative or not finite, or only zeros.

    Examples
    --------
    Standard deviations that are too small by half are found:

    >>> import numpy as np
    >>> from sk_deltauq.distributions import NormalMixture
    >>> from sk_deltauq.metrics import quantile_calibration_error
    >>> y_true = np.random.default_rng(0).normal(size=1000)
    >>> for std in (1.0, 0.5):
    ...     dist = NormalMixture(np.zeros((1, 1000)), np.full((1, 1000), std))
    ...     print(std, round(quantile_calibration_error(y_true, dist), 2))
    1.0 0.02
    0.5 0.1
    """
    check_distribution("dist", dist, "cdf")
    levels = np.arange(1, 20) / 20 if quantiles is None else np.atleast_1d(quantiles)
    levels = check_real("quantiles", levels)
    if levels.ndim != 1 or levels.min() <= 0 or levels.max() >= 1:
        raise ValueError(f"quantiles must be a 1-D array in (0, 1), got {quantiles!r}.")
    y_true = check_real("y_true", y_true)
    # A value exceeds its q-quantile if the cdf reaches q to the left of the value. The limit from
    # the left differs from the cdf only at point masses.
    pit = dist.cdf(np.nextafter(y_true, -np.inf))
    weight = check_row_weights(sample_weight, len(pit))
    errors = [np.abs(np.average(pit < q, axis=0, weights=weight) - q) for q in levels]
    return float(np.mean(errors))
