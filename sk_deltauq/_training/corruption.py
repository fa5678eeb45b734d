"""Corrupted anchors in training: the consistency training of the Delta-UQ paper, for tables.

In some mini-batches the network sees `[T(c), x - c]` in place of `[c, x - c]`, with a corruption T
and the same target (section 4). This pair is the row `x + T(c) - c` with the anchor `T(c)`. So
anchors are corrupted, and rows are augmented. A method whose anchors are no single rows can have
the second part alone: `x + T(c) - c` for a random training row `c`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from sk_deltauq._training.rows import Batches

# One mini-batch in ten, as in the paper.
_SHARE = 0.1

# Standard deviation of the noise, in standardised features.
_NOISE = 0.5

# Fraction of the features that another row gives.
_SWAPPED = 0.3

# Maps standardised rows (row, feature) and a generator to rows of the same shape.
Corruption = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def add_noise(rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Add normal noise to every feature."""
    return rows + _NOISE * _draw(torch.randn, rows, generator)


def swap_features(rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Take some features from other rows: the distribution of each feature stays."""
    order = torch.randperm(len(rows), generator=generator, device="cpu").to(rows.device)
    return torch.where(_draw(torch.rand, rows, generator) < _SWAPPED, rows[order], rows)


def _draw(function, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    # On the CPU, so that the device does not change the numbers.
    return function(rows.shape, generator=generator, device="cpu").to(rows.device)


CORRUPTIONS: dict[str, Corruption] = {"noise": add_noise, "swap": swap_features}


@dataclass(frozen=True)
class CorruptedBatches:
    """Mini-batches of which each member gets about one in ten corrupted.

    The numbers of a member come from its own generator, so that it meets the same batches alone
    and in a stack.
    """

    batches: Batches
    corruption: Corruption

    def __iter__(self):
        extra = self.batches.extra
        follow = extra.follow if extra else None
        for inputs, target in self.batches:
            change = self._draw_change(inputs)
            if change is not None:
                rest = follow(inputs, change) if follow else inputs[1:]
                inputs = (inputs[0] + change, *rest)
            yield inputs, target

    def _draw_change(self, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor | None:
        """Draw what corruption adds to the rows of each member; None for a batch without any."""
        x, extra, generators = inputs[0], self.batches.extra, self.batches.rows.generators
        draws = [float(torch.rand((), generator=g, device="cpu")) for g in generators]
        chosen = [member for member, draw in enumerate(draws) if draw < _SHARE]
        if not chosen:
            return None
        change = torch.zeros_like(x)
        for member in chosen:
            generator = generators[member]
            if extra is not None and extra.are_anchors:
                rows = inputs[1][member].T
            else:
                rows = _shuffle(x[member].T, generator)
            change[member] = (self._corrupt(rows, generator) - rows).T
        return change

    def _corrupt(self, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Corrupt rows `(row, feature)`; a function of the user may fail."""
        found = self.corruption(rows, generator)
        if not (isinstance(found, torch.Tensor) and found.shape == rows.shape):
            shape = getattr(found, "shape", None)
            got = type(found).__name__ if shape is None else f"{type(found).__name__} {shape}"
            raise ValueError(
                "The corruption of the training rows must return a torch tensor of the same shape "
                f"as its input, {tuple(rows.shape)}, got {got}."
            )
        return found.to(rows)


def corrupt_batches(batches: Batches, params: Mapping[str, Any]) -> Iterable:
    """Corrupt mini-batches as the parameters of an estimator ask for."""
    corruption = find_corruption(params)
    if corruption is None:
        return batches
    return CorruptedBatches(batches, corruption)


def find_corruption(params: Mapping[str, Any]) -> Corruption | None:
    """Return the corruption that the parameters of an estimator ask for."""
    chosen = params.get("anchor_corruption", params.get("input_corruption"))
    return CORRUPTIONS[chosen] if isinstance(chosen, str) else chosen


def _shuffle(rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return rows[torch.randperm(len(rows), generator=generator, device="cpu").to(rows.device)]
