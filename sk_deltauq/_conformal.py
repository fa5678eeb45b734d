"""Conformal intervals: conformity scores of held-out rows, and the bounds that follow from them.

The score of a row is `|y - mean| / std` (normalised, Lei et al., 2018, section 5.2), with the mean
and std of the components that did not train on the row. Each fold of held-out rows has such
components. The bounds are the CV+ interval (Barber, Candès, Ramdas and Tibshirani, "Predictive
Inference with the Jackknife+", Annals of Statistics 49, 2021, section 3). With one fold they are
the interval of split conformal prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sk_deltauq._predictor import Predictor, compute_moments
from sk_deltauq.distributions._arrays import check_coverage

# In units of the std of y. Components without noise may have a std of 0, which cannot scale an
# error. The smallest std of a noise model is 300 times larger.
_MIN_STD = 1e-6

# Bisection starts from the spread of the folds and ends at 1e-12 of it.
_N_HALVINGS = 40

# Coverage 0.55 of 20 is 11.000000000000002 in float64, and means 11.
ROUNDING = 1e-9


@dataclass(frozen=True)
class FoldScores:
    """Scores of the rows of one fold, and the components that did not train on them."""

    components: np.ndarray | None  # numbers of components; None for all
    scores: np.ndarray  # (output, row), ascending
    cumulative: np.ndarray  # weight of the first rows in this order, from 0 rows, (output, row)

    @classmethod
    def sort(cls, components, scores: np.ndarray, weights: np.ndarray) -> FoldScores:
        """Sort scores `(row, output)`; `weights` are `(row,)`."""
        order = scores.T.argsort(axis=1, kind="stable")  # (output, row)
        ranked = np.take_along_axis(scores.T, order, axis=1)
        cumulative = weights[order].cumsum(axis=1)
        return cls(components, ranked, np.pad(cumulative, ((0, 0), (1, 0))))

    def find_quantile(self, output: int, share: float) -> float:
        """Return the smallest score at or below which the rows have this share of the weight."""
        scores, cumulative = self.scores[output], self.cumulative[output, 1:]
        place = np.searchsorted(cumulative, share * cumulative[-1] * (1 - ROUNDING))
        return scores[min(place, len(scores) - 1)]

    def weigh_up_to(self, output: int, limits: np.ndarray) -> np.ndarray:
        """Return the weight of the rows with scores of at most `limits`, of the same shape."""
        places = self.scores[output].searchsorted(limits, side="right")
        return self.cumulative[output][places]


@dataclass(frozen=True)
class ConformityScores:
    """Scores of all held-out rows, fold by fold. The mean weight of a row is one."""

    folds: tuple[FoldScores, ...]
    # Whether the rows had no part in the fit. Otherwise each fold was held out by some networks,
    # and refined means, which train on all rows, must not predict with its scores.
    new_rows: bool = False

    @classmethod
    def collect(cls, folds: Sequence[tuple], *, new_rows: bool = False) -> ConformityScores | None:
        """Collect folds `(components, scores (row, output), weights (row,))`.

        Rows of weight zero are ignored. Returns None without rows.
        """
        kept = [(c, scores[w > 0], w[w > 0]) for c, scores, w in folds]
        kept = [fold for fold in kept if len(fold[2])]
        if not kept:
            return None
        mean_weight = np.concatenate([weights for *_, weights in kept]).mean()
        sorted_folds = (FoldScores.sort(c, scores, w / mean_weight) for c, scores, w in kept)
        return cls(tuple(sorted_folds), new_rows)

    @property
    def n_rows(self) -> int:
        """Number of held-out rows."""
        return sum(fold.scores.shape[1] for fold in self.folds)

    def check_coverage(self, coverage: float) -> None:
        """Raise an error if a finite interval cannot have this coverage."""
        fewest, n_rows = count_rows_needed(coverage), self.n_rows
        if n_rows < fewest:
            raise ValueError(
                f"coverage={coverage} with method='conformal' needs at least {fewest} held-out "
                f"rows, and this model has {n_rows}. Lower coverage to at most "
                f"{math.floor(1e4 * n_rows / (n_rows + 1)) / 1e4}, or fit with more rows or a "
                "larger validation_fraction, or call conformalize(X, y) with at least "
                f"{fewest} rows that were not used to fit."
            )

    def bound(self, means: np.ndarray, stds: np.ndarray, coverage: float) -> np.ndarray:
        """Return lower and upper bounds `(row, output, 2)`; the mean of the folds lies between.

        `means` and `stds` are `(row, fold, output)`. Raises an error for too few held-out rows.
        """
        self.check_coverage(coverage)
        bounds = np.empty((len(means), means.shape[2], 2))
        # A new row has the mean weight, which is one. In (0, n_rows] after the check.
        weight = coverage * (self.n_rows + 1) * (1 - ROUNDING)
        for output in range(means.shape[2]):
            centres, scales = means[..., output], stds[..., output]  # (row, fold)
            # The mirror image of the upper bound; for one fold equal to mean - quantile * std.
            lower = -self._bound_above(-centres, scales, output, weight)
            upper = self._bound_above(centres, scales, output, weight)
            # For a coverage below 0.5 the bounds may cross. With one point inside every interval,
            # intervals of a higher coverage contain the intervals of a lower one.
            centre = centres.mean(axis=1)
            bounds[:, output, 0] = np.minimum(lower, centre)
            bounds[:, output, 1] = np.maximum(upper, centre)
        return bounds

    def _bound_above(self, centres, scales, output: int, weight: float) -> np.ndarray:
        """Return the smallest v with this weight of `centre + score * scale` at or below v.

        Each held-out row gives one value, with the centre and the scale of its fold. Those values
        are never made: they would be as many as new rows times held-out rows.

        The bound lies between the quantiles of the folds at the same level: below all of them
        the weight is too small, and at the largest of them it is reached.
        """
        share = min(weight / self.n_rows, 1.0)
        quantiles = np.array([fold.find_quantile(output, share) for fold in self.folds])
        bounds = centres + scales * quantiles  # (row, fold)
        low, high = bounds.min(axis=1), bounds.max(axis=1)
        for _ in range(_N_HALVINGS if len(self.folds) > 1 else 0):
            middle = low + (high - low) / 2
            limits = (middle[:, None] - centres) / scales
            found = sum(f.weigh_up_to(output, limits[:, k]) for k, f in enumerate(self.folds))
            enough = found >= weight
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high


def count_rows_needed(coverage: float) -> int:
    """Return the smallest number of held-out rows for a finite interval.

    The rank `ceil(coverage * (n + 1))` must be at most n, for one fold and for several.

    Raises
    ------
    ValueError
        If the coverage is not between 0 and 1.
    """
    check_coverage(coverage)
    ratio = float(coverage) / (1 - float(coverage))
    return max(math.ceil(ratio * (1 - ROUNDING)), 1)


def compute_fold_moments(predictor: Predictor, parts, x: torch.Tensor, components: Sequence):
    """Compute mean and std of y by the components of each fold, `(row, fold, target)`, float64.

    `parts` are what the module of the predictor returns for the scaled rows `x`. `components`
    holds the numbers of the components of each fold, None for all. The std includes calibration
    and inflation.
    """
    assert predictor.y_scaler is not None
    found = []
    for numbers in components:
        chosen = parts if numbers is None else tuple(part[numbers] for part in parts)
        found.append(compute_moments(predictor, chosen, x, ("mean", "total")))
    means, stds = (torch.stack(moments, dim=1) for moments in zip(*found, strict=True))
    smallest = torch.tensor(_MIN_STD * predictor.y_scaler.scale_, device=stds.device)
    return means, torch.maximum(stds, smallest)


def score_rows(predictor: Predictor, parts, x: torch.Tensor, y: np.ndarray) -> np.ndarray:
    """Return the conformity scores `(row, target)` of targets in the units of y.

    `parts` are the components that did not train on the scaled rows `x`.
    """
    means, stds = compute_fold_moments(predictor, parts, x, [None])
    return np.abs(y - means[:, 0].cpu().numpy()) / stds[:, 0].cpu().numpy()
