"""What the speed study reads from the internals of a fitted estimator."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import nn

from sk_deltauq import DeltaUQRegressor


class PaperNetwork(NamedTuple):
    """The network of a regressor with the paper's input `[c, x - c]`.

    Attributes
    ----------
    anchors : Tensor of shape (n_anchors, n_features)
        Scaled training rows.
    layers : list of (weight, bias)
        With the shapes of `torch.nn.functional.linear`. A ReLU stands between two layers.
    """

    anchors: torch.Tensor
    layers: list[tuple[torch.Tensor, torch.Tensor]]


def read_network(model: DeltaUQRegressor, dtype=torch.float32) -> PaperNetwork:
    """Copy the trained network. It must have one member and no embedding."""
    module = model.net_.module_
    (W, bias), *rest = [
        (layer.weight[0].to(dtype), layer.bias[0, :, 0].to(dtype))
        for layer in (module.core.first, *module.core.rest)
    ]
    V = module.core.first.anchor_weight[0].to(dtype)
    # The estimator computes W x + V c, which is (V + W) c + W (x - c).
    first = torch.cat([V + W, W], dim=1), bias
    return PaperNetwork(module.anchors.to(dtype), [first, *rest])


def compute_raw_outputs(model: DeltaUQRegressor, x: torch.Tensor) -> torch.Tensor:
    """Raw outputs `(anchor, row, output)` of the estimator's own code for scaled rows."""
    module = copy.deepcopy(model.net_.module_).to(x.dtype)
    return module.components(x.T)[0].permute(1, 2, 0)  # from (output, anchor, row)


def move_to_device(model: DeltaUQRegressor, device: str) -> DeltaUQRegressor:
    """A copy that predicts on another device."""
    model = copy.deepcopy(model)
    parts: list[nn.Module] = [model.net_.module_, model.net_.criterion_]
    for part in parts:
        part.to(device)
    model.net_.device = device
    return model


def list_prediction_parts(model: DeltaUQRegressor) -> dict[str, tuple[object, str]]:
    """List the parts of a prediction: a title, and an object and the name of its method."""
    return {
        "the network, all row-anchor pairs": (model.net_.module_, "components"),
        "the noise head, all row-anchor pairs": (model.net_.criterion_, "components"),
        "the distance to the training rows": (model._trained_.kept["_inflation_"], "forward"),
    }
