"""Gradients of a prediction with respect to one row, as scikit-optimize asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sk_deltauq._estimators.torch_modules import RegressorModule
from sk_deltauq._host import one_thread, plain_torch
from sk_deltauq._predictor import Predictor


def check_gradients(
    model: Any, X: np.ndarray, *, return_std: bool, mean_grad: bool, std_grad: bool
) -> np.ndarray:
    """Return the checked row at which `predict` can return gradients.

    Raises
    ------
    ValueError
        If there is not exactly one row, if a keyword needs another one, or if the inputs or the
        target of the model do not have one derivative for each feature.
    """
    asked = "return_std_grad" if std_grad else "return_mean_grad"
    if std_grad and not (return_std and mean_grad):
        raise ValueError(
            "return_std_grad=True needs return_std=True and return_mean_grad=True too: the "
            "gradient of the standard deviation comes after them."
        )
    if len(X) != 1:
        raise ValueError(
            f"{asked}=True takes one row at a time, as scikit-optimize passes it, got {len(X)} "
            "rows. to_torch() gives gradients for any number of rows."
        )
    if model.n_outputs_ > 1:
        raise ValueError(
            f"{asked}=True needs a model of one output, and this one has {model.n_outputs_}. "
            "to_torch() gives gradients of each output."
        )
    if model.encoder_ is not None:
        raise ValueError(
            f"{asked}=True needs numbers without gaps in X: categories and missing values have no "
            "derivative. to_torch() gives gradients with respect to encoder_.transform(X)."
        )
    if model.target_transform_ is not None:
        raise ValueError(
            f"{asked}=True cannot pass target_transform={model.target_transform!r}, which torch "
            "does not know. Fit with target_transform=None, or use to_torch(latent=True), whose "
            "results have the units of the transformed target."
        )
    return X


def compute_gradients(predictor: Predictor, row: np.ndarray, *, std_grad: bool):
    """Differentiate the mean and, on request, the standard deviation at one row `(1, feature)`.

    Returns a list of arrays `(feature,)`, in units of the target per unit of the feature.
    """
    with plain_torch(gradients=True), one_thread():
        x = torch.tensor(row, dtype=torch.float64, requires_grad=True)
        found = RegressorModule(predictor)(x.to(predictor.device))
        gradients = [_differentiate(found.mean, x)]
        if std_grad:
            # A std of 0 is a point mass, where the root has no derivative.
            is_point = bool(found.std == 0)
            gradients.append(np.zeros(len(row[0])) if is_point else _differentiate(found.std, x))
    return gradients


def _differentiate(value: torch.Tensor, x: torch.Tensor) -> np.ndarray:
    # A module of the user may turn features into indices, which have no derivative.
    (gradient,) = torch.autograd.grad(
        value.sum(), x, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return gradient[0].numpy()
