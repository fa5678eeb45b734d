"""Our estimators inside what scikit-learn builds around estimators: pipelines and searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

NO_STD_OF_TRANSFORMED_TARGET = (
    "TransformedTargetRegressor inverts the transformation for the mean only, so it cannot return "
    "standard deviations, intervals or quantiles in the units of y. Use the target_transform "
    "parameter of this package's regressors instead, for example "
    "DeltaUQRegressor(target_transform='log'); it also accepts a scikit-learn transformer."
)


def unwrap(model, X):
    """Find the estimator inside a fitted pipeline or search, and the rows that it sees.

    scikit-learn's pipelines pass on the keywords of `predict` only, and its searches pass on no
    keywords. This function gives access to all methods, such as `predict_uncertainty`,
    `predict_dist`, `conformalize` and ``predict_interval(X, method="conformal")``.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a `Pipeline`, a search such as `GridSearchCV`, a
        `FrozenEstimator` or a classifier with a tuned threshold around one, nested in any order.
    X : array-like of shape (n_samples, n_features)
        Rows in the form that `model` takes.

    Returns
    -------
    estimator : estimator
        The fitted estimator itself, not a copy. ``estimator.conformalize`` also changes `model`.
    X : array-like of shape (n_samples, n_features_out)
        The rows after all steps before the estimator.

    Raises
    ------
    NotFittedError
        If `model` is not fitted.
    TypeError
        If the innermost estimator has no `predict_uncertainty`, or if `model` contains a
        `TransformedTargetRegressor`, whose regressor does not predict in the units of `y`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> import sk_deltauq
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = X[:, 0] ** 2
    >>> model = sk_deltauq.DeltaUQRegressor(max_iter=20, tol=1, random_state=0)
    >>> pipeline = make_pipeline(MinMaxScaler(), model).fit(X, y)
    >>> estimator, rows = sk_deltauq.unwrap(pipeline, X)
    >>> estimator.predict_uncertainty(rows).epistemic.shape
    (200,)
    """
    layers = list(open_layers(model, X))
    model, X = layers[-1]
    path = " > ".join(type(layer).__name__ for layer, _ in layers)
    if isinstance(model, TransformedTargetRegressor):
        raise TypeError(f"model must not be {path}. {NO_STD_OF_TRANSFORMED_TARGET}")
    if not hasattr(model, "predict_uncertainty"):
        if hasattr(model, "fit"):
            check_is_fitted(model)
        raise TypeError(
            "model must be an estimator of sk_deltauq, or a pipeline or search around one, got "
            f"{path}. {_advise(model)}"
        )
    check_is_fitted(model)
    return model, X


def _advise(model) -> str:
    if getattr(model, "refit", True) is False:
        return "A search keeps no fitted model with refit=False: set refit=True."
    several = np.ravel(getattr(model, "estimators_", []))
    if any(hasattr(single, "predict_uncertainty") for single in several):
        return f"{type(model).__name__} has several models: unwrap one from estimators_."
    return "Put an estimator of sk_deltauq in the last step, or use the methods of this model."


def open_layers(model, X):
    """Yield the model and its rows, then the fitted model inside and its rows, and so on."""
    while True:
        yield model, X
        model, X = _open_layer(model, X)
        if model is None:
            return


def _open_layer(model, X) -> tuple[Any, Any]:
    """Return the fitted model inside and its rows; None if `model` is the innermost one."""
    if isinstance(model, FrozenEstimator):  # first, since it has all attributes of its estimator
        return model.estimator, X
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        return model[-1], model[:-1].transform(X) if len(model) > 1 else X
    if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
        return getattr(model, "estimator_", None), X
    return getattr(model, "best_estimator_", None), X
