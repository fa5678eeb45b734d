"""Rare and unseen levels of categories: which columns hold levels, and the variance they add.

A level is a column with two values, such as a one-hot input or a flag. A level that few training
rows have says little about its effect, however close a row is to these rows.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from sk_deltauq._columns import find_binary_columns

# A level with more training rows than this adds nothing: the network has learnt its effect.
MOST_ROWS = 10

# With fewer training rows no level is known well, and numbers may have two values by chance.
_FEWEST_ROWS = 4 * MOST_ROWS


@dataclass(frozen=True)
class Levels:
    """Columns with two values in the scaled training rows, and the groups that they form.

    A group is a one-hot encoded category: each training row has exactly one of its levels. The
    columns of a group are neighbours.
    """

    columns: np.ndarray  # (level,), positions
    off: np.ndarray  # (level,), scaled value without the level, float32
    on: np.ndarray  # (level,), scaled value with the level, float32
    groups: np.ndarray  # (level,), number of the group, -1 for a level outside of groups
    shares: np.ndarray  # (level,), number of levels in this column: rare levels share one

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    def count_rows(self, x: torch.Tensor) -> np.ndarray:
        """Return how many scaled rows `(row, feature)` have each level, `(level,)`.

        Levels that share a column have the same number.
        """
        on = torch.from_numpy(self.on).to(x.device)
        counts = [(x[:, c] == value).sum() for c, value in zip(self.columns, on, strict=True)]
        return torch.stack(counts).cpu().numpy() / self.shares


def find_levels(x: np.ndarray, shares: np.ndarray | None = None) -> Levels | None:
    """Find the levels of scaled training rows `(row, feature)`; None without levels.

    Of a column outside of groups the rarer value is the level. `shares` is the number of levels
    in each column, `(feature,)`, one by default.
    """
    if len(x) < _FEWEST_ROWS or not len(columns := find_binary_columns(x)):
        return None
    low, high = x.min(axis=0), x.max(axis=0)
    is_high = [x[:, column] == high[column] for column in columns]
    # Constant columns, such as a level without rows, may stand between the others.
    places = np.cumsum(low < high)[columns]
    groups = _find_groups(is_high, places)
    is_inverted = (groups < 0) & [2 * rows.sum() > len(x) for rows in is_high]
    off, on = np.where(is_inverted, [high[columns], low[columns]], [low[columns], high[columns]])
    shares = np.ones(x.shape[1]) if shares is None else shares
    return Levels(columns, off, on, groups, shares[columns])


def _find_groups(is_on: list[np.ndarray], places: np.ndarray) -> np.ndarray:
    """Number the groups of neighbours of which each row has exactly one; -1 for other columns."""
    groups, n_groups = np.full(len(is_on), -1), 0
    window: list[int] = []
    covered = np.zeros(len(is_on[0]), dtype=bool)
    for i, on in enumerate(is_on):
        if window and places[i] != places[window[-1]] + 1:
            window, covered = [], np.zeros_like(covered)
        while window and (covered & on).any():
            covered = covered & ~is_on[window.pop(0)]
        window.append(i)
        covered = covered | on
        if covered.all():
            groups[window], n_groups = n_groups, n_groups + 1
            window, covered = [], np.zeros_like(covered)
    return groups


class RareLevels(nn.Module):
    """Epistemic variance that rare and unseen levels add to the variance of the network.

    Each level has a variance of its own, 0 for a common one. A row that has no level of a group
    has the variance of an unseen level of this group. The variances of a row are added.

    Parameters
    ----------
    levels : Levels
        The levels of the training rows.
    variances : ndarray of shape (n_levels, n_targets)
        Variance of each level, in squared units of the scaled targets.
    unseen : ndarray of shape (n_groups, n_targets)
        Variance of an unseen level of each group.
    """

    columns: torch.Tensor
    off: torch.Tensor
    span: torch.Tensor
    members: torch.Tensor
    variances: torch.Tensor
    unseen: torch.Tensor

    def __init__(self, levels: Levels, variances: np.ndarray, unseen: np.ndarray):
        super().__init__()
        members = levels.groups[:, np.newaxis] == np.arange(levels.n_groups)
        values = {
            "columns": levels.columns,
            "off": levels.off,
            "span": levels.on - levels.off,
            "members": members.astype(np.float64),  # (level, group)
            "variances": np.asarray(variances, dtype=np.float64),
            "unseen": np.asarray(unseen, dtype=np.float64),
        }
        self.__setstate__(values)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return the state in plain arrays."""
        return {name: buffer.cpu().numpy() for name, buffer in self.named_buffers()}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name, value in state.items():
            self.register_buffer(name, torch.tensor(value, device="cpu"))

    def scale(self, factor: np.ndarray) -> RareLevels:
        """Return a copy with all variances multiplied by a factor, `(target,)`."""
        scaled = copy.deepcopy(self)
        for buffer in (scaled.variances, scaled.unseen):
            buffer *= torch.from_numpy(factor).to(buffer)
        return scaled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled rows `(row, feature)` to `(row, target)`, float64."""
        buffers = {name: buffer.to(x.device) for name, buffer in self.named_buffers()}
        active = (x[:, buffers["columns"]] - buffers["off"]) / buffers["span"]
        active = active.clamp(0, 1).double()  # (row, level)
        missing = (1 - active @ buffers["members"]).clamp(min=0)  # (row, group)
        return active @ buffers["variances"] + missing @ buffers["unseen"]
