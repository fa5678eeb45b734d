"""The training rows that serve as anchors, and which of the nearest ones count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import nn

from sk_deltauq._methods.search import SearchIndex

# Rows that differ by less in every feature are equal. They are no neighbours of each other: in
# training, the target of an equal row would give the answer away.
_EQUAL = 1e-5


@dataclass(frozen=True)
class PoolRows:
    """Training rows with their targets; rows may be equal. On the device of the network."""

    x: torch.Tensor  # (row, feature), scaled
    y: torch.Tensor  # (row, target), scaled
    weights: torch.Tensor  # (row,)
    groups: torch.Tensor | None  # (row,)
    approximate: bool = False  # whether a search among many rows may miss some neighbours

    @cached_property
    def distinct(self) -> DistinctRows:
        """The rows without their copies; found once, because sorting a large table takes long."""
        keys = self.x if self.groups is None else torch.cat([self.x, self.groups[:, None]], dim=1)
        rows, inverse = np.unique(keys.cpu().numpy(), axis=0, return_inverse=True)
        x = torch.from_numpy(rows[:, : self.x.shape[1]]).to(self.x)
        groups = None if self.groups is None else torch.from_numpy(rows[:, -1]).to(self.x)
        return DistinctRows(x, groups, torch.from_numpy(inverse.ravel()).to(x.device))

    def make_index(self, space: torch.Tensor) -> SearchIndex:
        """Return an index of the distinct rows, see `SearchIndex`."""
        return SearchIndex(self.distinct.x, space, approximate=self.approximate)

    def shares_memory(self, other: PoolRows) -> bool:
        """Tell whether the tensors are the tensors of other rows."""
        names = "x", "y", "weights", "groups"
        return all(getattr(self, name) is getattr(other, name) for name in names)

    def to(self, device) -> PoolRows:
        """Move the rows to a device."""
        if self.x.device == torch.device(device):
            return self
        return self._map(lambda values: values.to(device))

    def take(self, chosen: np.ndarray) -> PoolRows:
        """Return the chosen rows."""
        return self._map(lambda values: values[chosen])

    def append(self, rows: PoolRows) -> PoolRows:
        """Append rows; groups are dropped unless all rows have one."""
        x, y, weights = (
            torch.cat([getattr(part, name) for part in (self, rows)])
            for name in ("x", "y", "weights")
        )
        groups = None
        if self.groups is not None and rows.groups is not None:
            groups = torch.cat([self.groups, rows.groups])
        return replace(self, x=x, y=y, weights=weights, groups=groups)

    def merge_copies(self) -> tuple[PoolRows, np.ndarray, np.ndarray]:
        """Merge rows with equal features, targets and group, on a CPU; the newest row stays.

        Returns the rows with the summed weights of all copies, their numbers before, and for each
        row before the place of the row that stays.
        """
        parts = [self.x, self.y] if self.groups is None else [self.x, self.y, self.groups[:, None]]
        _, which = np.unique(torch.cat(parts, dim=1).numpy(), axis=0, return_inverse=True)
        which = which.ravel()
        newest = np.zeros(which.max() + 1, dtype=int)
        np.maximum.at(newest, which, np.arange(len(which)))
        kept = np.sort(newest)
        place = np.searchsorted(kept, newest[which])
        weights = np.bincount(place, self.weights.numpy())
        merged = replace(self.take(kept), weights=torch.from_numpy(weights).to(self.weights))
        return merged, kept, place

    def _map(self, function: Callable[[torch.Tensor], torch.Tensor]) -> PoolRows:
        x, y, weights = (function(part) for part in (self.x, self.y, self.weights))
        groups = None if self.groups is None else function(self.groups)
        return replace(self, x=x, y=y, weights=weights, groups=groups)


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows; rows of two groups are never merged."""

    x: torch.Tensor  # (distinct row, feature), scaled
    groups: torch.Tensor | None  # (distinct row,)
    inverse: torch.Tensor  # (row,), the distinct row of each row


