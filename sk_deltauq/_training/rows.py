"""Training rows in memory: the rows of each network, and mini-batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch

from sk_deltauq._training.folds import HoldOutPlan, assign_hold_out
from sk_deltauq._training.settings import TrainingSettings
from sk_deltauq._validation import FitData

# Rows are gathered for many mini-batches at a time, in one call instead of one per batch. Not for
# a whole epoch, which would hold a second and a third copy of a large training set.
_GATHER_ELEMENTS = 2**20


# First and last sample of each of some consecutive mini-batches
Bounds = list[tuple[int, int]]

Inputs = torch.Tensor | tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class TrainingRows:
    """Scaled training rows, and the rows of each network of a stack, on the training device."""

    x: torch.Tensor  # (row, feature), float32
    y: torch.Tensor  # (row, target)
    weights: torch.Tensor  # (row,), positive with mean one
    train: torch.Tensor  # row numbers, (member, row)
    held_out: torch.Tensor  # row numbers, (member, row); no columns without hold-out
    held_out_weights: torch.Tensor  # (member, row), zero for rows that pad a shorter fold
    # How many independent rows (groups, if the user names them) all networks hold out together.
    n_units: int
    # One per member, for the order of the rows and for what a method draws per sample.
    generators: list[torch.Generator]

    def __len__(self) -> int:
        return len(self.x)

    def pick(self, places) -> torch.Tensor:
        """Row numbers `(member, sample)` at these places of each member's training rows."""
        return torch.stack([t[p] for t, p in zip(self.train, places, strict=True)])

    def draw_permutations(self) -> list[torch.Tensor]:
        """Draw one permutation of the training rows per member."""
        n_rows, device = self.train.shape[1], self.train.device
        return [
            torch.randperm(n_rows, generator=g, device="cpu").to(device) for g in self.generators
        ]

    def draw_partners(self) -> Callable[[Bounds], torch.Tensor]:
        """Pair each sample of an epoch with a random training row of its member.

        The partners are another permutation of the rows, so each row is a partner once. Weighted
        rows are drawn with replacement, in proportion to their weights. The result is the
        `take` of `ExtraInputs`.
        """
        places = self.draw_permutations() if self._is_uniform else self.draw_weighted_places()
        partners = self.pick(places)
        return lambda bounds: self.x[partners[:, bounds[0][0] : bounds[-1][1]]].transpose(1, 2)

    @cached_property
    def _is_uniform(self) -> bool:
        """Whether all rows have the same weight: asked in each epoch, found once."""
        return bool((self.weights == self.weights[0]).all())

    def draw_weighted_places(self) -> list[torch.Tensor]:
        """Draw as many places as training rows per member, in proportion to the weights."""
        drawn = []
        for train, generator in zip(self.train, self.generators, strict=True):
            cumulative = self.weights[train].cpu().double().cumsum(0)
            draws = torch.rand(len(train), generator=generator, dtype=torch.float64, device="cpu")
            places = torch.searchsorted(cumulative, draws * cumulative[-1])
            drawn.append(places.clamp_(max=len(train) - 1).to(train.device))
        return drawn


def assign_rows(
    data: FitData,
    settings: TrainingSettings,
    hold_out: HoldOutPlan,
    members: Sequence[int],
    rng: np.random.Generator,
    generators: list[torch.Generator],
) -> TrainingRows:
    """Put the rows on the device, and assign them to the networks of a stack.

    `members` names the member of each network; `rng` assigns the folds.
    """
    x, y, weights = data.x, data.y, data.weights / data.weights.mean()
    parts = assign_hold_out(rng, data, hold_out)
    if data.validation is not None:
        x, y = torch.cat([x, data.validation.x]), torch.cat([y, data.validation.y])
        weights = torch.cat([weights, data.validation.weights])
    train, held_out, counts = (
        torch.from_numpy(part[list(members)])
        for part in (parts.train, parts.held_out, parts.counts)
    )
    return TrainingRows(
        x=x.to(settings.device),
        y=y.to(settings.device),
        weights=weights.to(settings.device),
        train=train.to(settings.device),
        held_out=held_out.to(settings.device),
        held_out_weights=(weights[held_out] * counts).to(settings.device),
        n_units=parts.n_units,
        generators=generators,
    )


def resolve_batch_size(batch_size: int | str, n_rows: int) -> int:
    """Return the rows per mini-batch; "auto" is the power of two nearest sqrt(n), 32 to 1024.

    Small sets need many noisy steps. Large sets have enough steps, and their number is the cost.
    """
    if batch_size == "auto":
        batch_size = min(max(2 ** round(math.log2(math.sqrt(n_rows))), 32), 1024)
    return min(int(batch_size), n_rows)


@dataclass(frozen=True)
class ExtraInputs:
    """Inputs beside the rows, which a method draws for each sample.

    `begin_epoch(order)` gets the row numbers `(member, sample)` of the epoch. It returns
    `take(bounds)`, which returns one or several inputs, each `(member, feature, sample)`, of the
    samples in these mini-batches. The numbers of a sample must come from the generator of its
    member alone, so that a member meets the same numbers alone and in a stack.

    `follow(inputs, change)` returns the extra inputs after a change of the rows. `inputs` are all
    inputs before it, and `change` is `(member, feature, sample)`, zero for members whose rows do
    not change. None means that the extra inputs stay.
    """

    width: int  # floats per sample
    begin_epoch: Callable[[torch.Tensor], Callable[[Bounds], Inputs]]
    follow: Callable[[tuple[torch.Tensor, ...], torch.Tensor], tuple[torch.Tensor, ...]] | None = (
        None
    )
    are_anchors: bool = False  # whether there is one extra input, other training rows


@dataclass(frozen=True)
class Batches:
    """The mini-batches of one epoch per pass: `(inputs, (y, weights))`, samples last.

    An epoch is cut into mini-batches of equal size, up to one row, of at most `batch_size` rows:
    a last batch of a few rows would take an equally large step on far noisier gradients.
    """

    rows: TrainingRows
    batch_size: int
    extra: ExtraInputs | None = None

    def __iter__(self):
        rows, extra = self.rows, self.extra
        n_members, n_rows = rows.train.shape
        edges = np.linspace(0, n_rows, -(-n_rows // self.batch_size) + 1).round().astype(int)
        bounds = list(pairwise(edges.tolist()))
        width = rows.x.shape[1] + rows.y.shape[1] + (extra.width if extra else 0)
        per_gather = max(1, _GATHER_ELEMENTS // (n_members * self.batch_size * width))

        order = rows.pick(rows.draw_permutations())
        take_extra = extra.begin_epoch(order) if extra else None
        for i in range(0, len(bounds), per_gather):
            block = bounds[i : i + per_gather]
            start = block[0][0]
            index = order[:, start : block[-1][1]]
            # (member, sample, feature) to (member, feature, sample): views, no copy
            x, y = (table[index].transpose(1, 2) for table in (rows.x, rows.y))
            drawn = take_extra(block) if take_extra else ()
            inputs = (x, *drawn) if isinstance(drawn, tuple) else (x, drawn)
            weights = rows.weights[index]
            for first, last in block:
                part = slice(first - start, last - start)
                yield (
                    tuple(tensor[..., part] for tensor in inputs),
                    (y[..., part], weights[..., part]),
                )
