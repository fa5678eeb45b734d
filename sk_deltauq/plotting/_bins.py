"""Rows grouped into bins by one value, and weighted averages of each bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sk_deltauq.metrics._checks import check_number_of_bins, find_bins


@dataclass(frozen=True)
class Bins:
    """Rows in bins. Empty bins, and bins without weight, do not exist."""

    number: np.ndarray  # (row,), from 0
    weights: np.ndarray  # (row,)

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted mean of each bin."""
        return np.bincount(self.number, self.weights * values) / self._sums()

    def effective_counts(self) -> np.ndarray:
        """Return the number of rows of each bin, `sum(w)**2 / sum(w**2)`, as integers."""
        squares = np.bincount(self.number, np.square(self.weights))
        return np.maximum(np.round(self._sums() ** 2 / squares), 1).astype(int)

    def _sums(self):
        return np.bincount(self.number, self.weights)


def assign_equal_widths(values: np.ndarray, n_bins: int, weights: np.ndarray) -> Bins:
    """Group probabilities into bins of equal width on [0, 1], with their upper edges."""
    return _drop_empty(find_bins(values, n_bins), weights)


def assign_equal_counts(values: np.ndarray, n_bins: int, weights: np.ndarray) -> Bins:
    """Group values into bins of equal weight; equal values share a bin."""
    check_number_of_bins(n_bins)
    order = np.argsort(values, kind="stable")
    ranked, sorted_weights = values[order], weights[order]
    middle = np.cumsum(sorted_weights) - sorted_weights / 2
    number = np.minimum((n_bins * middle / sorted_weights.sum()).astype(int), n_bins - 1)
    # The first row of a run of equal values decides for all of them.
    first = np.searchsorted(ranked, ranked, side="left")
    by_row = np.empty_like(number)
    by_row[order] = number[first]
    return _drop_empty(by_row, weights)


def _drop_empty(number, weights) -> Bins:
    present = np.bincount(number, weights) > 0
    # Rows of bins without weight go to any bin, where they count nothing.
    renumbered = np.maximum(np.cumsum(present) - 1, 0)
    return Bins(renumbered[number], weights)
