"""Delta-UQ with anchors that know their target: the nearest training rows.

The anchor of the paper is a random training row without its target, so that a network has to
unlearn it. Here an anchor is a random half of the nearest training rows, blended by a learnt
similarity (`SoftSelection`), and the network predicts the difference from their targets::

    mean = y_c + g(x, x - c, y_c, ...)

As in the paper, anchors are random in training, and at prediction the mean and the spread over
several anchors are the prediction and its epistemic uncertainty (eq. 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils import gen_batches
from torch import nn

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._methods.anchored import draw_anchor_keys, pick_references
from sk_deltauq._methods.pool import Pool, PoolRows
from sk_deltauq._networks.mlp import MLP, Core, Network, NetworkSpec
from sk_deltauq._networks.selection import Neighbours, SoftSelection
from sk_deltauq._networks.user_modules import UserModules
from sk_deltauq._training.method import DrawContext, Method
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows

# Probability that a neighbour takes no part in a training step. Without it the networks trust the
# nearest target too much.
_DROPPED = 0.5

# Added to the typical difference between neighbours, in units of the standard deviation.
_LEAST_UNIT = 0.03

# With few rows, a quarter of them are neighbours.
_ROWS_PER_NEIGHBOUR = 4

# Rows whose neighbours tell the typical difference.
_N_PROBES = 10_000

# Rows of a large table whose neighbours are found at a time.
_CHUNK_ROWS = 16_384


class NeighbourNetwork(Network):
    """Networks on a row and its neighbours; components are pairs of a member and an anchor.

    The rows of the pool, their targets and the subsets are buffers, so that they are stored.
    """

    pool_x: torch.Tensor
    pool_y: torch.Tensor
    pool_weights: torch.Tensor
    pool_groups: torch.Tensor | None
    pool: Pool  # the distinct rows that may be neighbours: all, unless training restricts them
    unit: torch.Tensor
    subsets: torch.Tensor
    # The number of each row of the pool in the last call of `fit` or `partial_fit`; -1 for rows
    # of earlier calls. Only training needs it.
    row_numbers: torch.Tensor

    def __init__(self, core: Core, selection: SoftSelection):
        super().__init__(core)
        core.selection = selection
        # A stored network does not name a buffer that is None.
        self.register_buffer("pool_groups", None)
        self._rows: PoolRows | None = None
        self._is_restricted = False

    @property
    def n_components(self) -> int:
        return self.core.n_members * len(self.subsets)

    @property
    def pool_rows(self) -> PoolRows:
        """The rows of which the pool is made."""
        now = PoolRows(self.pool_x, self.pool_y, self.pool_weights, self.pool_groups)
        if self._rows is None or not self._rows.shares_memory(now):  # loaded, or moved to a device
            self._rows = now
        return self._rows

    def set_pool(self, rows: PoolRows, unit: torch.Tensor, subsets: torch.Tensor) -> None:
        """Keep rows, units `(feature,)`, and subsets of neighbours `(anchor, neighbour)`."""
        for name in ("x", "y", "weights", "groups"):
            self.register_buffer(f"pool_{name}", getattr(rows, name))
        self.register_buffer("unit", unit)
        self.register_buffer("subsets", subsets)
        self._rows = rows
        self.collect_pool()

    def collect_pool(self, is_trained: torch.Tensor | None = None) -> None:
        """Let each member see the targets of its own training rows only; None for all rows.

        `is_trained` is `(member, row)`.
        """
        self._is_restricted = is_trained is not None
        n_neighbors = self.subsets.shape[1]
        self.pool = Pool.collect(self.pool_rows, self.unit, n_neighbors, is_trained)

    def forward(self, x: torch.Tensor, numbers: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
        """Map rows with given neighbours to `(member, output, sample)`.

        `x` is `(member, feature, sample)`; `numbers`, of distinct rows, and `used` are
        `(member, neighbour, sample)`.
        """
        numbers, used = numbers.transpose(1, 2), used.transpose(1, 2).unsqueeze(2)
        return self._map(x, self._take(numbers, used)).squeeze(2)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        samples = [x] if x.ndim == 2 else [x[0]] if x.stride(0) == 0 else list(x)
        found = [self._find(rows.T) for rows in samples]
        numbers, counts = (_stack_members(parts) for parts in zip(*found, strict=True))
        used = counts.unsqueeze(2) & self.subsets[:limit, : counts.shape[2]]
        return self._map(x.expand(self.core.n_members, -1, -1), self._take(numbers, used))

    def _find(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Find the neighbours of rows `(row, feature)`, see `Pool.find`."""
        without_graph = torch.is_inference_mode_enabled()
        if without_graph and self._is_restricted:
            return self.pool.find_again(x)
        return self.pool.find(x, by_tree=without_graph)

    def _take(self, numbers: torch.Tensor, used: torch.Tensor) -> Neighbours:
        """Look up neighbours `(member, sample, neighbour)` in the pool."""
        pool = self.pool
        n_pools, n_rows, width = pool.values.shape
        if n_pools > 1:
            offsets = torch.arange(n_pools, device=numbers.device) * n_rows
            numbers = numbers + offsets[:, None, None]
        values = pool.values.view(-1, width)[numbers]
        weights = pool.log_weights
        return Neighbours(values, None if weights is None else weights.view(-1)[numbers], used)

    def _map(self, x: torch.Tensor, found: Neighbours) -> torch.Tensor:
        """Map rows `(member, feature, sample)` to `(member, output, subset, sample)`."""
        selection: Any = self.core.selection
        rows = (x / self.unit[:, None]).transpose(1, 2)
        features, level = selection(rows, found)
        n_subsets, n_samples = features.shape[2:]
        embedded = self.core.embedding(x).unsqueeze(2).expand(-1, -1, n_subsets, -1)
        inputs = torch.cat([embedded, features], dim=1).flatten(2)
        raw = self.core.map_inputs(inputs).unflatten(2, (n_subsets, n_samples))
        n_targets = level.shape[1]
        return torch.cat([raw[:, :n_targets] + level, raw[:, n_targets:]], dim=1)


