"""Shifts of table rows: standardised rows `(row, feature)` in, rows of the same shape out."""

from __future__ import annotations

import numpy as np


def noise(rows, amount, rng):
    """Add normal noise to every value."""
    return rows + amount * rng.standard_normal(rows.shape)


def dropout(rows, amount, rng):
    """Replace values by the mean of the feature."""
    return np.where(rng.random(rows.shape) < amount, 0.0, rows)


def scale(rows, amount, rng):
    """Multiply or divide each feature by a gain."""
    return rows * (1 + amount) ** rng.choice([-1.0, 1.0], rows.shape[1])


def swap(rows, amount, rng):
    """Replace values by values of the same feature in other rows."""
    others = rng.permuted(rows, axis=0)
    return np.where(rng.random(rows.shape) < amount, others, rows)


def offset(rows, amount, rng):
    """Move a third of the features, at least one, up or down."""
    n_features = rows.shape[1]
    moved = rng.permutation(n_features)[: max(1, n_features // 3)]
    steps = np.zeros(n_features)
    steps[moved] = amount * rng.choice([-1.0, 1.0], len(moved))
    return rows + steps


def saturation(rows, amount, rng):
    """Cut the values of each feature at quantiles of the rows."""
    low, high = np.quantile(rows, [amount / 2, 1 - amount / 2], axis=0)
    return np.clip(rows, low, high)


def rounding(rows, amount, rng):
    """Round the values to multiples of the amount."""
    return amount * np.round(rows / amount) if amount > 0 else rows.copy()


def exchange(rows, amount, rng):
    """Let a part of the features take one another's values, as after wrong wiring."""
    order = rng.permutation(rows.shape[1])[: round(amount * rows.shape[1])]
    changed = rows.copy()
    changed[:, order] = rows[:, np.roll(order, 1)]
    return changed
