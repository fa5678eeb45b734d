"""Outlier scores: how strange a row is, compared with rows that were held out of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

# Values of the parameter `kind` of classifiers and of regressors. The first one is the default.
KINDS = (
    *("combined", "distance", "entropy", "mutual_information", "logit_std", "energy"),
    "reverse_anchoring",
)
REGRESSOR_KINDS = "combined", "distance", "epistemic", "reverse_anchoring"

NO_HELD_OUT_ROWS = (
    "kind='combined' compares a row with rows that were held out of training, and this model has "
    "none, because of early_stopping=False, noise=None, too few rows, or partial_fit without "
    "fit. Fit with early_stopping=True and a noise model, or use kind='distance'."
)

# Standardised features are squashed to this size, so that one broken feature is not everything.
_SQUASHED = 3.0


def squash(x: torch.Tensor) -> torch.Tensor:
    """Squash standardised features to (-3, 3); small values hardly change."""
    return x / (1 + (x / _SQUASHED).square()).sqrt()


def average_log_proba(logits: torch.Tensor) -> torch.Tensor:
    """Log of the mean of the components' probabilities, `(row, class)`."""
    return logits.log_softmax(dim=2).logsumexp(dim=0) - np.log(len(logits))


def measure_energy(logits: torch.Tensor) -> torch.Tensor:
    """Energy of each row, averaged over the components (Liu et al., 2020, eq. 4): `(row,)`."""
    return -logits.logsumexp(dim=2).mean(dim=0)


def check_kind(kind: str, kinds: tuple[str, ...]) -> None:
    """Raise an error for an unknown kind of score."""
    if kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(map(repr, kinds))}, got {kind!r}.")


def measure_entropy(log_proba: torch.Tensor) -> torch.Tensor:
    """Entropy in nats over the last axis; logarithms are finite where a probability is zero."""
    return -(log_proba.exp() * log_proba).sum(dim=-1)


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of held-out rows, each by the networks that did not train on the row."""

    entropies: np.ndarray  # (row,), ascending
    distances: np.ndarray  # (row,), ascending

    def combine(self, entropies: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Combine two scores of new rows `(row,)` by Fisher's method: the sum of `-log p`."""
        return find_surprise(self.entropies, entropies) + find_surprise(self.distances, distances)


@dataclass(frozen=True)
class HeldOutSpreads:
    """Spreads between the components of a regressor, and distances, of the held-out rows."""

    spreads: np.ndarray  # (row,), ascending
    distances: np.ndarray  # (row,), ascending

    def combine(self, spreads: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Combine two scores of new rows `(row,)` by Fisher's method: the sum of `-log p`."""
        return find_surprise(self.spreads, spreads) + find_surprise(self.distances, distances)


def find_surprise(held: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return `-log p` of scores, with their p-value among the ascending scores `held`.

    The p-value is the share of held-out rows with at least this score, the row itself included
    (conformal p-value). All scores beyond the largest one have the same p-value. The logarithm of
    their distance from it is added, so that they have an order.
    """
    p = (1 + len(held) - np.searchsorted(held, scores)) / (len(held) + 1)
    unit = max(np.quantile(held, 0.99) - np.quantile(held, 0.9), 1e-6 * (1 + abs(held[-1])))
    return np.log1p(np.clip(scores - held[-1], 0, None) / unit) - np.log(p)
