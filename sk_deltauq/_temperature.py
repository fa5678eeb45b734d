"""Temperatures of a classifier: by the distance from the training rows, or one for all rows.

A temperature divides the logits of a row. Above one it makes the probabilities less certain, and
the order of the classes stays.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from sk_deltauq._nearest_rows import LEAST_UNIT

# At larger temperatures all probabilities are equal up to rounding.
_HIGHEST = 1e6


class Temperature(nn.Module):
    """The temperature of each row: `base * ((d + 1/4) / (r + 1/4)) ** exponent` outside.

    `d` is the mean distance of the row from the nearest training rows. Up to the reach `r` the
    temperature is `base`. With an exponent of 0 it is `base` for all rows.
    """

    base: torch.Tensor
    exponent: torch.Tensor
    reach: torch.Tensor

    def __init__(self, base: float = 1.0, exponent: float = 0.0, reach: float = 0.0):
        super().__init__()
        self.__setstate__({"base": base, "exponent": exponent, "reach": reach})

    def __getstate__(self) -> dict[str, float]:
        """Return the state in plain numbers."""
        return {name: float(value) for name, value in self.named_buffers()}

    def __setstate__(self, state: dict[str, float]) -> None:
        super().__init__()
        for name, value in state.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64, device="cpu"))

    def scale(self, factor: float) -> Temperature:
        """Return this temperature times a factor, for all rows."""
        return Temperature(**(self.__getstate__() | {"base": float(self.base) * factor}))

    def forward(self, distances: torch.Tensor) -> torch.Tensor:
        """Distances `(row,)` to temperatures `(row,)`, float64."""
        parts = self.base, self.exponent, self.reach
        base, exponent, reach = (value.to(distances.device) for value in parts)
        excess = (distances.double() - reach).clamp(min=0)
        stretch = torch.log1p(excess / (reach + LEAST_UNIT))
        return base * (exponent * stretch).clamp(max=np.log(_HIGHEST)).exp()
