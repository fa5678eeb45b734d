"""Held-out rows: how to ask a net about them, and when to stop training.

A monitor is called with the net after each epoch, and returns whether to stop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import torch

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training.net import StackedNet
from sk_deltauq._training.rows import TrainingRows
from sk_deltauq._training.settings import TrainingSettings

_MAX_COMPONENTS = 8
_CHUNK_ELEMENTS = 2**22


class HoldOut:
    """The held-out rows of each member: the one place to ask a net about rows it did not see."""

    def __init__(self, rows: TrainingRows):
        n_held_out = rows.held_out.shape[1]
        # Forward only, so a fifth as many evaluations as training samples cost about a fifteenth.
        budget = max(rows.train.shape[1] // 5, 2048) // n_held_out
        self._n_components = min(max(budget, 2), _MAX_COMPONENTS)
        self._x = rows.x[rows.held_out].transpose(1, 2)  # (member, feature, sample)
        self._y = rows.y[rows.held_out].transpose(1, 2)
        self.weights = rows.held_out_weights.double()  # (member, sample)
        self.n_units = rows.n_units
        self._row_numbers = rows.held_out  # (member, sample)
        self._all_x, self._trained = rows.x, rows.train

    def score(self, net: StackedNet) -> np.ndarray:
        """Return the weighted mean score of each member on its own held-out rows."""
        return self._average(net, net.criterion_.score)

    def measure_errors(self, net: StackedNet) -> np.ndarray:
        """Return the mean squared error of the means of each member of a regressor."""
        head = net.criterion_
        assert isinstance(head, GaussianHead)
        return self._average(net, head.squared_error)

    def _average(self, net: StackedNet, function) -> np.ndarray:
        """Return the weighted mean of `function(raw, y)`, `(member, sample)`, over the samples."""
        values = self._map(net, function, self._x, self._y, limit=self._n_components)
        return ((values * self.weights).sum(1) / self.weights.sum(1)).cpu().numpy()

    def ask_all_members(self, net: StackedNet, function) -> tuple[torch.Tensor, torch.Tensor]:
        """Apply a function to the outputs of all members on the held-out rows of each member.

        `function(member, raw, y)` gets the raw outputs `(member, output, component, sample)` of
        all members on the rows that `member` holds out, and the targets `(target, sample)`.
        Samples are the last axis of its result.

        Returns the results for all held-out rows, float64, and the weights of the rows.
        """
        values = [
            self._map(net, partial(function, member), x.expand(len(self._x), -1, -1), y)
            for member, (x, y) in enumerate(zip(self._x, self._y, strict=True))
        ]
        return torch.cat(values, dim=-1), self.weights.flatten()

    def count_units(self) -> float:
        """Return the effective number of independent held-out rows, or groups of rows.

        A row that several networks hold out counts once. Unequal weights lower the number as in
        Kish's formula.
        """
        weights = self.weights[self.weights > 0]
        return float(self.n_units * weights.sum() ** 2 / (len(weights) * weights.square().sum()))

    def group_members(self) -> list[list[int]]:
        """Group the members that hold out the same rows."""
        groups: dict[bytes, list[int]] = {}
        for member, numbers in enumerate(self._row_numbers.cpu().numpy()):
            groups.setdefault(numbers.tobytes(), []).append(member)
        return list(groups.values())

    def iterate_folds(self):
        """Yield the scaled rows `(row, feature)` each member trains on, and those it holds out."""
        for numbers, x in zip(self._trained, self._x, strict=True):
            # Some rows may be there twice, as padding.
            yield self._all_x[numbers.unique()], x.T

    @torch.inference_mode()
    def iterate_components(self, net: StackedNet):
        """Yield the components of each member on its own held-out rows, in chunks of samples.

        Yields
        ------
        parts : tuple of tensors (member * component, sample, target)
            What the head makes of the raw outputs.
        x : torch.Tensor (member, feature, sample)
        y : torch.Tensor (member, target, sample)
        """
        for raw, x, y in self._iterate_chunks(net, self._x, self._y):
            yield net.criterion_.components(raw), x, y

    def keep_members(self, members: slice) -> None:
        """Drop the rows of all other members."""
        self._x, self._y, self.weights, self._row_numbers, self._trained = (
            t[members] for t in (self._x, self._y, self.weights, self._row_numbers, self._trained)
        )

    @torch.inference_mode()
    def _map(self, net, function, x, y, limit: int | None = None) -> torch.Tensor:
        """`function(raw, y)` of rows `x`, in float64; samples on the last axis."""
        chunks = self._iterate_chunks(net, x, y, limit)
        return torch.cat([function(raw, y_chunk) for raw, _, y_chunk in chunks], dim=-1).double()

    def _iterate_chunks(self, net, x, y, limit: int | None = None):
        """Yield raw outputs `(member, output, component, sample)` and the rows, in chunks."""
        network = net.module_.eval()
        n_components = int(min(limit or math.inf, network.n_components // network.core.n_members))
        step = max(1, _CHUNK_ELEMENTS // (len(x) * n_components * network.core.width))
        for x_chunk, y_chunk in zip(x.split(step, -1), y.split(step, -1), strict=True):
            yield network.components(x_chunk, limit=limit), x_chunk, y_chunk


class HeldOutMonitor:
    """Early stopping by each member's held-out rows, which keeps the best weights of each member.

    A member stops for good after `patience` epochs in a row that did not raise its best score by
    more than `tol`. Later epochs, which other members still need, do not change its result. So
    the stack ends with the weights of members that are trained one by one.
    """

    def __init__(self, hold_out: HoldOut, n_members: int, *, patience: int, tol: float):
        self._hold_out, self._patience, self._tol = hold_out, patience, tol
        self.best_scores = np.full(n_members, -np.inf)
        self._stale = np.zeros(n_members, dtype=int)
        self._best_tensors: list[list[torch.Tensor] | None] = [None] * n_members
        self.scores: list[np.ndarray] = []  # per epoch, (member,)

    def start_from(self, net: StackedNet) -> None:
        """Take the current weights of the net as the best so far."""
        self.best_scores = self._hold_out.score(net)
        self._copy_weights(net, range(len(self.best_scores)))

    def __call__(self, net: StackedNet) -> bool:
        scores = self._hold_out.score(net)
        self.scores.append(scores)
        net.history.record("valid_loss", float(-scores.mean()))
        net.record_best("valid_loss")
        running = self._stale < self._patience
        self._copy_weights(net, np.flatnonzero(running & (scores > self.best_scores)).tolist())
        progress = scores > self.best_scores + self._tol
        self.best_scores = np.where(running, np.fmax(scores, self.best_scores), self.best_scores)
        self._stale = np.where(running, np.where(progress, 0, self._stale + 1), self._stale)
        return bool((self._stale >= self._patience).all())

    def _copy_weights(self, net: StackedNet, members: Iterable[int]) -> None:
        """Keep a copy of the current weights of some members."""
        for member in members:
            self._best_tensors[member] = [t.clone() for t in self._list_weights(net, member)]

    def restore(self, net: StackedNet) -> None:
        """Put the best weights of each member back into the net."""
        for member, best in enumerate(self._best_tensors):
            if best is not None:
                for current, value in zip(self._list_weights(net, member), best, strict=True):
                    current.copy_(value)

    def _list_weights(self, net: StackedNet, member: int) -> list[torch.Tensor]:
        """Views of all values that training changes in one member, of the head and the network."""
        of_head = [p.detach()[member] for p in net.criterion_.parameters()]
        return [*of_head, *net.module_.core.member_tensors(member)]

    def keep_members(self, members: slice) -> None:
        """Drop the scores of all other members."""
        self.best_scores = self.best_scores[members]
        self.scores = [scores[members] for scores in self.scores]

    def summarise(self) -> dict[str, np.ndarray | float]:
        """Return the fitted attributes: scores with the members last; no such axis for one."""
        scores, best = np.asarray(self.scores), self.best_scores
        if len(best) == 1:
            scores, best = scores[:, 0], float(best[0])
        return {"validation_scores_": scores, "best_validation_score_": best}


class TrainingLossMonitor:
    """Stop after `patience` epochs in a row that lowered the training loss by at most `tol`.

    The rule of `MLPRegressor` without early stopping. The last weights are kept.
    """

    def __init__(self, *, patience: int, tol: float):
        self._patience, self._tol = patience, tol
        self._best, self._stale = np.inf, 0

    def start_from(self, net: StackedNet) -> None:
        """Do nothing: the training loss before the first epoch is not known."""

    def __call__(self, net: StackedNet) -> bool:
        loss: Any = net.history[-1, "train_loss"]
        self._stale = 0 if loss < self._best - self._tol else self._stale + 1
        self._best = min(self._best, loss)
        return self._stale >= self._patience

    def restore(self, net: StackedNet) -> None:
        """Do nothing: without held-out rows the last weights stay."""

    def summarise(self) -> dict[str, None]:
        """Return the fitted attributes, which only held-out rows have."""
        return {"validation_scores_": None, "best_validation_score_": None}


def make_monitor(rows: TrainingRows, settings: TrainingSettings):
    """Return the held-out rows (None without hold-out), and the monitor."""
    stopping = {"patience": settings.n_iter_no_change, "tol": settings.tol}
    if not rows.held_out.numel():
        return None, TrainingLossMonitor(**stopping)
    hold_out = HoldOut(rows)
    return hold_out, HeldOutMonitor(hold_out, len(rows.train), **stopping)
