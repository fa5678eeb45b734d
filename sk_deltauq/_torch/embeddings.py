"""Embeddings of the standardised inputs, applied before anchoring: `(member, feature, sample)`.

The raw feature stays in front of its waves, so that a trend need not be built from them.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sk_deltauq._torch.layers import CPU_FLOAT

# With a fourth one predictions are no better between the training rows, and worse outside.
N_OCTAVES = 3

N_FREQUENCIES = 4
PERIODIC_SCALE = 0.3


class Identity(nn.Module):
    """No embedding."""

    def __init__(self, n_features: int, generators, members):
        super().__init__()
        self.n_outputs = n_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class _Waves(nn.Module):
    """`[x, sin(w x), cos(w x)]` for the angular frequencies `w` of the subclass.

    The frequencies are `(frequency, 1)`, or `(member, feature, frequency, 1)`.
    """

    def __init__(self, n_features: int, n_frequencies: int):
        super().__init__()
        self.n_outputs = n_features * (1 + 2 * n_frequencies)

    def _waves(self, x: torch.Tensor):
        waves = x.unsqueeze(2) * self.frequencies  # (member, feature, frequency, sample)
        return waves.sin().flatten(1, 2), waves.cos().flatten(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, *self._waves(x)], dim=1)


class Sinusoidal(_Waves):
    """Fixed octaves, the sinusoidal positional embedding that the paper puts before its networks.

    Angular frequencies pi/4 * 2^j for j = 0, 1, 2: a standardised feature spans about four units,
    and the slowest wave has twice that period, so no two usual values share an embedding.
    """

    def __init__(self, n_features: int, generators, members):
        super().__init__(n_features, N_OCTAVES)
        octaves = math.pi / 4 * 2.0 ** torch.arange(N_OCTAVES, **CPU_FLOAT)
        self.register_buffer("frequencies", octaves[:, None])  # (frequency, 1)


class Alternating(Sinusoidal):
    """Fixed octaves for the first member and every other one; the rest see zeros in their place.

    Networks with waves are more accurate where there are training rows, and those without are
    where there are none. Together they are nearly as good as the better ones in both places, and
    the two kinds disagree where neither should be trusted.
    """

    def __init__(self, n_features: int, generators, members):
        super().__init__(n_features, generators, members)
        # A parameter, so that it stays with its member; it is not learnt.
        sees_waves = torch.tensor([member % 2 == 0 for member in members], **CPU_FLOAT)
        self.amplitude = nn.Parameter(sees_waves[:, None, None], requires_grad=False)

    def _waves(self, x: torch.Tensor):
        return tuple(waves * self.amplitude for waves in super()._waves(x))


class Periodic(_Waves):
    """Learnt frequencies, one set a feature and member (Gorishniy et al., NeurIPS 2022)."""

    def __init__(self, n_features: int, generators, members):
        super().__init__(n_features, N_FREQUENCIES)
        shape = (n_features, N_FREQUENCIES, 1)
        draws = [torch.randn(shape, generator=g, **CPU_FLOAT) for g in generators]
        self.frequencies = nn.Parameter(2 * math.pi * PERIODIC_SCALE * torch.stack(draws))


EMBEDDINGS = {
    None: Identity,
    "alternating": Alternating,
    "sinusoidal": Sinusoidal,
    "periodic": Periodic,
}
