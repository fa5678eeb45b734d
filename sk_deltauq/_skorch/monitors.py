"""When to stop training: by held-out rows, member by member, or by the training loss.

A monitor is called after each epoch with the net and answers whether to stop.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch

from sk_deltauq._skorch.rows import TrainingRows

_MAX_COMPONENTS = 8
_CHUNK_ELEMENTS = 2**22


class HeldOutMonitor:
    """Early stopping on each member's held-out rows; the best weights of each are kept.

    A member stops for good once `patience` epochs in a row have not raised its best score by more
    than `tol`: what happens to it afterwards, while others go on, is not looked at. So the stack
    ends with the weights that its members would have when trained one by one.

    Parameters
    ----------
    rows : TrainingRows
        With held-out rows for each member.
    patience : int
    tol : float
    """

    def __init__(self, rows: TrainingRows, *, patience: int, tol: float):
        n_members, n_held_out = rows.held_out.shape
        # Forward only, so a fifth as many evaluations as training samples cost about a fifteenth.
        budget = max(rows.train.shape[1] // 5, 2048) // n_held_out
        self._n_components = min(max(budget, 2), _MAX_COMPONENTS)
        self._x = rows.x[rows.held_out].transpose(1, 2)  # (member, feature, sample)
        self._y = rows.y[rows.held_out].transpose(1, 2)
        self._weights = rows.weights[rows.held_out].double()
        self._patience, self._tol = patience, tol
        self._best = np.full(n_members, -np.inf)
        self._stale = np.zeros(n_members, dtype=int)
        self._best_tensors = [None] * n_members
        self.scores: list[np.ndarray] = []

    @property
    def best_scores(self) -> np.ndarray:
        """Best held-out score of each member so far."""
        return self._best

    def start_from(self, net) -> None:
        """Take the weights that the net has for the best so far."""
        self._best = self._score(net)
        self._best_tensors = [
            [t.clone() for t in net.member_tensors(member)] for member in range(len(self._best))
        ]

    def __call__(self, net) -> bool:
        scores = self._score(net)
        self.scores.append(scores)
        net.history.record("valid_loss", float(-scores.mean()))
        net.record_best("valid_loss")
        running = self._stale < self._patience
        for member in np.flatnonzero(running & (scores > self._best)):
            self._best_tensors[member] = [t.clone() for t in net.member_tensors(member)]
        progress = scores > self._best + self._tol
        self._best = np.where(running, np.fmax(scores, self._best), self._best)
        self._stale = np.where(running, np.where(progress, 0, self._stale + 1), self._stale)
        return bool((self._stale >= self._patience).all())

    def restore(self, net) -> None:
        """Put the best weights of each member back into the net."""
        for member, best in enumerate(self._best_tensors):
            for current, value in zip(net.member_tensors(member), best or [], strict=bool(best)):
                current.copy_(value)

    def keep_members(self, members: slice) -> None:
        """Forget the scores of all other members."""
        self._best = self._best[members]
        self._x, self._y, self._weights = (t[members] for t in (self._x, self._y, self._weights))
        self.scores = [scores[members] for scores in self.scores]

    def means(self, net, function) -> tuple[np.ndarray, float]:
        """Means over all held-out rows, and the number of the rows; they count by their weights.

        `function(member, raw, y)` is asked about the rows that a member holds out, and is given
        what all members say of them: raw outputs `(member, output, component, sample)` and targets
        `(target, sample)`. Its answer has the samples last.
        """
        values = [
            self._map(net, partial(function, member), x.expand(len(self._x), -1, -1), y)
            for member, (x, y) in enumerate(zip(self._x, self._y, strict=True))
        ]
        weights = self._weights.flatten()
        n_rows = weights.sum()
        means = (torch.cat(values, dim=-1) * weights).sum(-1) / n_rows
        return means.cpu().numpy(), float(n_rows)

    def _score(self, net) -> np.ndarray:
        """Weighted mean score of each member on its own held-out rows."""
        scores = self._map(net, net.criterion_.score, self._x, self._y, limit=self._n_components)
        return ((scores * self._weights).sum(1) / self._weights.sum(1)).cpu().numpy()

    @torch.inference_mode()
    def _map(self, net, function, x, y, limit: int | None = None) -> torch.Tensor:
        """`function(raw, y)` of rows `x`, in float64; samples on the last axis."""
        module = net.module_.eval()
        n_components = min(limit or math.inf, module.n_components // module.n_members)
        step = max(1, _CHUNK_ELEMENTS // (len(x) * n_components * module.width))
        chunks = [
            function(module.components(x_chunk, limit=limit), y_chunk)
            for x_chunk, y_chunk in zip(x.split(step, -1), y.split(step, -1), strict=True)
        ]
        return torch.cat(chunks, dim=-1).double()


class TrainingLossMonitor:
    """Stop once `patience` epochs in a row have not lowered the training loss by more than `tol`.

    The rule of `MLPRegressor` without early stopping; the last weights are kept.
    """

    scores = best_scores = None

    def start_from(self, net) -> None:
        """Nothing to do: there is no best to keep."""

    def __init__(self, *, patience: int, tol: float):
        self._patience, self._tol = patience, tol
        self._best, self._stale = np.inf, 0

    def __call__(self, net) -> bool:
        loss = net.history[-1, "train_loss"]
        self._stale = 0 if loss < self._best - self._tol else self._stale + 1
        self._best = min(self._best, loss)
        return self._stale >= self._patience

    def restore(self, net) -> None:
        """Nothing to do: there are no held-out rows to tell which weights were best."""
