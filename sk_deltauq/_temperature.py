"""Temperatures of a classifier: by the distance from the training rows, or one for all rows.

A temperature divides the logits of a row. Above one it makes the probabilities less certain, and
the order of the classes stays.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from sk_deltauq._outlier_scores import squash

# With 500 rows the log loss of shifted rows was up to 10 % larger than with 1,500.
_N_REFERENCES = 2000

# Floats in the reference rows, for tables with very many columns, but at least 500 rows.
_REFERENCE_FLOATS, _FEWEST_REFERENCES = 2**22, 500

# The mean of 5 distances is less noisy than the smallest one, and both gave the same log loss.
N_NEIGHBOURS = 5

# For distances from the reference rows, which would else be one large table.
_ROWS_AT_A_TIME = 512

# The fraction of the training rows that counts as inside.
_INSIDE = 0.9

# Added to the distance and to the reach. With few features and many rows the reach alone is so
# small that a row just outside would count as far away.
_LEAST_UNIT = 0.25

# At larger temperatures all probabilities are equal up to rounding.
_HIGHEST = 1e6


class NearestRows(nn.Module):
    """Mean Euclidean distance of a row from its `N_NEIGHBOURS` nearest reference rows.

    The reference rows are a random sample of the distinct training rows so far.

    Parameters
    ----------
    rows : ndarray of shape (n_references, n_features)
        Scaled rows.
    keys : ndarray of shape (n_references,)
        Random numbers, decreasing: the rows with the largest keys are the sample.
    groups : ndarray of shape (n_references,)
        Rows with the same number belong together.
    """

    rows: torch.Tensor

    def __init__(self, rows: np.ndarray, keys: np.ndarray, groups: np.ndarray):
        super().__init__()
        self.__setstate__({"rows": rows, "keys": keys, "groups": groups})

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return the state in plain arrays."""
        return {"rows": self.rows.cpu().numpy(), "keys": self.keys, "groups": self.groups}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.keys, self.groups = state["keys"], state["groups"]
        # Copied into torch's own memory, which is aligned.
        self.register_buffer("rows", torch.tensor(state["rows"], device="cpu"))

    @classmethod
    def pick(
        cls,
        x: torch.Tensor,
        keys: np.ndarray,
        groups: np.ndarray | None = None,
        earlier: NearestRows | None = None,
    ) -> NearestRows:
        """Pick the scaled rows `(row, feature)` with the largest random `keys`, `(row,)`.

        Rows of earlier calls compete with their own keys. `groups` names the group of each row;
        None if each row is one.
        """
        rows = x.cpu().numpy()
        groups = (
            np.arange(len(rows)) if groups is None else np.unique(groups, return_inverse=True)[1]
        )
        if earlier is not None:
            groups = np.concatenate([earlier.groups, earlier.groups.max() + 1 + groups])
            rows = np.concatenate([earlier.rows.cpu().numpy(), rows])
            keys = np.concatenate([earlier.keys, keys])
        n_most = max(_REFERENCE_FLOATS // max(rows.shape[1], 1), _FEWEST_REFERENCES)
        n_most = min(n_most, _N_REFERENCES)
        # Half of them may be copies, and to sort all rows of a large table takes long.
        order = np.argsort(-keys, kind="stable")[: 2 * n_most]
        # Equal rows say nothing about the distance between different rows.
        _, first = np.unique(rows[order], axis=0, return_index=True)
        order = order[np.sort(first)][:n_most]
        return cls(rows[order], keys[order], groups[order])

    def measure_own(self) -> np.ndarray:
        """Return the distances of the reference rows from rows of other groups, `(reference,)`.

        The result is empty if there is no other group.
        """
        groups, device = torch.from_numpy(self.groups), self.rows.device
        parts = torch.arange(len(self.groups)).split(_ROWS_AT_A_TIME)
        found = [
            self(self.rows[part], excluded=(groups[part, None] == groups).to(device))
            for part in parts
        ]
        distances = torch.cat(found).cpu().numpy()
        return distances[np.isfinite(distances)]

    def forward(self, x: torch.Tensor, excluded: torch.Tensor | None = None) -> torch.Tensor:
        """Scaled rows `(row, feature)` to `(row,)`.

        `excluded`, `(row, reference)`, marks reference rows to leave out. The distance is infinite
        if none is left.
        """
        distances = measure_nearest(x, self.rows.to(x), excluded)
        if excluded is None:
            return distances.mean(dim=1)
        is_there = distances.isfinite()
        total, count = distances.where(is_there, 0.0).sum(dim=1), is_there.sum(dim=1)
        return torch.where(count > 0, total / count.clamp(min=1), torch.inf)


def measure_nearest(
    x: torch.Tensor, rows: torch.Tensor, excluded: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the distances from the `N_NEIGHBOURS` nearest of some rows, `(row, neighbour)`.

    Computed as |x|^2 - 2 x r + |r|^2, which takes half the time of `torch.cdist`.
    """
    squares = torch.addmm(rows.square().sum(dim=1), x, rows.T, alpha=-2)
    if excluded is not None:
        squares = squares.masked_fill(excluded, torch.inf)
    nearest = squares.topk(min(N_NEIGHBOURS, len(rows)), dim=1, largest=False).values
    # Rounding may leave less than 0, and the root has no gradient at 0.
    return (nearest + x.square().sum(dim=1, keepdim=True)).clamp(min=1e-12).sqrt()


def measure_squashed_distance(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return the mean distance from the nearest of some rows, `(row,)`, after both are squashed.

    It is the outlier score "distance". `x` and `rows` are scaled, `(row, feature)`.
    """
    references = squash(rows)
    parts = squash(x).split(_ROWS_AT_A_TIME)
    return torch.cat([measure_nearest(part, references).mean(dim=1) for part in parts])


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
        stretch = torch.log1p(excess / (reach + _LEAST_UNIT))
        return base * (exponent * stretch).clamp(max=np.log(_HIGHEST)).exp()


def find_reach(distances: np.ndarray) -> float:
    """Return the distance below which 90 % of the training rows are; 0 without distances."""
    return float(np.quantile(distances, _INSIDE)) if len(distances) else 0.0
