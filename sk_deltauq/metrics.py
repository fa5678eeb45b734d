"""Scores of predicted uncertainty, and scorers for cross-validation and grid search.

The metrics compare observed values with predictions, as those of `sklearn.metrics` do; several
outputs are averaged. The scorers, such as ``scoring=nll_scorer``, ask a fitted estimator for its
uncertainty, which scikit-learn's own scorers cannot; more is better.
"""

import inspect
import math

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, column_or_1d

from sk_deltauq.distributions import NormalMixture

__all__ = [
    "brier_score",
    "brier_scorer",
    "coverage",
    "coverage_error_scorer",
    "crps",
    "crps_scorer",
    "density_nll_scorer",
    "ece_scorer",
    "expected_calibration_error",
    "gaussian_crps",
    "gaussian_nll",
    "interval_score",
    "interval_score_scorer",
    "mean_width",
    "nll",
    "nll_scorer",
    "ood_auroc",
    "quantile_calibration_error",
]


def gaussian_nll(y_true, mean, std, *, sample_weight=None):
    """Negative log likelihood of normal predictions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    mean, std : array-like of the shape of `y_true`
        As from ``predict(X, return_std=True)``. Every `std` must be positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in nats.

    Examples
    --------
    >>> from sk_deltauq.metrics import gaussian_nll
    >>> round(gaussian_nll([0.0, 1.0], mean=[0.0, 0.0], std=[1.0, 1.0]), 3)
    1.169
    """
    y_true, mean, std = _same_shape(y_true=y_true, mean=mean, std=std)
    if std.min() <= 0:
        raise ValueError(
            f"std must be positive, got a minimum of {std.min()}. A prediction without noise has "
            "no density; score it by gaussian_crps."
        )
    scores = np.log(math.sqrt(2 * math.pi) * std) + 0.5 * ((y_true - mean) / std) ** 2
    return _average(scores, sample_weight)


def nll(y_true, dist, *, labels=None, sample_weight=None):
    """Negative log likelihood of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values, or class labels.
    dist : NormalMixture or CategoricalMixture
        As from ``predict_dist(X)``.
    labels : array-like of shape (n_classes,), default=None
        For classes: the label of each column of `dist`, ``estimator.classes_``. None: the sorted
        labels in `y_true`, which must then be as many as the columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in nats.
    """
    if hasattr(dist, "log_prob"):
        index = _class_index(y_true, dist.n_classes, labels)
        return _average(-dist.log_prob(index), sample_weight)
    if labels is not None:
        raise ValueError("labels must be None for a distribution of real values.")
    return _average(-dist.log_pdf(_real("y_true", y_true)), sample_weight)


def crps(y_true, dist, *, sample_weight=None):
    """Continuous ranked probability score of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    dist : NormalMixture
        As from ``predict_dist(X)``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.
    """
    return _average(dist.crps(_real("y_true", y_true)), sample_weight)


def gaussian_crps(y_true, mean, std, *, sample_weight=None):
    """Continuous ranked probability score of normal predictions; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    mean, std : array-like of the shape of `y_true`
        As from ``predict(X, return_std=True)``. Where `std` is 0 the score is the absolute error.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.
    """
    y_true, mean, std = _same_shape(y_true=y_true, mean=mean, std=std)
    return crps(y_true, NormalMixture(mean[None], std[None]), sample_weight=sample_weight)


