"""Distance of a row from its nearest training rows, which are a random sample."""

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
INSIDE = 0.9

# Added to the reach. With few features and many rows the reach alone is so small that a row just
# outside would count as far away.
LEAST_UNIT = 0.25


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


def find_reach(distances: np.ndarray) -> float:
    """Return the distance below which 90 % of the training rows are; 0 without distances."""
    return float(np.quantile(distances, INSIDE)) if len(distances) else 0.0
