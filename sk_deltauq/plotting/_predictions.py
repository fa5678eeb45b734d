"""Predict what a display draws: with our estimators, and with others where a normal suffices."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import is_classifier

from sk_deltauq._wrappers import open_layers
from sk_deltauq.distributions._arrays import as_real, check_coverage


def find_innermost(estimator, X) -> tuple[Any, Any]:
    """Return the estimator inside pipelines and searches, which may be foreign, and its rows."""
    return list(open_layers(estimator, X))[-1]


def predict_moments(estimator, X, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """Predict mean and total standard deviation, `(row,)` or `(row, output)`."""
    model, X = find_innermost(estimator, X)
    _check_regressor(model, caller)
    mean, std = model.predict(X, return_std=True)
    # Some regressors drop the axis of a single output for one of the two only.
    return np.asarray(mean), np.asarray(std).reshape(np.shape(mean))


def predict_bounds(estimator, X, coverage: float, caller: str) -> tuple[np.ndarray, ...]:
    """Predict the mean and both bounds of the equal-tailed interval."""
    check_coverage(coverage)
    model, X = find_innermost(estimator, X)
    if _accepts(model, "coverage"):
        mean, interval = model.predict(X, coverage=coverage)
        return mean, interval[..., 0], interval[..., 1]
    mean, std = predict_moments(model, X, caller)
    half = ndtri((1 + coverage) / 2) * std
    return mean, mean - half, mean + half


def predict_quantiles(estimator, X, levels: np.ndarray, caller: str) -> np.ndarray:
    """Predict quantiles `(row, [output,] level)`."""
    model, X = find_innermost(estimator, X)
    if _accepts(model, "quantiles"):
        return model.predict(X, quantiles=levels)[1]
    mean, std = predict_moments(model, X, caller)
    return mean[..., None] + std[..., None] * ndtri(levels)  # (row, output, level)


def predict_parts(estimator, X, caller: str) -> Any:
    """Predict the parts of the uncertainty, a Bunch."""
    model, X = find_innermost(estimator, X)
    if not hasattr(model, "predict_uncertainty"):
        raise TypeError(
            f"{caller} needs an estimator with predict_uncertainty, which separates epistemic and "
            f"aleatoric uncertainty, got {type(model).__name__}. Use an estimator of sk_deltauq, "
            f"or pass both parts to {caller}.from_predictions."
        )
    return model.predict_uncertainty(X)


def predict_probabilities(estimator, X, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """Predict class probabilities `(row, class)`; return them and the labels of the columns."""
    if not (is_classifier(estimator) and hasattr(estimator, "predict_proba")):
        raise TypeError(
            f"{caller} needs a classifier with predict_proba, got {type(estimator).__name__}."
        )
    return estimator.predict_proba(X), estimator.classes_


def check_target(target: Any, n_outputs: int) -> int:
    """Return the position of the output to draw; None is allowed for a single output."""
    if target is None and n_outputs == 1:
        return 0
    if isinstance(target, int | np.integer) and target in range(n_outputs):
        return int(target)
    raise ValueError(
        f"target must be the position of the output to draw, from 0 to {n_outputs - 1}, got "
        f"{target!r}."
    )


def select_target(values, target, name: str, *, n_axes: int = 1) -> np.ndarray:
    """Return one output of `(row, ...)` or `(row, output, ...)` as float64.

    `n_axes` is the number of axes without the axis of the outputs.
    """
    values = as_real(name, values)
    if values.ndim not in (n_axes, n_axes + 1):
        raise ValueError(
            f"{name} must have {n_axes} axes, or {n_axes + 1} with several outputs, got shape "
            f"{values.shape}."
        )
    if not len(values):
        raise ValueError(f"{name} has no rows.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must not contain NaN or infinity. Leave such rows out.")
    if values.ndim == n_axes:
        check_target(target, 1)
        return values
    return values[:, check_target(target, values.shape[1])]


def _accepts(model, keyword: str) -> bool:
    predict = getattr(model, "predict", None)
    return predict is not None and keyword in inspect.signature(predict).parameters


def _check_regressor(model, caller: str):
    if is_classifier(model) or not _accepts(model, "return_std"):
        raise TypeError(
            f"{caller} needs a regressor that predicts its uncertainty, with "
            f"predict(X, return_std=True), got {type(model).__name__}. For other models, pass "
            f"their predictions to {caller}.from_predictions."
        )