def interval_score(y_true, lower, upper, coverage=0.9, *, sample_weight=None):
    """Width of prediction intervals plus a penalty for each value outside; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    lower, upper : array-like of the shape of `y_true`
        Ends of equal-tailed intervals.
    coverage : float, default=0.9
        Probability that the intervals claim, strictly between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of `y_true`.

    References
    ----------
    Gneiting and Raftery (2007). Strictly proper scoring rules, prediction, and estimation.
    Journal of the American Statistical Association 102, 359-378, eq. (43).
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie strictly between 0 and 1, got {coverage!r}.")
    y_true, lower, upper = _intervals(y_true=y_true, lower=lower, upper=upper)
    outside = np.maximum(lower - y_true, 0) + np.maximum(y_true - upper, 0)
    return _average(upper - lower + 2 / (1 - coverage) * outside, sample_weight)


def coverage(y_true, lower, upper, *, sample_weight=None):
    """Share of the values that lie in their prediction intervals, ends included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    lower, upper : array-like of the shape of `y_true`
        Ends of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1; to be compared with the probability that the intervals claim.
    """
    y_true, lower, upper = _intervals(y_true=y_true, lower=lower, upper=upper)
    return _average((lower <= y_true) & (y_true <= upper), sample_weight)


def mean_width(lower, upper, *, sample_weight=None):
    """Mean width of prediction intervals (sharpness); smaller is better at equal coverage.

    Parameters
    ----------
    lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Ends of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over rows and outputs, in the units of the intervals.
    """
    lower, upper = _intervals(lower=lower, upper=upper)
    return _average(upper - lower, sample_weight)


def quantile_calibration_error(y_true, dist, *, quantiles=None, sample_weight=None):
    """Mean distance between the levels of predicted quantiles and how often they hold.

    For each level q: the absolute difference of q and the share of the values that are at most
    their predicted q-quantile. 0 is perfect calibration; sampling noise alone gives about
    ``0.3 / sqrt(n_samples)``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observed values.
    dist : NormalMixture
        As from ``predict_dist(X)``.
    quantiles : array-like of shape (n_quantiles,), default=None
        Levels strictly between 0 and 1. None: 0.05, 0.10, ..., 0.95.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over levels and outputs, between 0 and 1.
    """
    levels = _real("quantiles", np.arange(1, 20) / 20 if quantiles is None else quantiles)
    if levels.ndim != 1 or levels.min() <= 0 or levels.max() >= 1:
        raise ValueError(f"quantiles must be a 1-D array in (0, 1), got {quantiles!r}.")
    y_true = _real("y_true", y_true)
    # A value exceeds its q-quantile if the cdf reaches q to the left of the value. The limit from
    # the left differs from the cdf at point masses alone.
    pit = dist.cdf(np.nextafter(y_true, -np.inf))
    weight = _weights(sample_weight, len(pit))
    errors = [np.abs(np.average(pit < q, axis=0, weights=weight) - q) for q in levels]
    return float(np.mean(errors))


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
    International Conference on Machine Learning, 1321-1330, eq. (5).
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}.")
    index, y_proba = _classification(y_true, y_proba, labels)
    weight = _weights(sample_weight, len(index))
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
    index, y_proba = _classification(y_true, y_proba, labels)
    one_hot = np.eye(y_proba.shape[1])[index]
    return _average(np.square(y_proba - one_hot).sum(axis=1), sample_weight)


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
    scores = [_real("in_scores", in_scores), _real("out_scores", out_scores)]
    is_out = np.repeat([0, 1], [len(part) for part in scores])
    return float(roc_auc_score(is_out, np.concatenate(scores)))


def nll_scorer(estimator, X, y, sample_weight=None):
    """Minus the negative log likelihood: of a normal, or of the classes.

    Parameters
    ----------
    estimator : fitted regressor or classifier
        A regressor whose predict takes ``return_std=True``, or a classifier with predict_proba;
        also inside a Pipeline or a search.
    X : array-like of shape (n_samples, n_features)
        Data to predict.
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
        If the estimator cannot say how sure it is.

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
        return -float(log_loss(y, y_proba, labels=model.classes_, sample_weight=sample_weight))
    mean, std = _predict_std(model, X)
    return -gaussian_nll(_like(y, mean.shape), mean, std, sample_weight=sample_weight)


def density_nll_scorer(estimator, X, y, sample_weight=None):
    """Minus the `nll` of the whole predictive distribution, ``predict_dist(X)``.

    Regressors without predict_dist count as normal with the std they return. The other parameters
    and errors are those of `nll_scorer`.
    """
    model, X = _unwrap(estimator, X)
    if is_classifier(model):
        dist = _predict_dist(model, X)
        return -nll(y, dist, labels=model.classes_, sample_weight=sample_weight)
    y, dist = _observed_and_dist(model, X, y)
    return -nll(y, dist, sample_weight=sample_weight)


def crps_scorer(estimator, X, y, sample_weight=None):
    """Minus the `crps` of a regressor; see `density_nll_scorer`."""
    y, dist = _observed_and_dist(estimator, X, y)
    return -crps(y, dist, sample_weight=sample_weight)


