"""When to stop training, and what the held-out rows say afterwards.

A monitor is called with the net after each epoch, and returns whether to stop.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch

from sk_deltauq._training.net import StackedNet
from sk_deltauq._training.rows import TrainingRows

_MAX_COMPONENTS = 8
_CHUNK_ELEMENTS = 2**22


class HoldOut:
    """The held-out rows of each member: the one place to ask a net about rows it did not see.

    Parameters
    ----------
    rows : TrainingRows
        With held-out rows for each member.
    """

    def __init__(self, rows: TrainingRows):
        n_held_out = rows.held_out.shape[1]
        # Forward only, so a fifth as many evaluations as training samples cost about a fifteenth.
        budget = max(rows.train.shape[1] // 5, 2048) // n_held_out
        self._n_components = min(max(budget, 2), _MAX_COMPONENTS)
        self._x = rows.x[rows.held_out].transpose(1, 2)  # (member, feature, sample)
        self._y = rows.y[rows.held_out].transpose(1, 2)
        self._weights = rows.weights[rows.held_out].double()

    @property
    def n_rows(self) -> float:
        """Number of held-out rows of all members; rows count by their weights."""
        return float(self._weights.flatten().sum())

    def score(self, net: StackedNet) -> np.ndarray:
        """Return the weighted mean score of each member on its own held-out rows."""
        scores = self._map(net, net.criterion_.score, self._x, self._y, limit=self._n_components)
        return ((scores * self._weights).sum(1) / self._weights.sum(1)).cpu().numpy()

    def ask_all_members(self, net: StackedNet, function) -> torch.Tensor:
        """Apply a function to what all members say about the held-out rows of each member.

        `function(member, raw, y)` gets the raw outputs `(member, output, component, sample)` of
        all members on the rows that `member` holds out, and the targets `(target, sample)`.
        Samples are the last axis of its result, and of the values that are returned, float64.
        """
        values = [
            self._map(net, partial(function, member), x.expand(len(self._x), -1, -1), y)
            for member, (x, y) in enumerate(zip(self._x, self._y, strict=True))
        ]
        return torch.cat(values, dim=-1)

    def average(self, values: torch.Tensor) -> np.ndarray:
        """Average values of `ask_all_members` over the rows, by the weights of the rows."""
        weights = self._weights.flatten()
        return ((values * weights).sum(-1) / weights.sum()).cpu().numpy()

    def keep_members(self, members: slice) -> None:
        """Drop the rows of all other members."""
        self._x, self._y, self._weights = (t[members] for t in (self._x, self._y, self._weights))

    @torch.inference_mode()
    def _map(self, net, function, x, y, limit: int | None = None) -> torch.Tensor:
        """`function(raw, y)` of rows `x`, in float64; samples on the last axis."""
        network = net.module_.eval()
        n_components = int(min(limit or math.inf, network.n_components // network.core.n_members))
        step = max(1, _CHUNK_ELEMENTS // (len(x) * n_components * network.core.width))
        chunks = [
            function(network.components(x_chunk, limit=limit), y_chunk)
            for x_chunk, y_chunk in zip(x.split(step, -1), y.split(step, -1), strict=True)
        ]
        return torch.cat(chunks, dim=-1).double()


class HeldOutMonitor:
    """Early stopping by each member's held-out rows, which keeps the best weights of each member.

    A member stops for good after `patience` epochs in a row that did not raise its best score by
    more than `tol`. Later epochs, which other members still need, do not change its result. So
    the stack ends with the weights of members that are trained one by one.

    Parameters
    ----------
    hold_out : HoldOut
    n_members : int
        Number of networks in the stack.
    patience : int
    tol : float
    """

    def __init__(self, hold_out: HoldOut, n_members: int, *, patience: int, tol: float):
        self._hold_out, self._patience, self._tol = hold_out, patience, tol
        self._best = np.full(n_members, -np.inf)
        self._stale = np.zeros(n_members, dtype=int)
        self._best_tensors: list[list[torch.Tensor] | None] = [None] * n_members
        self.scores: list[np.ndarray] = []

    @property
    def best_scores(self) -> np.ndarray:
        """Best held-out score of each member so far."""
        return self._best

    def start_from(self, net: StackedNet) -> None:
        """Take the current weights of the net as the best so far."""
        self._best = self._hold_out.score(net)
        for member in range(len(self._best)):
            self._best_tensors[member] = _copy_tensors(net, member)

    def __call__(self, net: StackedNet) -> bool:
        scores = self._hold_out.score(net)
        self.scores.append(scores)
        net.history.record("valid_loss", float(-scores.mean()))
        net.record_best("valid_loss")
        running = self._stale < self._patience
        for member in np.flatnonzero(running & (scores > self._best)):
            self._best_tensors[member] = _copy_tensors(net, member)
        progress = scores > self._best + self._tol
        self._best = np.where(running, np.fmax(scores, self._best), self._best)
        self._stale = np.where(running, np.where(progress, 0, self._stale + 1), self._stale)
        return bool((self._stale >= self._patience).all())

    def restore(self, net: StackedNet) -> None:
        """Put the best weights of each member back into the net."""
        for member, best in enumerate(self._best_tensors):
            for current, value in zip(net.member_tensors(member), best or [], strict=bool(best)):
                current.copy_(value)

    def keep_members(self, members: slice) -> None:
        """Drop the scores of all other members."""
        self._best = self._best[members]
        self.scores = [scores[members] for scores in self.scores]


class TrainingLossMonitor:
    """Stop after `patience` epochs in a row that lowered the training loss by at most `tol`.

    The rule of `MLPRegressor` without early stopping. The last weights are kept.
    """

    scores = best_scores = None

    def __init__(self, *, patience: int, tol: float):
        self._patience, self._tol = patience, tol
        self._best, self._stale = np.inf, 0

    def __call__(self, net: StackedNet) -> bool:
        loss = net.history[-1, "train_loss"]
        self._stale = 0 if loss < self._best - self._tol else self._stale + 1
        self._best = min(self._best, loss)
        return self._stale >= self._patience


def _copy_tensors(net: StackedNet, member: int) -> list[torch.Tensor]:
    return [t.clone() for t in net.member_tensors(member)]