def _stack_members(parts) -> torch.Tensor:
    """Stack results of each member's own rows; rows that are the same for all have one entry."""
    if len(parts) == 1:
        return parts[0]
    return torch.stack([part[min(m, len(part) - 1)] for m, part in enumerate(parts)])


@dataclass(frozen=True)
class NearestAnchors(Method):
    """Delta-UQ with random halves of the nearest training rows as anchors.

    `pool_size` is the number of training rows that may be neighbours, None for all. `inflation` is
    the strength of the distance-based inflation of the standard deviation, None for estimators
    without standard deviations.
    """

    n_anchors: int
    n_neighbors: int
    pool_size: int | None = None
    module: Callable[..., nn.Module] | None = None
    inflation: float | None = None

    ddof: ClassVar[int] = 1
    fixed_parameters: ClassVar[tuple[str, ...]] = ("anchors", "n_neighbors")

    def network(self, spec: NetworkSpec) -> NeighbourNetwork:
        selection = SoftSelection(spec.n_features, spec.n_targets, len(spec.members))
        n_extra = selection.n_outputs
        if self.module is None:
            core: Core = MLP(spec, n_extra=n_extra)
        else:
            core = UserModules(spec, self.module, n_extra=n_extra)
        return NeighbourNetwork(core, selection)

    def draw(self, network: Network, context: DrawContext):
        """Draw the pool, the subsets of neighbours, and the reference rows."""
        assert isinstance(network, NeighbourNetwork)
        data, earlier, device = context.data, context.earlier, context.settings.device
        new_keys = draw_anchor_keys(context.seed, data, context.call)
        groups = None if data.groups is None else torch.from_numpy(data.groups).to(data.x)
        rows = PoolRows(data.x, data.y, data.weights, groups)
        X, keys, numbers = data.X, new_keys, np.arange(len(data.X))
        if earlier:
            rows = network.pool_rows.to("cpu").append(rows)
            X = np.concatenate([earlier["anchors_"], X])
            keys = np.concatenate([earlier["_anchor_keys_"], keys])
            numbers = np.concatenate([np.full(len(earlier["anchors_"]), -1), numbers])
        if self.pool_size is not None and self.pool_size < len(X):
            chosen = np.sort(np.argsort(-keys, kind="stable")[: self.pool_size])
            rows, X, keys, numbers = rows.take(chosen), X[chosen], keys[chosen], numbers[chosen]
        if context.previous:  # the trained weights belong to these units
            unit, n_neighbors = network.unit.cpu(), network.subsets.shape[1]
        else:
            most = len(rows.distinct.x) // _ROWS_PER_NEIGHBOUR
            n_neighbors = max(min(self.n_neighbors, most), 1)
            unit = _measure_unit(rows, n_neighbors)
        subsets = _draw_subsets(numpy_rng(context.seed, Stream.MASKS), self.n_anchors, n_neighbors)
        network.set_pool(rows.to(device), unit.to(device), subsets.to(device))
        network.row_numbers = torch.from_numpy(numbers)
        kept: dict[str, Any] = {"anchors_": X, "_anchor_keys_": keys}
        if self.inflation is not None:
            kept |= pick_references(context, new_keys, self.inflation)
        return kept

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, numbers, used), (y, weights))` with neighbours of each sample.

        A member sees the targets of its own training rows only. A random half of the neighbours
        takes no part. Both new inputs are `(member, neighbour, sample)`.
        """
        assert isinstance(network, NeighbourNetwork)
        numbers, counts = _find_for_training(network, rows)
        member = torch.arange(len(rows.train), device=numbers.device)[:, None]

        def begin_epoch(order):
            shape, device = (order.shape[1], numbers.shape[2]), numbers.device
            draws = [torch.rand(shape, generator=g, device="cpu") for g in rows.generators]
            is_drawn = (torch.stack(draws) >= _DROPPED).to(device)

            def take(bounds):
                part = slice(bounds[0][0], bounds[-1][1])
                chosen = order[:, part]
                used = counts[member, chosen] & is_drawn[:, part]
                return numbers[member, chosen].long().transpose(1, 2), used.transpose(1, 2)

            return take

        return Batches(rows, batch_size, ExtraInputs(2 * numbers.shape[2], begin_epoch))

    def finish(self, network: Network) -> None:
        """Let all members see the targets of all rows."""
        assert isinstance(network, NeighbourNetwork)
        network.collect_pool()

    def step(self, network, head, batch):
        inputs, target = batch
        outputs = network(*inputs)
        return head.backpropagate(outputs, target), outputs


def _find_for_training(network: NeighbourNetwork, rows: TrainingRows):
    """Find the neighbours of all rows for each member: numbers, and which of them count.

    Both are `(member, row, neighbour)`. The targets of held-out rows do not count.
    """
    numbers = network.row_numbers.to(rows.train.device)
    n_rows = len(rows.x)
    is_trained = torch.zeros((len(rows.train), n_rows + 1), dtype=torch.bool, device=rows.x.device)
    is_trained.scatter_(1, rows.train, True)
    is_trained[:, -1] = True  # rows of earlier calls, which have the number -1
    network.collect_pool(is_trained[:, numbers])
    groups = None
    if network.pool_groups is not None:
        groups = rows.x.new_full((n_rows,), -1.0)  # validation rows of the user have no group
        current = numbers >= 0
        groups[numbers[current]] = network.pool_groups[current]
    found = []
    for part in gen_batches(n_rows, _CHUNK_ROWS):
        own = None if groups is None else groups[part]
        near, counts = network.pool.find(rows.x[part], by_tree=True, groups=own)
        found.append((near.to(torch.int32), counts))
    near, counts = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
    return near, counts


def _measure_unit(rows: PoolRows, n_neighbors: int) -> torch.Tensor:
    """Measure the root mean squared difference between neighbours for each feature."""
    unit = torch.ones(rows.x.shape[1], dtype=rows.x.dtype)
    pool = Pool.collect(rows, unit, n_neighbors)
    probes = pool.x[:: max(len(pool.x) // _N_PROBES, 1)]
    near, counts = pool.find(probes, by_tree=True)
    squares = (pool.x[near[0]] - probes.unsqueeze(1)).square() * counts[0].unsqueeze(2)
    mean = squares.sum(dim=(0, 1)) / counts[0].sum().clamp(min=1)
    return mean.sqrt() + _LEAST_UNIT


def _draw_subsets(rng: np.random.Generator, n_anchors: int, n_neighbors: int) -> torch.Tensor:
    """Draw which neighbours take part in each anchor, bool `(anchor, neighbour)`.

    The subsets come in pairs of complementary halves, so that each neighbour counts as often as
    the others. One anchor alone has all neighbours.
    """
    subsets = np.ones((n_anchors, n_neighbors), dtype=bool)
    if n_anchors > 1 and n_neighbors > 1:
        for first in range(0, n_anchors, 2):
            half = rng.permutation(n_neighbors) < (n_neighbors + 1) // 2
            subsets[first : first + 2] = np.stack([half, ~half])[: n_anchors - first]
    return torch.from_numpy(subsets)
