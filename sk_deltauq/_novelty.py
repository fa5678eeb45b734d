"""How far a row is from the training rows: the distance from the nearest of a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import kmeans_plusplus

# So few that the search for the nearest one costs less than the network.
_N_LANDMARKS = 64

# Landmarks are picked among this many rows: enough for the spread, few enough for the time.
_N_CANDIDATES = 4096

# The fraction of the training rows that counts as inside.
_INSIDE = 0.9


@dataclass(frozen=True)
class Landmarks:
    """A few training rows that are spread over all training rows.

    Attributes
    ----------
    rows : ndarray of shape (n_landmarks, n_features)
        Scaled rows.
    reach : float
        The 90 % quantile of the distance of training rows from their nearest landmark, and at
        least half of the median distance between neighbouring landmarks.
    """

    rows: np.ndarray
    reach: float

    @classmethod
    def pick(cls, x: torch.Tensor, rng: np.random.Generator, earlier: Landmarks | None = None):
        """Pick landmarks among scaled rows `(row, feature)` and those of `earlier` rows.

        They are the seeds of k-means++ (Arthur and Vassilvitskii, 2007): each is random, and more
        likely the farther it is from the seeds that are picked already.
        """
        table = x.numpy()
        candidates = table
        if len(table) > _N_CANDIDATES:
            candidates = table[rng.choice(len(table), _N_CANDIDATES, replace=False)]
        if earlier is not None:
            candidates = np.concatenate([earlier.rows, candidates])
        # At most a quarter of the rows, so that most rows are no landmarks.
        n_landmarks = min(_N_LANDMARKS, -(-len(candidates) // 4))
        rows, _ = kmeans_plusplus(
            candidates, n_landmarks, random_state=int(rng.integers(np.iinfo(np.int32).max))
        )
        nearest = _measure_nearest(torch.from_numpy(candidates), rows).numpy()
        # If few distinct rows occur, all of them are landmarks at distance 0 from the rows.
        reach = max(float(np.quantile(nearest, _INSIDE)), _measure_spacing(rows) / 2)
        # The rows behind earlier landmarks are gone; the earlier reach stands for them.
        return cls(rows, max(reach, 0.0 if earlier is None else earlier.reach))

    def excess(self, x: torch.Tensor) -> torch.Tensor:
        """Return how far scaled rows `(row, feature)` are beyond the reach, `(row,)`; 0 inside.

        The unit is the reach plus half a standard deviation of a feature. With few features and
        many rows the reach alone is so small that a row just outside would count as far away.
        """
        return (_measure_nearest(x, self.rows) - self.reach).clamp(min=0) / (self.reach + 0.5)


def _measure_spacing(rows):
    """Return the median distance of distinct rows from their nearest neighbour; 0 for one row."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) == 1:
        return 0.0
    distances = squareform(pdist(distinct))
    np.fill_diagonal(distances, np.inf)
    return float(np.median(distances.min(axis=1)))


def _measure_nearest(x, rows):
    """Return the distance of each row of a tensor from the nearest of `rows`.

    Computed as |x|^2 - 2 x r + |r|^2, which takes half the time of `torch.cdist`.
    """
    rows = torch.tensor(rows, device=x.device)
    squares = torch.addmm(rows.square().sum(dim=1), x, rows.T, alpha=-2).amin(dim=1)
    # Rounding may leave less than 0, and the root has no gradient at 0.
    return (squares + x.square().sum(dim=1)).clamp(min=1e-12).sqrt()
