"""Embeddings of the standardised inputs, applied before anchoring: `(member, feature, sample)`.

The raw feature stays in front of its waves, so that a trend need not be built from them.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sk_deltauq._torch.layers import CPU_FLOAT

N_FREQUENCIES = 4
PERIODIC_SCALE = 0.3


class Identity(nn.Module):
    """No embedding."""

    def __init__(self, n_features: int, generators):
        super().__init__()
        self.n_outputs = n_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class _Waves(nn.Module):
    """`[x, sin(w x), cos(w x)]` for the angular frequencies `w` of the subclass."""

    def __init__(self, n_features: int):
        super().__init__()
        self.n_outputs = n_features * (1 + 2 * N_FREQUENCIES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        waves = x.unsqueeze(2) * self.frequencies  # (member, feature, frequency, sample)
        return torch.cat([x, waves.sin().flatten(1, 2), waves.cos().flatten(1, 2)], dim=1)


class Sinusoidal(_Waves):
    """Fixed octaves, the sinusoidal positional embedding that the paper puts before its networks.

    Angular frequencies pi/4 * 2^j for j = 0 .. 3: a standardised feature spans about four units,
    and the slowest wave has twice that period, so no two usual values share an embedding.
    """

    def __init__(self, n_features: int, generators):
        super().__init__(n_features)
        octaves = math.pi / 4 * 2.0 ** torch.arange(N_FREQUENCIES, **CPU_FLOAT)
        self.register_buffer("frequencies", octaves[:, None])  # (frequency, 1)


class Periodic(_Waves):
    """Learnt frequencies, one set a feature and member (Gorishniy et al., NeurIPS 2022)."""

    def __init__(self, n_features: int, generators):
        super().__init__(n_features)
        shape = (n_features, N_FREQUENCIES, 1)
        draws = [torch.randn(shape, generator=g, **CPU_FLOAT) for g in generators]
        self.frequencies = nn.Parameter(2 * math.pi * PERIODIC_SCALE * torch.stack(draws))


EMBEDDINGS = {None: Identity, "sinusoidal": Sinusoidal, "periodic": Periodic}