class Pool(nn.Module):
    """Distinct rows with the mean target of all equal rows.

    `values` and `present` have the members on the first axis if each has training rows of its
    own, otherwise one entry that holds for all. The buffers follow from `PoolRows`, so they are
    not stored.
    """

    x: torch.Tensor  # (distinct row, feature), scaled
    values: torch.Tensor  # (member, distinct row, feature + 2 * target), see `Neighbours`
    log_weights: torch.Tensor | None  # (member, distinct row)
    present: torch.Tensor  # bool, (member, distinct row): whether the member has such a row
    groups: torch.Tensor | None

    def __init__(
        self, distinct: DistinctRows, index: SearchIndex, values, log_weights, present, n_neighbors
    ):
        super().__init__()
        buffers = {"x": distinct.x, "groups": distinct.groups}
        own = {"values": values, "log_weights": log_weights, "present": present}
        for name, value in {**buffers, **own}.items():
            self.register_buffer(name, value, persistent=False)
        self.n_neighbors = n_neighbors
        self.index, self._n_candidates = index, self._count_candidates()

    @classmethod
    def collect(
        cls,
        rows: PoolRows,
        index: SearchIndex,
        unit: torch.Tensor,
        n_neighbors: int,
        is_trained: torch.Tensor | None = None,
    ) -> Pool:
        """Merge equal rows; `is_trained`, `(member, row)`, tells the rows of each member."""
        distinct = rows.distinct
        n_rows, inverse = len(distinct.x), distinct.inverse
        counted = rows.weights.double()[None]
        if is_trained is not None:
            counted = counted * is_trained
        targets = torch.cat([rows.y, rows.y.square()], dim=1).double()
        total = counted.new_zeros(len(counted), n_rows).index_add_(1, inverse, counted)
        sums = counted.new_zeros(len(counted), n_rows, targets.shape[1])
        sums.index_add_(1, inverse, counted.unsqueeze(2) * targets)
        present = total > 0
        means = (sums / total.clamp(min=torch.finfo(total.dtype).tiny).unsqueeze(2)).to(rows.x)
        values = torch.cat([(distinct.x / unit).expand(len(means), -1, -1), means], dim=2)
        log_weights = None
        if not bool((rows.weights == rows.weights[0]).all()) or n_rows < len(rows.x):
            log_weights = torch.where(present, total, 1.0).log().to(rows.x)
        return cls(distinct, index, values, log_weights, present, n_neighbors)

    def take(self, chosen: torch.Tensor, n_neighbors: int) -> Pool:
        """Return a pool of the distinct rows with the numbers `chosen`."""
        groups = None if self.groups is None else self.groups[chosen]
        distinct = DistinctRows(self.x[chosen], groups, torch.arange(len(chosen)))
        index = SearchIndex(distinct.x, self.index.space, approximate=self.index.approximate)
        log_weights = None if self.log_weights is None else self.log_weights[:, chosen]
        values, present = self.values[:, chosen], self.present[:, chosen]
        return Pool(distinct, index, values, log_weights, present, n_neighbors)

    def find(
        self,
        x: torch.Tensor,
        *,
        by_index: bool,
        groups: torch.Tensor | None = None,
        origin: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Find the nearest rows that a member has, and that differ from the row.

        `x` is `(row, feature)`, on the device of the pool; `groups`, `(row,)` or `(row, group)`,
        are groups whose rows do not count. `origin` are rows that `x` was made of: neighbours must
        differ from them instead of from `x`. Returns numbers of distinct rows, `(member, row,
        neighbour)`, nearest first, and which of them count.
        """
        width = self._n_candidates
        near = self.index.search(x, width, by_index=by_index)
        origin = x if origin is None else origin
        counts = ((self.x[near] - origin.unsqueeze(1)).abs() > _EQUAL).any(dim=2)
        if groups is not None and self.groups is not None:
            own = groups.reshape(len(x), 1, -1)
            counts = counts & (self.groups[near].unsqueeze(2) != own).all(dim=2)
        counts = counts & self.present[:, near]  # (member, row, candidate)
        # The first ones that count, in their order, and then the others.
        rank = torch.arange(width, 0, -1, device=x.device) + width * counts.to(torch.int64)
        places = rank.to(torch.float32).topk(min(self.n_neighbors, width), dim=2).indices
        near = near.expand(len(counts), -1, -1)
        return near.gather(2, places), counts.gather(2, places)

    def _count_candidates(self) -> int:
        """Return how many rows to search: more, if members lack some of them."""
        spare = 1  # the row itself
        missing = 1 - float(self.present.double().mean(dim=1).min())
        if missing > 0:
            spare += 8 + round(2 * self.n_neighbors * missing / max(1 - missing, 0.1))
        if self.groups is not None:
            spare += self.n_neighbors
        return min(self.n_neighbors + spare, len(self.x))
