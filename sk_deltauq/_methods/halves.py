"""Random halves of the neighbours of each training row: the anchors of training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from sklearn.utils import gen_batches

from sk_deltauq._methods.neighbour_network import NeighbourNetwork
from sk_deltauq._methods.pool import Pool
from sk_deltauq._networks.selection import count_outputs
from sk_deltauq._training.rows import Bounds, Inputs, TrainingRows
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Different halves of the nearest rows. Without halves the networks trust the nearest target too
# much. 4, 10 and 64 halves are as good.
_N_HALVES = 12

# Between and beyond the training rows, neighbours are farther away than in training. So some
# halves are the nearest ones among each 8th, or each 64th row of the pool.
_THINNED = 8, 64
_N_THINNED_HALVES = 2
_N_THINNED_NEIGHBORS = 8

# Share of rows without neighbours that causes a warning
_SHARE_TO_WARN = 0.1

# Rows whose neighbours are found at a time, and weights of neighbours that are held at a time.
_CHUNK_ROWS = 16_384
_CHUNK_WEIGHTS = 2**23


@dataclass(frozen=True)
class TrainingHalves:
    """The neighbours of all rows for each member, and halves of them.

    The targets of rows that a member holds out do not count.
    """

    network: NeighbourNetwork
    rows: TrainingRows
    near: torch.Tensor  # numbers of distinct rows, int32, (member, row, neighbour)
    counts: torch.Tensor  # bool, (member, row, neighbour)
    distance: torch.Tensor  # squared, (member, row, head, neighbour)
    halves: torch.Tensor  # bool, (half, neighbour)
    blocks: list[tuple[slice, slice]]  # halves, and the neighbours of which they are made
    groups: torch.Tensor | None  # (row,), -1 for validation rows

    @classmethod
    def find(cls, network: NeighbourNetwork, rows: TrainingRows) -> TrainingHalves:
        """Find the neighbours, and draw the halves."""
        numbers = network.row_numbers.to(rows.train.device)
        network.collect_pool(mark_trained(rows, numbers))
        groups = None
        if network.row_groups is not None:
            groups = rows.x.new_full((len(rows.x),), -1.0)  # validation rows have no group
            groups[: len(network.row_groups)] = network.row_groups.to(groups)
        # The draws concern places in the pool: they need not differ between fits.
        rng = np.random.default_rng(0)
        everyone = torch.arange(len(network.pool.x), device=rows.x.device)
        found = [_find_among(network, network.pool, everyone, rows.x, groups)]
        if groups is not None:
            _warn_without_neighbours(found[0][1])
        drawn = [draw_halves(rng, _N_HALVES, found[0][0].shape[2])]
        for rate in _THINNED:
            n_kept = max(len(everyone) // rate, _N_THINNED_NEIGHBORS)
            kept = torch.from_numpy(rng.permutation(len(everyone))[:n_kept]).to(everyone.device)
            pool = network.pool.take(kept, _N_THINNED_NEIGHBORS)
            found.append(_find_among(network, pool, kept, rows.x, groups))
            drawn.append(torch.ones((_N_THINNED_HALVES, found[-1][0].shape[2]), dtype=torch.bool))
        near, counts, distance = (torch.cat(parts, dim=-1) for parts in zip(*found, strict=True))
        halves = torch.block_diag(*drawn).bool().to(near.device)
        return cls(network, rows, near, counts, distance, halves, _list_blocks(drawn), groups)

    @property
    def n_floats(self) -> int:
        """Floats of each member that `describe_all` keeps."""
        n_targets = self.network.n_targets
        n_values = count_outputs(self.rows.x.shape[1], n_targets) + n_targets
        return self.near.shape[1] * len(self.halves) * n_values

    @property
    def width(self) -> int:
        """Floats of the neighbours of a sample."""
        return self.near.shape[2] * self.network.pool.values.shape[2]

    def begin_epoch(self, order: torch.Tensor) -> Callable[[Bounds], Inputs]:
        """Draw a half for each sample, for `ExtraInputs`; its neighbours are described later."""
        member, drawn = self.draw(order)

        def take(bounds: Bounds) -> Inputs:
            part = slice(bounds[0][0], bounds[-1][1])
            chosen = order[:, part]
            used = self.counts[member, chosen] & self.halves[drawn[:, part]]
            features, level = self.network.describe(
                self.rows.x[chosen],
                self.near[member, chosen].long(),
                used.unsqueeze(2),
                self.distance[member, chosen],
            )
            return features.squeeze(2), level.squeeze(2)

        return take

    def describe_all(self) -> DescribedHalves:
        """Describe all halves of the neighbours of all rows in advance."""
        n_members, n_rows, _, n_near = self.distance.shape
        step = max(_CHUNK_WEIGHTS // (n_members * len(self.halves) * n_near), 1)
        found = []
        for part in gen_batches(n_rows, step):
            x, descriptions = self.rows.x[part].expand(n_members, -1, -1), []
            for halves, near in self.blocks:
                features, level = self.network.describe(
                    x,
                    self.near[:, part, near].long(),
                    self.counts[:, part, near].unsqueeze(2) & self.halves[halves, near],
                    self.distance[:, part, :, near],
                )
                descriptions.append(torch.cat([features, level], dim=1).permute(0, 3, 2, 1))
            found.append(torch.cat(descriptions, dim=2))
        return DescribedHalves(self, torch.cat(found, dim=1))

    def describe_changed(
        self, inputs: tuple[torch.Tensor, ...], change: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Describe a random half of the neighbours of changed samples, for `ExtraInputs`.

        The rows that a sample was made of do not count: their targets are its own.
        """
        x = inputs[0].transpose(1, 2)
        changed = change.transpose(1, 2) + x
        shape = *x.shape[:2], self.network.pool.n_neighbors
        near = torch.zeros(shape, dtype=torch.long, device=x.device)
        used = torch.zeros(shape, dtype=torch.bool, device=x.device)
        is_changed = change.flatten(1).any(dim=1)
        for member in is_changed.nonzero()[:, 0].tolist():
            found, counts = self.network.pool.find(
                changed[member],
                by_index=True,
                groups=self._find_groups(x[member]),
                origin=x[member],
            )
            found, counts = (part[min(member, len(part) - 1)] for part in (found, counts))
            drawn = torch.randint(
                _N_HALVES, x.shape[1:2], generator=self.rows.generators[member], device="cpu"
            )
            near[member, :, : found.shape[1]] = found
            halves = self.halves[drawn.to(x.device), : found.shape[1]]
            used[member, :, : found.shape[1]] = counts & halves
        made = self.network.describe(changed, near, used.unsqueeze(2))
        is_changed = is_changed[:, None, None]
        return tuple(
            torch.where(is_changed, new.squeeze(2), old)
            for new, old in zip(made, inputs[1:], strict=True)
        )

    def _find_groups(self, x: torch.Tensor) -> torch.Tensor | None:
        """Return the groups of training rows `(sample, feature)`: `(sample, group)`.

        Equal rows can be in several groups. Any of them may be the group of the sample.
        """
        if self.groups is None:
            return None
        found = [self._groups_of_rows[row.tobytes()] for row in x.cpu().contiguous().numpy()]
        width = max(map(len, found))
        padded = [[*groups, *[groups[0]] * (width - len(groups))] for groups in found]
        return torch.tensor(padded, dtype=x.dtype, device=x.device)

    @cached_property
    def _groups_of_rows(self) -> dict[bytes, list[float]]:
        assert self.groups is not None
        found: dict[bytes, set[float]] = defaultdict(set)
        for row, group in zip(self.rows.x.cpu().numpy(), self.groups.tolist(), strict=True):
            found[row.tobytes()].add(group)
        return {row: sorted(groups) for row, groups in found.items()}

    def draw(self, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the members, `(member, 1)`, and a random half for each sample of `order`."""
        shape = (order.shape[1],)
        draws = [
            torch.randint(len(self.halves), shape, generator=g, device="cpu")
            for g in self.rows.generators
        ]
        member = torch.arange(len(order), device=order.device)[:, None]
        return member, torch.stack(draws).to(order.device)


@dataclass(frozen=True)
class DescribedHalves:
    """All halves with what networks see of them: for tables that fit into memory this way."""

    halves: TrainingHalves
    values: torch.Tensor  # features and level, (member, row, half, value)

    @property
    def width(self) -> int:
        """Floats of a description."""
        return self.values.shape[3]

    def begin_epoch(self, order: torch.Tensor) -> Callable[[Bounds], Inputs]:
        """Draw a half for each sample, for `ExtraInputs`."""
        member, drawn = self.halves.draw(order)
        _, n_rows, n_halves, _ = self.values.shape
        places = (member * n_rows + order) * n_halves + drawn
        table, n_targets = self.values.flatten(0, 2), self.halves.network.n_targets

        def take(bounds: Bounds) -> Inputs:
            found = table[places[:, bounds[0][0] : bounds[-1][1]]].transpose(1, 2)
            return found[:, :-n_targets], found[:, -n_targets:]

        return take


def _find_among(
    network: NeighbourNetwork, pool: Pool, numbers: torch.Tensor, x: torch.Tensor, groups
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Find neighbours in a pool: numbers, which of them count, and squared distances.

    `numbers` are the numbers of its rows in the pool of the network.
    """
    found = []
    for part in gen_batches(len(x), _CHUNK_ROWS):
        own = None if groups is None else groups[part]
        near, counts = pool.find(x[part], by_index=True, groups=own)
        near = numbers[near]
        distance = network.measure_distance(x[part].expand(len(near), -1, -1), near)
        found.append((near.to(torch.int32), counts, distance))
    near, counts, distance = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
    return near, counts, distance


def _warn_without_neighbours(counts: torch.Tensor) -> None:
    """Warn if many rows have no neighbour among their nearest rows, `(member, row, neighbour)`."""
    share = 1 - float(counts.any(dim=2).double().mean())
    if share > _SHARE_TO_WARN:
        warn_caller(
            f"About {share:.0%} of the training rows have no neighbours, because their nearest "
            "rows belong to their own group. Networks then learn little from neighbours, and "
            "predictions can be worse than with anchors='random'. Compare both with held-out "
            "groups.",
            UncertaintyWarning,
        )


def _list_blocks(drawn: list[torch.Tensor]) -> list[tuple[slice, slice]]:
    """Return the rows and columns of each tensor in their block-diagonal matrix."""
    blocks, row, column = [], 0, 0
    for part in drawn:
        n_rows, n_columns = part.shape
        blocks.append((slice(row, row + n_rows), slice(column, column + n_columns)))
        row, column = row + n_rows, column + n_columns
    return blocks


def mark_trained(rows: TrainingRows, numbers: torch.Tensor) -> torch.Tensor:
    """Mark which rows of a pool each member trains on, bool `(member, row of the pool)`.

    `numbers` are the numbers of these rows among the training rows, -1 for rows of earlier calls.
    """
    is_trained = torch.zeros((len(rows.train), len(rows.x) + 1), dtype=torch.bool)
    is_trained = is_trained.to(rows.x.device).scatter_(1, rows.train, True)
    is_trained[:, -1] = True
    return is_trained[:, numbers.to(rows.x.device)]


def draw_halves(rng: np.random.Generator, n_halves: int, n_neighbors: int) -> torch.Tensor:
    """Draw which neighbours take part in each half, bool `(half, neighbour)`.

    Halves come in complementary pairs, so that each neighbour counts as often as the others. One
    half alone has all neighbours.
    """
    halves = np.ones((n_halves, n_neighbors), dtype=bool)
    if n_halves > 1 and n_neighbors > 1:
        for first in range(0, n_halves, 2):
            half = rng.permutation(n_neighbors) < (n_neighbors + 1) // 2
            halves[first : first + 2] = np.stack([half, ~half])[: n_halves - first]
    return torch.from_numpy(halves)
