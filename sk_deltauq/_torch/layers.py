"""Stacked layers: a leading axis holds the members, which train side by side in one product.

Adam and weight decay act on each element alone, so members trained as one stack are the members
trained one by one; only the number of calls is smaller.
"""

from __future__ import annotations

import math

import torch
from torch import nn

# Said at each draw: torch's defaults are the user's to change.
CPU_FLOAT = {"dtype": torch.float32, "device": "cpu"}


# In 1 MB, which is what a core has of fast cache.
_CACHE_FLOATS = 2**18


def _uniform(shape, bound: float, generators) -> torch.Tensor:
    """Draw `(member, *shape)` from U(-bound, bound), each member from its own generator."""
    draws = [torch.rand(shape, generator=g, **CPU_FLOAT) for g in generators]
    return (2 * torch.stack(draws) - 1) * bound


def dropout_masks(n_masks: int, n_units: int, rates, generators) -> torch.Tensor:
    """Draw `(member, unit, mask)`: zero with probability `rates[member]`, else `1 / (1 - rate)`.

    A single rate is for all members. Masks are drawn one by one, so a longer series begins with
    the shorter one.
    """
    draws = [torch.rand((n_masks, n_units), generator=g, **CPU_FLOAT) for g in generators]
    rates = torch.tensor(rates, dtype=torch.float64, device="cpu")[:, None, None]
    kept = torch.stack(draws) >= rates.float()
    return (kept.float() / (1 - rates).float()).transpose(1, 2)


class StackedLinear(nn.Module):
    """A linear layer a member: `(member, in, sample)` to `(member, out, sample)`.

    The initial weights are those of `torch.nn.Linear`, U(-1/sqrt(in), 1/sqrt(in)).
    """

    def __init__(self, in_features: int, out_features: int, generators):
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.weight = nn.Parameter(_uniform((out_features, in_features), bound, generators))
        self.bias = nn.Parameter(_uniform((out_features, 1), bound, generators))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.baddbmm(self.bias, self.weight, x)


class AnchoredLinear(nn.Module):
    """The first layer of an anchored network, without the concatenation.

    The paper feeds `[c, x - c]` to a linear layer with weights `[A, W]`. Since
    `A c + W (x - c) = W x + (A - W) c`, the layer is `W x + V c` with `V = A - W`; `W` and `V` are
    what is trained. The functions and the starting function are the paper's (`V` starts as the
    difference of two draws), the coordinates are not: Adam does better in these where the noise is
    low, and at prediction `W x` is needed once per row and `V c` once per anchor.
    """

    def __init__(self, in_features: int, out_features: int, generators):
        super().__init__()
        bound = 1 / math.sqrt(2 * in_features)
        shape = (out_features, in_features)
        anchor_column, difference_column = (_uniform(shape, bound, generators) for _ in range(2))
        self.weight = nn.Parameter(difference_column)
        self.anchor_weight = nn.Parameter(anchor_column - difference_column)
        self.bias = nn.Parameter(_uniform((out_features, 1), bound, generators))

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """Each sample with its own anchor: both `(member, in, sample)`."""
        return torch.baddbmm(torch.baddbmm(self.bias, self.weight, x), self.anchor_weight, c)

    def all_pairs(self, x: torch.Tensor, c: torch.Tensor, *, reuse: bool = False):
        """Each sample with every anchor: yields `(member, out, anchor, sample)`, a few at a time.

        On a CPU so few anchors that the sums stay in its cache. With `reuse` all sums go into one
        piece of memory, where fresh pages for each would take longer than all the arithmetic:
        what is yielded then holds until the next is asked for, and has no gradient.
        """
        rows = torch.baddbmm(self.bias, self.weight, x).unsqueeze(2)  # (member, out, 1, sample)
        anchors = torch.bmm(self.anchor_weight, c).unsqueeze(3)  # (member, out, anchor, 1)
        fitting = _CACHE_FLOATS // rows.numel() if x.device.type == "cpu" else anchors.shape[2]
        parts = anchors.split(max(fitting, 1), dim=2)
        sums = None
        for some in parts:
            if reuse and sums is not None and sums.shape[2] == some.shape[2]:
                torch.add(rows, some, out=sums)
            else:
                sums = rows + some
            yield sums
