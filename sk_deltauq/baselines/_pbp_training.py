"""Training of PBP: passes over the rows, and the stopping rule."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils import gen_batches

from sk_deltauq._training.budget import Budget
from sk_deltauq.baselines._pbp_filter import Filter
from sk_deltauq.baselines._pbp_moments import network_moments
from sk_deltauq.baselines._pbp_posterior import Posterior

_CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Rows:
    """Scaled features `(row, feature)`, targets and weights `(row,)`, in float64."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index) -> Rows:
        return Rows(self.x[index], self.y[index], self.weights[index])

    def append(self, other: Rows) -> Rows:
        """Return the rows followed by other rows."""
        pairs = (self.x, other.x), (self.y, other.y), (self.weights, other.weights)
        return Rows(*map(np.concatenate, pairs))

    def in_parts(self) -> Rows:
        """Split rows with weights above one into several equal parts with smaller weights.

        Weights up to 1e-6 above one are not split, because they come from rounding.
        """
        n_parts = np.maximum(np.ceil(self.weights - 1e-6), 1).astype(int)
        index = np.repeat(np.arange(len(self)), n_parts)
        return Rows(self.x[index], self.y[index], (self.weights / n_parts)[index])


@dataclass(frozen=True)
class TrainingResult:
    """Posterior of the best pass (of the last pass without held-out rows), and the history."""

    posterior: Posterior
    losses: list[float]
    scores: np.ndarray | None
    best_score: float | None


def compute_moments(posterior: Posterior, x: torch.Tensor):
    """Compute mean and variance of the output `(row, 1)`, in float64 and differentiable."""
    layers = ([torch.from_numpy(a) for a in p] for p in (posterior.means, posterior.variances))
    return network_moments(x.double(), *layers)


@torch.inference_mode()
def log_density(posterior: Posterior, rows: Rows) -> float:
    """Compute the weighted mean log density of the targets."""
    total = 0.0
    for part in gen_batches(len(rows), _CHUNK_ROWS):
        mean, var = compute_moments(posterior, torch.from_numpy(rows.x[part]))
        var = var[:, 0].numpy() + posterior.noise.variance
        square = np.square(rows.y[part] - mean[:, 0].numpy())
        total -= 0.5 * np.dot(rows.weights[part], np.log(2 * math.pi * var) + square / var)
    return total / rows.weights.sum()


def _check_finite(losses: list[float], score: float) -> None:
    """Raise an error if the last loss or the score of a pass is not finite."""
    if not (math.isfinite(losses[-1]) and math.isfinite(score)):
        raise ValueError(
            f"Training diverged: the loss is {losses[-1]} in pass {len(losses)}, and the "
            f"score {score}. Remove outliers from X and y, or use smaller hidden_layer_sizes."
        )


def train(
    posterior: Posterior,
    rows: Rows,
    held_out: Rows | None,
    *,
    max_passes: int,
    patience: int,
    tol: float,
    new_rng: Callable,
    resumed: bool,
    after_pass: Callable = lambda: None,
    budget: Budget | None = None,
) -> TrainingResult:
    """Absorb the rows in passes, each in a new order, until the score stops improving.

    The posterior is changed in place. Without held-out rows, the losses decide when to stop, and
    the last state is returned. `new_rng(k)` creates the generator of pass k. If the initial state
    is fitted (`resumed`), it is returned if no pass improves the score. The budget may end
    training early; what the unfinished pass changed is then dropped.

    Raises
    ------
    ValueError
        If a loss or a score is not finite.
    """
    parts, best_score, stale = rows.in_parts(), -math.inf, 0
    best, losses, scores, budget = posterior, [], [], budget or Budget(enabled=False)
    if resumed and held_out is not None:
        best, best_score = copy.deepcopy(posterior), log_density(posterior, held_out)
    one_pass = Filter(posterior.means, posterior.variances, posterior.noise).one_pass
    x = np.column_stack([parts.x, np.ones(len(parts))])
    squares = x * x
    while len(losses) < max_passes and stale < patience and not budget.reason:
        order = new_rng(len(losses)).permutation(len(parts))
        before = copy.deepcopy(posterior)
        try:
            with np.errstate(all="ignore"):  # updates that are not finite are skipped
                log_z = one_pass(x, squares, parts.y, parts.weights, order, budget.check)
        except KeyboardInterrupt:
            if not budget.absorbs():
                raise
            posterior = before
            break
        losses.append(-log_z)
        posterior.refine_prior()
        score = -losses[-1] if held_out is None else log_density(posterior, held_out)
        _check_finite(losses, score)
        if held_out is not None:
            scores.append(score)
            if score > best_score:
                best = copy.deepcopy(posterior)
        stale = 0 if score > best_score + tol else stale + 1
        best_score = max(best_score, score)
        after_pass()
        budget.end_epoch()
    if held_out is None:
        return TrainingResult(posterior, losses, None, None)
    return TrainingResult(best, losses, np.array(scores), best_score)
