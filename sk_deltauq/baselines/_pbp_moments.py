"""Mean and variance of a network with normal weights, for the predictions of PBP.

The formulas of `_pbp_filter.py` in torch, for many rows and differentiable with respect to them.
"""

from __future__ import annotations

import math

import torch


def rectified_moments(mean, var):
    """Mean and variance of max(0, z) for normal z; see `_pbp_filter.Rectifier`."""
    std = var.sqrt()
    ratio = mean / std
    # torch.special.ndtr is 1 + erf, which underflows to zero too early in the lower tail.
    cdf = 0.5 * torch.erfc(-math.sqrt(0.5) * ratio)
    pdf = torch.exp(-0.5 * ratio.square()) / math.sqrt(2 * math.pi)
    h = ratio * cdf + pdf
    return std * h, var * (cdf - h * (h - ratio))


def network_moments(x: torch.Tensor, means, variances):
    """Mean and variance `(row, output)` of the outputs for rows `(row, feature)`.

    `means` and `variances` contain a tensor `(input + 1, output)` for each layer.
    """
    mean = _with_bias(x, 1.0)
    var = torch.zeros_like(mean)
    for depth, (weight, weight_var) in enumerate(zip(means, variances, strict=True)):
        if depth:
            mean, var = rectified_moments(mean, var)
            mean, var = _with_bias(mean, 1.0), _with_bias(var, 0.0)
        mean, var = (
            mean @ weight,
            (mean.square() + var) @ weight_var + var @ weight.square(),
        )
    return mean, var


def _with_bias(values, bias: float):
    return torch.nn.functional.pad(values, (0, 1), value=bias)
