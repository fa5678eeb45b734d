"""Prediction sets of a classifier: conformity scores of held-out rows, and the sets from them.

Every held-out row has the probabilities of the networks that did not train on it. A label is in
the set of a new row if its score is not among the largest of the held-out rows, each compared by
the networks of its own fold (cross-conformal prediction, Vovk, 2015). With one fold they are the
sets of split conformal prediction. A small score is a label that conforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from sk_deltauq._conformal import ROUNDING, count_rows_needed

# LAC: least ambiguous set-valued classifiers (Sadinle, Lei and Wasserman, 2019). APS: adaptive
# prediction sets (Romano, Sesia and Candès, 2020). RAPS: regularised APS (Angelopoulos et al.,
# 2021).
METHODS = "aps", "raps", "lac"

# What RAPS adds to the score of a class for each place beyond the places that labels usually have.
_PENALTY = 0.1


@dataclass(frozen=True)
class FoldLabels:
    """Where the labels of the held-out rows of one fold stand. Arrays are `(row,)`."""

    components: np.ndarray | None  # numbers of components that did not train on them; None for all
    before: np.ndarray  # probability of all classes that are more probable than the label
    proba: np.ndarray  # probability of the label
    rank: np.ndarray  # 1 if the label is the most probable class
    draws: np.ndarray  # uniform random numbers
    weights: np.ndarray  # with mean one over all folds


@dataclass(frozen=True)
class HeldOutLabels:
    """Where the labels of all held-out rows stand, fold by fold."""

    folds: tuple[FoldLabels, ...]

    @classmethod
    def collect(cls, folds: Sequence[tuple], rng: np.random.Generator) -> HeldOutLabels:
        """Collect folds `(components, proba (row, class), labels (row,), weights (row,))`.

        Rows of weight zero are left out.
        """
        mean_weight = np.concatenate([w[w > 0] for *_, w in folds]).mean()
        found = []
        for components, proba, labels, weights in folds:
            kept = weights > 0
            before, rank = _sum_before(proba[kept])
            place = np.arange(kept.sum()), labels[kept]
            found.append(
                FoldLabels(
                    components=components,
                    before=before[place],
                    proba=proba[kept][place],
                    rank=rank[place],
                    draws=rng.random(len(place[0])),
                    weights=weights[kept] / mean_weight,
                )
            )
        return cls(tuple(found))

    @property
    def n_rows(self) -> int:
        """Number of held-out rows."""
        return sum(len(fold.proba) for fold in self.folds)

    def check_coverage(self, coverage: float) -> None:
        """Raise an error if only the set of all classes has this coverage."""
        fewest, n_rows = count_rows_needed(coverage), self.n_rows
        if n_rows < fewest:
            raise ValueError(
                f"coverage={coverage} needs at least {fewest} held-out rows, and this model has "
                f"{n_rows}. Lower coverage to at most "
                f"{math.floor(1e4 * n_rows / (n_rows + 1)) / 1e4}, or fit with more rows or a "
                "larger validation_fraction."
            )

    def predict(
        self, proba: Sequence[np.ndarray], draws: np.ndarray, coverage: float, method: str
    ) -> np.ndarray:
        """Return which classes are in the sets of new rows, `(row, class)`.

        `proba` holds the probabilities `(row, class)` by the components of each fold, and `draws`
        a uniform random number for each row.
        """
        usual = self._find_usual_rank(coverage)
        count = np.zeros(proba[0].shape)
        for fold, own in zip(self.folds, proba, strict=True):
            before, rank = _sum_before(own)
            scores = _score(before, own, rank, draws[:, np.newaxis], method, usual)
            held = _score(fold.before, fold.proba, fold.rank, fold.draws, method, usual)
            order = held.argsort(kind="stable")
            # Weight of the held-out rows from each place on
            beyond = np.append(fold.weights[order][::-1].cumsum()[::-1], 0.0)
            count += beyond[np.searchsorted(held[order], scores, side="left")]
        # A new row has the mean weight, which is one. 1 - 0.9 is slightly below 0.1 in float64.
        return (count + 1) / (self.n_rows + 1) > (1 - coverage) * (1 + ROUNDING)

    def _find_usual_rank(self, coverage: float) -> float:
        """Return the smallest rank up to which labels of this share of the weight stand."""
        ranks = np.concatenate([fold.rank for fold in self.folds])
        weights = np.concatenate([fold.weights for fold in self.folds])
        order = ranks.argsort(kind="stable")
        cumulative = weights[order].cumsum()
        share = coverage * cumulative[-1] * (1 - ROUNDING)
        return float(ranks[order][np.searchsorted(cumulative, share)])


def draw_for_rows(x: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each scaled row `(row, feature)`, which looks random.

    The numbers of APS are random, and a row must have the same set in every call and every batch.
    So the number is a hash of the row.
    """
    rows = np.ascontiguousarray(x + np.float32(0))  # no negative zeros
    numbers = [int.from_bytes(blake2b(r.tobytes(), digest_size=8).digest(), "big") for r in rows]
    return np.array(numbers, dtype=np.float64) / 2.0**64


def _sum_before(proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of all more probable classes, and the rank, `(row, class)`."""
    order = np.argsort(-proba, axis=1, kind="stable")
    ordered = np.take_along_axis(proba, order, axis=1)
    before, rank = np.empty_like(proba), np.empty_like(proba)
    np.put_along_axis(before, order, ordered.cumsum(axis=1) - ordered, axis=1)
    np.put_along_axis(rank, order, np.arange(1.0, proba.shape[1] + 1)[np.newaxis], axis=1)
    return before, rank


def _score(before, proba, rank, draws, method: str, usual: float):
    """Return conformity scores; a larger one conforms less."""
    if method == "lac":
        return 1 - proba
    penalty = _PENALTY * np.maximum(rank - usual, 0) if method == "raps" else 0.0
    return before + draws * proba + penalty
