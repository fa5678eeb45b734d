"""Fitted estimators as torch modules: differentiable, on any device, and for export.

The formulas are the same as in `predict`. A `Predictor` holds their numbers as arrays, these
modules hold them as buffers.
"""

from __future__ import annotations

import contextlib
import copy
from itertools import chain
from typing import NamedTuple

import torch
from torch import nn

from sk_deltauq._estimators.logits import LogitAdjustment, summarise_logits
from sk_deltauq._host import plain_torch
from sk_deltauq._predictor import (
    Factors,
    Predictor,
    compute_moments,
    make_factors,
    spread_components,
    spread_means,
)
from sk_deltauq._validation import FAR, Scaler


class RegressorOutput(NamedTuple):
    """Predictions of a regressor; shapes are in `BaseRegressor.to_torch`."""

    mean: torch.Tensor
    std: torch.Tensor
    epistemic: torch.Tensor
    aleatoric: torch.Tensor
    component_means: torch.Tensor
    component_stds: torch.Tensor
    functions: torch.Tensor


class ClassifierOutput(NamedTuple):
    """Predictions of a classifier; shapes are in `BaseClassifier.to_torch`."""

    proba: torch.Tensor
    log_proba: torch.Tensor
    std: torch.Tensor
    total: torch.Tensor
    aleatoric: torch.Tensor
    epistemic: torch.Tensor
    mutual_information: torch.Tensor
    logit_std: torch.Tensor
    logits: torch.Tensor


class Scale(nn.Module):
    """The mean and the scale of a fitted scaler, as buffers."""

    mean_: torch.Tensor
    scale_: torch.Tensor

    def __init__(self, scaler: Scaler):
        super().__init__()
        for name in ("mean_", "scale_"):
            self.register_buffer(name, torch.tensor(getattr(scaler, name), device="cpu"))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Standardise values `(row, column)` in the dtype of the buffers."""
        return (values.to(self.mean_.dtype) - self.mean_) / self.scale_


class ScaledComponents(nn.Module):
    """Rows in the units of the user to the raw parts of all components.

    It is an independent copy of the networks of a predictor.
    """

    def __init__(self, predictor: Predictor):
        super().__init__()
        self.x_scaler = Scale(predictor.x_scaler)
        self.module = copy.deepcopy(predictor.module)

    def forward(self, X: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
        """Map `(..., feature)` to parts, each `(component, row, output)`, and the scaled rows."""
        n_features = len(self.x_scaler.mean_)
        if X.shape[-1:] != (n_features,):
            raise ValueError(
                f"X must have {n_features} features on its last axis, got a tensor of shape "
                f"{tuple(X.shape)}. These are the columns of X in fit or, with categories or "
                "missing values, of encoder_.transform(X)."
            )
        x = self.x_scaler(X.reshape(-1, n_features)).clamp(-FAR, FAR)
        tensors = chain(self.module.parameters(), self.module.buffers())
        x = x.to(next(t.dtype for t in tensors if t.is_floating_point()))
        return self.module(x), x


class RegressorModule(nn.Module):
    """A fitted regressor, see `BaseRegressor.to_torch`."""

    std_factor: torch.Tensor
    noise_factor: torch.Tensor
    least_std: torch.Tensor
    added_std: torch.Tensor
    outlier_scale: torch.Tensor

    def __init__(self, predictor: Predictor):
        super().__init__()
        assert predictor.y_scaler is not None
        self.components = ScaledComponents(predictor)
        self.y_scaler = Scale(predictor.y_scaler)
        self.inflation = copy.deepcopy(predictor.inflation)
        self.rarity = copy.deepcopy(predictor.rarity)
        for name in ("std_factor", "noise_factor", "least_std", "added_std", "outlier_scale"):
            self.register_buffer(name, torch.tensor(getattr(predictor, name), device="cpu"))
        self.ddof = predictor.ddof
        self.adds_std, self.has_tails = predictor.adds_std, predictor.has_tails
        self.has_least_std = predictor.has_least_std
        _freeze(self, predictor)

    @property
    def factors(self) -> Factors:
        """The factors of the moments, from the buffers: these may move and change their dtype."""
        return make_factors(self, self.std_factor)

    def forward(self, X: torch.Tensor) -> RegressorOutput:
        """Predict rows `(..., feature)` in the units of the user."""
        with _shield():
            return self._predict(X)

    def _predict(self, X: torch.Tensor) -> RegressorOutput:
        parts, x = self.components(X)
        names = "mean", "total", "epistemic", "aleatoric"
        moments = compute_moments(self, parts, x, names)
        means, stds, _ = spread_components(self, parts, x)
        centre, shifts = spread_means(self, parts[0].double())
        scale, offset = self.y_scaler.scale_, self.y_scaler.mean_
        components = means * scale + offset, stds * scale, (centre + shifts) * scale + offset
        last = () if len(scale) == 1 else (len(scale),)
        return RegressorOutput(
            *(_shape_as(X, part, last=last) for part in moments),
            *(_shape_as(X, part, (len(part),), last) for part in components),
        )


class ClassifierModule(nn.Module):
    """A fitted classifier, see `BaseClassifier.to_torch`."""

    def __init__(self, predictor: Predictor, adjustment: LogitAdjustment):
        super().__init__()
        self.components, self.adjustment = ScaledComponents(predictor), adjustment
        _freeze(self, predictor)

    def forward(self, X: torch.Tensor) -> ClassifierOutput:
        """Predict rows `(..., feature)` in the units of the user."""
        with _shield():
            return self._predict(X)

    def _predict(self, X: torch.Tensor) -> ClassifierOutput:
        (logits,), x = self.components(X)
        logits = logits.double()
        adjusted = self.adjustment(logits, x)
        found = summarise_logits(logits, adjusted, self.adjustment.adjust_inside(logits))
        last = adjusted.shape[2:]
        parts = {
            name: _shape_as(X, part, last=last if name in ("proba", "log_proba") else ())
            for name, part in found._asdict().items()
        }
        return ClassifierOutput(
            **parts,
            logits=_shape_as(X, adjusted, (len(adjusted),), last),
        )


def _shield():
    """Neutralise torch's settings, as `predict` does; a compiler cannot follow into it."""
    return contextlib.nullcontext() if torch.compiler.is_compiling() else plain_torch()


def _freeze(module: nn.Module, predictor: Predictor) -> None:
    """Put a new module into the mode for prediction, on the device of the predictor."""
    module.eval().requires_grad_(False).to(predictor.device)


def _shape_as(X, part, first: tuple[int, ...] = (), last: tuple[int, ...] = ()) -> torch.Tensor:
    """Give a result the batch axes and the dtype of the rows."""
    part = part.reshape((*first, *X.shape[:-1], *last))
    return part.to(X.dtype) if X.is_floating_point() else part
