"""Soft selection: neighbours with their targets, blended by their similarity to a row."""

from __future__ import annotations

from typing import NamedTuple

import torch

# Each head blends the neighbours with a metric of its own.
N_HEADS = 2

# Logit of a neighbour that takes no part, and the largest squared distance that counts.
_NOT_USED = -1e4
_FARTHEST = 1e3

# Under the roots of the spread and of the distance, where the derivative would be infinite.
_TINY = 1e-6


class Neighbours(NamedTuple):
    """Neighbours of some rows. The first axis is the member, or has length 1 for all members."""

    # Row over the unit of each feature, target, and mean square of the target:
    # `(member, sample, neighbour, feature + 2 * target)`.
    values: torch.Tensor
    distance: torch.Tensor  # squared, (member, sample, head, neighbour), for each member
    log_weights: torch.Tensor | None  # (member, sample, neighbour); None if all weights are equal
    used: torch.Tensor  # bool, (member, sample, subset, neighbour)


def count_outputs(n_features: int, n_targets: int) -> int:
    """Return the number of features that `blend` makes of the neighbours of a row."""
    return N_HEADS * (n_features + 2 * n_targets + 1)


def blend(x: torch.Tensor, found: Neighbours, n_targets: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Describe the neighbours of rows by weighted means, for each head.

    The weight of a neighbour is proportional to exp(-squared distance): a Nadaraya-Watson estimate
    with a normal kernel.

    Parameters
    ----------
    x : tensor (member, sample, feature)
        Rows over the unit of each feature.

    Returns
    -------
    features : tensor (member, n_outputs, subset, sample)
        For each head asinh of the difference between the row and the mean neighbour, the mean and
        the spread of the targets, and asinh of the distance. All are 0 for a row without
        neighbours.
    level : tensor (member, target, subset, sample)
        Mean target of the neighbours, averaged over the heads.
    """
    d, used = x.shape[2], found.used.unsqueeze(3)
    distance = found.distance.unsqueeze(2)  # (member, sample, 1, head, neighbour)
    logits = -distance
    if found.log_weights is not None:
        logits = logits + found.log_weights[:, :, None, None]
    # (member, sample, subset, head, neighbour)
    weights = logits.masked_fill(~used, _NOT_USED).softmax(dim=-1)
    means = weights.flatten(2, 3) @ found.values  # (member, sample, subset * head, value)
    means = means.unflatten(2, weights.shape[2:4])
    level = means[..., d : d + n_targets]
    spread = (means[..., d + n_targets :] - level.square()).clamp(min=0)
    far = (weights * distance.clamp(max=_FARTHEST)).sum(dim=-1, keepdim=True)
    # Out of distribution, differences and distances are many units long. Networks would
    # extrapolate them linearly, so they grow like logarithms from about one unit on.
    gaps, far = _asinh(x[:, :, None, None] - means[..., :d]), _asinh(_root(far))
    parts = [gaps, level, _root(spread), far]
    features = torch.cat([part.flatten(3) for part in parts], dim=3)
    # The weights of neighbours that take no part are 0, unless there is no other one.
    present = found.used.any(dim=3, keepdim=True).to(features)
    features, level = (
        (part * present).permute(0, 3, 2, 1) for part in (features, level.mean(dim=3))
    )
    return features, level


def _asinh(x: torch.Tensor) -> torch.Tensor:
    """Return asinh(x), without `torch.asinh` where possible.

    `torch.asinh` has no vector instructions on CPUs, and takes 9 times as long. It remains where
    a gradient is needed, because the absolute value has none at 0.
    """
    if x.requires_grad:
        return x.asinh()
    size, square = x.abs(), x.square()
    return torch.log1p(size + square / (1 + (1 + square).sqrt())).copysign(x)


def _root(squares: torch.Tensor) -> torch.Tensor:
    return (squares + _TINY).sqrt()
