"""What scorers ask of models: the scorer class, and predictions with a clear error."""

import copy
import functools
import inspect

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor

from sk_deltauq._sklearn import BaseScorer
from sk_deltauq._wrappers import NO_STD_OF_TRANSFORMED_TARGET, open_layers
from sk_deltauq.distributions import NormalMixture


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
        """Return a copy of this scorer with other options, such as ``coverage=0.5``.

        Parameters
        ----------
        **options : dict
            Values of keyword-only parameters of the scorer.

        Returns
        -------
        UncertaintyScorer
            The changed copy.

        Raises
        ------
        TypeError
            If the scorer has no such option.
        """
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

        Parameters
        ----------
        **requests : dict
            Requests by the name of the metadata: True, False, None or another name, as for all
            scikit-learn scorers.

        Returns
        -------
        UncertaintyScorer
            The changed copy.

        Raises
        ------
        RuntimeError
            If metadata routing is not enabled, as for all scikit-learn scorers.
        ValueError
            If a request is not True, False, None or a valid identifier.
        """
        return super(UncertaintyScorer, copy.copy(self)).set_score_request(**requests)

    def __repr__(self):
        options = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{self.__name__}.with_options({options})" if options else self.__name__

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        """Score an estimator; scikit-learn calls this method of a scorer."""
        return self._score_func(estimator, X, y_true, **{**self._kwargs, **kwargs})


def find_model(estimator, X):
    """Find the innermost model: pipelines and searches pass on neither std nor distribution."""
    *_, innermost = open_layers(estimator, X)
    return innermost


def predict_proba(model, X):
    """Predict probabilities of classes, or raise an error that says what is needed."""
    if not (is_classifier(model) and hasattr(model, "predict_proba")):
        raise TypeError(
            f"This score needs a classifier with predict_proba, got {type(model).__name__}."
        )
    return model.predict_proba(X)


def predict_std(model, X):
    """Predict mean and standard deviation, or raise an error that says what is needed."""
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


def predict_dist(model, X):
    """Predict the distribution, a normal one for a model that has only a standard deviation."""
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    mean, std = predict_std(model, X)
    return NormalMixture(mean[None], std[None])


def predict_matching(estimator, X, y):
    """Predict the distribution of a regressor, and give `y` the same shape."""
    model, X = find_model(estimator, X)
    if is_classifier(model):
        raise TypeError(f"This score needs a regressor, got {type(model).__name__}.")
    dist = predict_dist(model, X)
    return reshape_like(y, dist.mean.shape), dist


def reshape_like(y, shape):
    """Add or drop the axis of a single output, as some regressors do."""
    y = np.asarray(y)
    return y.reshape(shape) if (*y.shape, 1) == shape or y.shape == (*shape, 1) else y
