"""Soft selection: neighbours with their targets, blended by a learnt similarity."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from sk_deltauq._networks.mlp import CPU_FLOAT

# Each head has a metric of its own. The second one starts narrower, by e in each direction.
N_HEADS = 2

# Squared distance of a neighbour that takes no part, and the largest one that counts.
_NOT_USED = 1e4
_FARTHEST = 1e3

# Under the roots of the spread and of the distance, where the derivative would be infinite.
_TINY = 1e-6


class Neighbours(NamedTuple):
    """Neighbours of some rows. The first axis is the member, or has length 1 for all members."""

    # Row over the unit of each feature, target, and mean square of the target:
    # `(member, sample, neighbour, feature + 2 * target)`.
    values: torch.Tensor
    log_weights: torch.Tensor | None  # (member, sample, neighbour); None if all weights are equal
    used: torch.Tensor  # bool, (member, sample, subset, neighbour)


class SoftSelection(nn.Module):
    """Describe the neighbours of a row by weighted means, for each head.

    The weight of a neighbour c of the row x is proportional to exp(-|a (x - c) / s|^2), where `s`
    is the unit of each feature, and the metric `a` is learnt for each feature, head and member.
    It is a Nadaraya-Watson estimate with a learnt bandwidth.
    """

    def __init__(self, n_features: int, n_targets: int, n_members: int):
        super().__init__()
        self.n_features, self.n_targets = n_features, n_targets
        self.n_outputs = N_HEADS * (n_features + 2 * n_targets + 1)
        start = torch.exp(torch.arange(N_HEADS, **CPU_FLOAT)) / math.sqrt(n_features)
        shape = n_members, N_HEADS, n_features
        self.metric = nn.Parameter(start[None, :, None].expand(shape).clone())

    def forward(self, x: torch.Tensor, found: Neighbours) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows over the units, `(member, sample, feature)`, and their neighbours.

        Returns
        -------
        features : tensor (member, n_outputs, subset, sample)
            For each head the difference between the row and the mean neighbour, the mean and the
            spread of the targets, and the distance. All are 0 for a row without neighbours.
        level : tensor (member, target, subset, sample)
            Mean target of the neighbours, averaged over the heads.
        """
        d, n_targets = self.n_features, self.n_targets
        n_members, (_, n_samples, n_subsets, n_neighbours) = len(x), found.used.shape
        squares = (x.unsqueeze(2) - found.values[..., :d]).square()
        # (member, sample * neighbour, head), in one product
        distance = squares.flatten(1, 2) @ self.metric.square().transpose(1, 2)
        distance = distance.unflatten(1, (n_samples, n_neighbours)).transpose(2, 3).unsqueeze(2)
        distance = distance.masked_fill(~found.used.unsqueeze(3), _NOT_USED)
        logits = -distance  # (member, sample, subset, head, neighbour)
        if found.log_weights is not None:
            logits = logits + found.log_weights[:, :, None, None]
        weights = logits.softmax(dim=-1)
        means = weights.flatten(2, 3) @ found.values  # (member, sample, subset * head, value)
        means = means.unflatten(2, (n_subsets, N_HEADS))
        level = means[..., d : d + n_targets]
        spread = (means[..., d + n_targets :] - level.square()).clamp(min=0)
        far = (weights * distance.clamp(max=_FARTHEST)).sum(dim=-1, keepdim=True)
        parts = [x[:, :, None, None] - means[..., :d], level, _root(spread), _root(far)]
        features = torch.cat([part.flatten(3) for part in parts], dim=3)
        # The weights of neighbours that take no part are 0, unless there is no other one.
        present = found.used.any(dim=3, keepdim=True).to(features)
        features, level = (
            (part * present).expand(n_members, -1, -1, -1).permute(0, 3, 2, 1)
            for part in (features, level.mean(dim=3))
        )
        return features, level


def _root(squares: torch.Tensor) -> torch.Tensor:
    return (squares + _TINY).sqrt()
