"""How far a row lies outside the training rows, by the nearest of a few of them, the landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import kmeans_plusplus

# So few that looking for the nearest one costs less than the network does.
_N_LANDMARKS = 64

# Out of how many rows they are picked: enough for their spread, few enough for the time.
_N_CANDIDATES = 4096

# Part of the training rows that counts as inside.
_INSIDE = 0.9


@dataclass(frozen=True)
class Landmarks:
    """Training rows that are spread over the training rows.

    Attributes
    ----------
    rows : ndarray of shape (n_landmarks, n_features)
        Scaled rows.
    reach : float
        Distance from the nearest landmark that nine tenths of the training rows keep within, and
        at least half of the usual one between neighbouring landmarks.
    """

    rows: np.ndarray
    reach: float

    @classmethod
    def pick(cls, x: torch.Tensor, rng: np.random.Generator, earlier: Landmarks | None = None):
        """Pick landmarks among scaled rows `(row, feature)` and those of `earlier` rows.

        They are the seeds of k-means++ (Arthur and Vassilvitskii, 2007): random, each the likelier
        the farther it is from those that are picked already.
        """
        table = x.numpy()
        candidates = table
        if len(table) > _N_CANDIDATES:
            candidates = table[rng.choice(len(table), _N_CANDIDATES, replace=False)]
        if earlier is not None:
            candidates = np.concatenate([earlier.rows, candidates])
        # With a fourth of all rows as landmarks, most rows are still none.
        n_landmarks = min(_N_LANDMARKS, -(-len(candidates) // 4))
        rows, _ = kmeans_plusplus(
            candidates, n_landmarks, random_state=int(rng.integers(np.iinfo(np.int32).max))
        )
        nearest = _nearest(torch.from_numpy(candidates), rows).numpy()
        # Where few values occur, all of them are landmarks, and no row is away from one.
        reach = max(float(np.quantile(nearest, _INSIDE)), _spacing(rows) / 2)
        # The rows behind earlier landmarks are gone; they kept within the reach of these.
        return cls(rows, max(reach, 0.0 if earlier is None else earlier.reach))

    def excess(self, x: torch.Tensor) -> torch.Tensor:
        """How far scaled rows `(row, feature)` are beyond the reach; 0 inside.

        The unit is the reach and half a std of a feature: with few features and many rows the
        reach is so small that it alone would make a row far away that is all but inside.
        """
        return (_nearest(x, self.rows) - self.reach).clamp(min=0) / (self.reach + 0.5)


def _spacing(rows):
    """Median distance of a row from the nearest other that differs; 0 if none does."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) == 1:
        return 0.0
    distances = squareform(pdist(distinct))
    np.fill_diagonal(distances, np.inf)
    return float(np.median(distances.min(axis=1)))


def _nearest(x, rows):
    """Distance of each row of a tensor from the nearest of `rows`.

    By |x|^2 - 2 x r + |r|^2, of which the first is the same for all `rows`: in half the time that
    `torch.cdist` takes.
    """
    rows = torch.tensor(rows, device=x.device)
    squares = torch.addmm(rows.square().sum(dim=1), x, rows.T, alpha=-2).amin(dim=1)
    # Rounding may leave less than 0, and the root has no gradient at 0.
    return (squares + x.square().sum(dim=1)).clamp(min=1e-12).sqrt()
