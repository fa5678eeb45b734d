"""Training rows in memory, who trains on which of them, and the mini-batches made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from sk_deltauq._torch.layers import dropout_masks

# Rows are gathered for many mini-batches at a time (one call instead of one a batch), but not for
# a whole epoch, which would hold a second and a third copy of a large training set.
_GATHER_ELEMENTS = 2**20


@dataclass(frozen=True)
class TrainingRows:
    """Scaled training data and the part of each member in it.

    Attributes
    ----------
    x, y, weights : torch.Tensor
        Float32, `(row, feature)`, `(row, target)` and `(row,)`, on the training device; weights
        are positive with mean one.
    train, held_out : torch.Tensor
        Row numbers, `(member, row)`. Each member has as many rows as the others; `held_out` has
        no columns without early stopping.
    generators : list of torch.Generator
        One a member, for the order of the rows and for the anchors.
    """

    x: torch.Tensor
    y: torch.Tensor
    weights: torch.Tensor
    train: torch.Tensor
    held_out: torch.Tensor
    generators: list[torch.Generator]

    def __len__(self) -> int:
        return len(self.x)

    def of_members(self, members) -> TrainingRows:
        """The same rows for some of the members."""
        return replace(
            self,
            train=self.train[members],
            held_out=self.held_out[members],
            generators=[self.generators[m] for m in members],
        )


class Batches:
    """One epoch a pass: `((x,), (y, weights))`, all with the samples last.

    An epoch is cut into mini-batches of equal size, up to one row, of at most `batch_size` rows: a
    last batch of a few rows would take a step as large as the others on far noisier gradients.

    A subclass adds inputs to `x`. What it draws for a sample must come from the generator of the
    member alone, so that a member meets the same numbers in a stack as it would by itself.
    """

    def __init__(self, rows: TrainingRows, batch_size: int):
        self.rows = rows
        n_members, n_rows = rows.train.shape
        n_batches = -(-n_rows // batch_size)
        bounds = np.linspace(0, n_rows, n_batches + 1).round().astype(int)
        self._bounds = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        per_batch = n_members * batch_size * (self._input_width() + rows.y.shape[1])
        self._batches_per_gather = max(1, _GATHER_ELEMENTS // per_batch)

    # The hooks of a subclass

    def _input_width(self) -> int:
        """Number of floats that a sample brings with it, its target aside."""
        return self.rows.x.shape[1]

    def _draw_epoch(self):
        """What is drawn once an epoch, for `_further_inputs`."""

    def _further_inputs(self, drawn, start: int, stop: int) -> tuple[torch.Tensor, ...]:
        """Inputs beside `x`, `(member, feature, sample)`, of the epoch's samples in this range."""
        return ()

    def __iter__(self):
        rows, bounds = self.rows, self._bounds
        order = self._pick(self._permutations())
        drawn = self._draw_epoch()
        for i in range(0, len(bounds), self._batches_per_gather):
            block = bounds[i : i + self._batches_per_gather]
            start, stop = block[0][0], block[-1][1]
            index = order[:, start:stop]
            # (member, sample, feature) to (member, feature, sample): views, no copy
            x, y = (table[index].transpose(1, 2) for table in (rows.x, rows.y))
            inputs = (x, *self._further_inputs(drawn, start, stop))
            weights = rows.weights[index]
            for first, last in block:
                part = slice(first - start, last - start)
                yield (
                    tuple(tensor[..., part] for tensor in inputs),
                    (y[..., part], weights[..., part]),
                )

    def _pick(self, places) -> torch.Tensor:
        """Row numbers `(member, sample)` at these places of each member's training rows."""
        return torch.stack([t[p] for t, p in zip(self.rows.train, places, strict=True)])

    def _permutations(self):
        n_rows, device = self.rows.train.shape[1], self.rows.train.device
        return [
            torch.randperm(n_rows, generator=g, device="cpu").to(device)
            for g in self.rows.generators
        ]


class AnchoredBatches(Batches):
    """One epoch a pass: `((x, c), (y, weights))`, each sample with a random anchor of its own.

    The anchors of an epoch are another permutation of the member's training rows. The paper
    shuffles the mini-batch instead; drawing from all rows costs the same here, and the anchors are
    then independent of the batch. Weighted rows are anchors in proportion to their weights.
    """

    def __init__(self, rows: TrainingRows, batch_size: int):
        super().__init__(rows, batch_size)
        self._uniform = bool((rows.weights == rows.weights[0]).all())

    def _input_width(self):
        return 2 * self.rows.x.shape[1]

    def _draw_epoch(self):
        return self._pick(self._anchors())

    def _further_inputs(self, drawn, start, stop):
        return (self.rows.x[drawn[:, start:stop]].transpose(1, 2),)

    def _anchors(self):
        if self._uniform:
            return self._permutations()
        rows, anchors = self.rows, []
        for train, generator in zip(rows.train, rows.generators, strict=True):
            cumulative = rows.weights[train].cpu().double().cumsum(0)
            draws = torch.rand(len(train), generator=generator, dtype=torch.float64, device="cpu")
            picked = torch.searchsorted(cumulative, draws * cumulative[-1])
            anchors.append(picked.clamp_(max=len(train) - 1).to(train.device))
        return anchors


class MaskedBatches(Batches):
    """One epoch a pass: `((x, masks), (y, weights))`, each sample with a dropout mask of its own.

    The masks are `(member, unit, sample)`, for `n_units` hidden units that a member drops with
    probability `rates[member]`.
    """

    def __init__(self, rows: TrainingRows, batch_size: int, *, n_units: int, rates):
        self._n_units, self._rates = n_units, rates
        super().__init__(rows, batch_size)

    def _input_width(self):
        return self.rows.x.shape[1] + self._n_units

    def _further_inputs(self, drawn, start, stop):
        masks = dropout_masks(stop - start, self._n_units, self._rates, self.rows.generators)
        return (masks.to(self.rows.x.device),)