def interval_score_scorer(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the `interval_score` of a regressor; see `density_nll_scorer`.

    For another coverage pass ``functools.partial(interval_score_scorer, coverage=0.5)``.
    """
    y, dist = _observed_and_dist(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    return -interval_score(y, lower, upper, coverage, sample_weight=sample_weight)


def coverage_error_scorer(estimator, X, y, sample_weight=None, *, coverage=0.9):
    """Minus the distance of a regressor's interval coverage from `coverage`.

    Wide intervals can reach it too: choose models by `interval_score_scorer`, and check the choice
    with this one. See `density_nll_scorer`.
    """
    y, dist = _observed_and_dist(estimator, X, y)
    lower, upper = np.moveaxis(dist.interval(coverage), -1, 0)
    observed = _average((lower <= y) & (y <= upper), sample_weight)
    return -abs(observed - coverage)


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


def _real(name, values):
    return check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)


def _same_shape(**arrays):
    arrays = {name: _real(name, values) for name, values in arrays.items()}
    first, *others = arrays
    for name in others:
        if arrays[name].shape != arrays[first].shape:
            raise ValueError(
                f"{name} must have the shape of {first}, {arrays[first].shape}, got "
                f"{arrays[name].shape}. Reshape one: broadcasting would pair every row with all."
            )
    return arrays.values()


def _intervals(**arrays):
    arrays = _same_shape(**arrays)
    *_, lower, upper = arrays
    if (lower > upper).any():
        raise ValueError("lower must not exceed upper. Are the two swapped?")
    return arrays


def _class_index(y_true, n_classes, labels):
    """Column of each row's class."""
    y_true = column_or_1d(y_true)
    labels = np.unique(y_true) if labels is None else column_or_1d(labels)
    if len(labels) != n_classes:
        raise ValueError(
            f"labels must name the {n_classes} columns of the prediction, got {len(labels)}: "
            f"{labels}. Pass labels=estimator.classes_."
        )
    matches = y_true[:, None] == labels
    known = matches.any(axis=1)
    if not known.all():
        raise ValueError(
            f"y_true must contain labels of the prediction alone, {labels}, got "
            f"{np.unique(y_true[~known])} too."
        )
    return matches.argmax(axis=1)


def _classification(y_true, y_proba, labels):
    y_proba = check_array(y_proba, dtype=np.float64, input_name="y_proba")
    index = _class_index(y_true, y_proba.shape[1], labels)
    if len(index) != len(y_proba):
        raise ValueError(
            f"y_true and y_proba must have as many rows, got {len(index)} and {len(y_proba)}."
        )
    # float32 probabilities miss a sum of 1 by 1e-6, logits by far more.
    if y_proba.min() < 0 or np.abs(y_proba.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("y_proba must be probabilities: not negative, rows that sum to 1.")
    return index, y_proba


def _weights(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    weights = _real("sample_weight", sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight a row, got {weights.shape}."
        )
    if weights.min() < 0 or weights.sum() == 0:
        raise ValueError("sample_weight must not be negative, and not 0 throughout.")
    return weights


def _average(scores, sample_weight):
    """Weighted mean over rows, plain mean over outputs."""
    by_row = scores.reshape(len(scores), -1).mean(axis=1)
    return float(np.average(by_row, weights=_weights(sample_weight, len(scores))))


def _unwrap(estimator, X):
    """Peel off searches and pipelines, which pass on neither predict_dist nor return_std."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
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
            "This score needs an estimator that says how sure it is: a regressor whose predict "
            f"takes return_std=True, or one with predict_dist, got {type(model).__name__}."
        )
    return model.predict(X, return_std=True)


def _predict_dist(model, X):
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    mean, std = _predict_std(model, X)
    return NormalMixture(mean[None], std[None])


def _observed_and_dist(estimator, X, y):
    """`y` in the shape of a regressor's prediction, and the predicted distribution."""
    model, X = _unwrap(estimator, X)
    if is_classifier(model):
        raise TypeError(f"This score needs a regressor, got {type(model).__name__}.")
    dist = _predict_dist(model, X)
    return _like(y, dist.mean.shape), dist


def _like(y, shape):
    """Add or drop the axis of a single output, which some regressors do to `y`."""
    y = np.asarray(y)
    return y.reshape(shape) if (*y.shape, 1) == shape or y.shape == (*shape, 1) else y
