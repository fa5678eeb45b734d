"""Networks that see a row and its nearest training rows, with their targets."""

from __future__ import annotations

import torch

from sk_deltauq._methods.metric import Metric
from sk_deltauq._methods.pool import Pool, PoolRows
from sk_deltauq._methods.search import SearchIndex
from sk_deltauq._networks.mlp import Core, Network
from sk_deltauq._networks.selection import Neighbours, blend

# Stored or moved with the network. The search and the pool follow from them.
_TABLES = "x", "y", "weights", "groups"
_METRIC = "unit", "scales", "directions"

# Added to the shares of the classes among the neighbours: no neighbour has most of the classes,
# and their logarithm must be finite.
_ABSENT_CLASS = 0.05


class NeighbourNetwork(Network):
    """Networks on a row and its neighbours; components are pairs of a member and an anchor.

    With `has_classes`, the targets are indicators of classes, and the outputs are logits. With
    `approximate`, the search among many rows misses a few neighbours. The rows of the pool, their
    targets, the metric and the subsets are buffers, so that they are stored.
    """

    pool_x: torch.Tensor
    pool_y: torch.Tensor
    pool_weights: torch.Tensor
    pool_groups: torch.Tensor | None
    pool: Pool  # the distinct rows that may be neighbours: all, unless training restricts them
    unit: torch.Tensor
    scales: torch.Tensor
    directions: torch.Tensor
    subsets: torch.Tensor  # bool, (anchor, neighbour)
    # The number of each row of the pool in the last call of `fit` or `partial_fit`, -1 for rows
    # of earlier calls, and the groups of all rows of that call. Only training needs them.
    row_numbers: torch.Tensor
    row_groups: torch.Tensor | None

    def __init__(self, core: Core, *, has_classes: bool = False, approximate: bool = False):
        super().__init__(core)
        self._has_classes, self._approximate = has_classes, approximate
        # A stored network does not name a buffer that is None.
        self.register_buffer("pool_groups", None)
        self._rows: PoolRows | None = None
        self._index: SearchIndex | None = None
        self._is_restricted = False
        # Descriptions of held-out rows, which training asks about in each epoch.
        self._descriptions: dict[tuple[bytes, int], tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def n_components(self) -> int:
        return self.core.n_members * len(self.subsets)

    @property
    def n_targets(self) -> int:
        """Number of targets of a neighbour; for a classifier, the number of classes."""
        return self.pool_y.shape[1]

    @property
    def metric(self) -> Metric:
        """The metric of the neighbours."""
        return Metric(self.unit, self.scales, self.directions)

    @property
    def pool_rows(self) -> PoolRows:
        """The rows of which the pool is made."""
        tables = self.pool_x, self.pool_y, self.pool_weights, self.pool_groups
        now = PoolRows(*tables, approximate=self._approximate)
        if self._rows is None or not self._rows.shares_memory(now):  # loaded, or moved to a device
            self._rows, self._index = now, None
        return self._rows

    def set_pool(self, rows: PoolRows, metric: Metric, subsets: torch.Tensor) -> None:
        """Keep the rows, the metric, and subsets of neighbours `(anchor, neighbour)`."""
        for name in _TABLES:
            self.register_buffer(f"pool_{name}", getattr(rows, name))
        for name in _METRIC:
            self.register_buffer(name, getattr(metric, name))
        self.register_buffer("subsets", subsets)
        self._rows, self._index = rows, None
        self.collect_pool()

    def collect_pool(self, is_trained: torch.Tensor | None = None) -> None:
        """Let each member see the targets of its own training rows only; None for all rows.

        `is_trained` is `(member, row)`.
        """
        self._is_restricted = is_trained is not None
        self._descriptions = {}
        rows, n_neighbors = self.pool_rows, self.subsets.shape[1]
        if self._index is None:
            self._index = rows.make_index(self.metric.find_search_space())
        self.pool = Pool.collect(rows, self._index, self.unit, n_neighbors, is_trained)

    def forward(
        self, x: torch.Tensor, features: torch.Tensor, level: torch.Tensor
    ) -> torch.Tensor:
        """Map rows, and what `describe` returns for one subset, to `(member, output, sample)`."""
        return self._map(x, features.unsqueeze(2), level.unsqueeze(2)).squeeze(2)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        features, level = self._describe_once(x, limit)
        return self._map(x.expand(self.core.n_members, -1, -1), features, level)

    def _describe_once(self, x: torch.Tensor, limit: int | None):
        """Describe the neighbours of rows for all anchors; remember the result while training."""
        if limit is None or not self._is_restricted or not torch.is_inference_mode_enabled():
            return self._describe_anchors(x, limit)
        key = x.cpu().numpy().tobytes(), limit
        if key not in self._descriptions:
            self._descriptions[key] = self._describe_anchors(x, limit)
        return self._descriptions[key]

    def _describe_anchors(self, x: torch.Tensor, limit: int | None):
        samples = [x] if x.ndim == 2 else [x[0]] if x.stride(0) == 0 else list(x)
        by_index = torch.is_inference_mode_enabled()  # which has no place in a graph
        found = [self.pool.find(rows.T, by_index=by_index) for rows in samples]
        near, counts = (_stack_members(parts) for parts in zip(*found, strict=True))
        used = counts.unsqueeze(2) & self.subsets[:limit, : counts.shape[2]]
        rows = x.expand(self.core.n_members, -1, -1).transpose(1, 2)
        return self.describe(rows, near, used)

    def describe(
        self,
        x: torch.Tensor,
        near: torch.Tensor,
        used: torch.Tensor,
        distance: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Describe the neighbours of rows `(member, sample, feature)`, see `blend`.

        For a classifier, the level is the logarithm of the shares of the classes: logits.

        `near` are numbers of distinct rows, `(member, sample, neighbour)`, and `used` is `(member,
        sample, subset, neighbour)`. The distances are measured if they are not given.
        """
        x, pool, log_weights = x / self.unit, self.pool, self.pool.log_weights
        values = _take(pool.values, near)
        if distance is None:
            distance = self.metric.measure(x, values)
        if log_weights is not None:
            log_weights = _take(log_weights, near)
        found = Neighbours(values, distance, log_weights, used)
        features, level = blend(x, found, self.n_targets)
        return features, (level + _ABSENT_CLASS).log() if self._has_classes else level

    def measure_distance(self, x: torch.Tensor, near: torch.Tensor) -> torch.Tensor:
        """Return squared distances of rows `(member, sample, feature)` to their neighbours."""
        return self.metric.measure(x / self.unit, _take(self.pool.values, near))

    def _map(self, x: torch.Tensor, features, level) -> torch.Tensor:
        """Map rows `(member, feature, sample)` to `(member, output, subset, sample)`."""
        raw = self.core.map_extra(self.core.embedding(x), features)
        n_targets = level.shape[1]
        return torch.cat([raw[:, :n_targets] + level, raw[:, n_targets:]], dim=1)


def _take(table: torch.Tensor, near: torch.Tensor) -> torch.Tensor:
    """Look up neighbours `(member, sample, neighbour)` in a table with the members first."""
    n_pools, n_rows = table.shape[:2]
    if n_pools > 1:
        near = near + (torch.arange(n_pools, device=near.device) * n_rows)[:, None, None]
    return table.flatten(0, 1)[near]


def _stack_members(parts) -> torch.Tensor:
    """Stack results of each member's own rows; rows that are the same for all have one entry."""
    if len(parts) == 1:
        return parts[0]
    return torch.stack([part[min(m, len(part) - 1)] for m, part in enumerate(parts)])
