"""Gross outliers among the targets, such as typing errors, wrong units, or codes like 99999."""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# With fewer rows nothing can be told from a heavy tail.
_FEWEST_ROWS = 20
# At most one row in 200 can be a gross outlier, or one row of a smaller table.
_ROWS_PER_OUTLIER = 200
# Gross outliers carry this share of the sum of squares about the median.
_SHARE = 0.9
# They lie more than 20 times as far from the median as the next row.
_GAP = 20
_MOST_SHOWN = 3


def find_gross_outliers(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows of gross outliers, the farthest one first.

    They carry more than 90 % of the weighted squared deviations from the weighted median, so that
    they alone set the scale. And a gap separates them from the other rows: the ordered deviations
    jump by a factor of 20. Heavy tails (Student's t with 3 degrees of freedom, log-normal) have
    no such jump, because their extremes thin out gradually. Rare events, where all other rows
    have the same value, are no outliers.

    Parameters
    ----------
    values, weights : ndarray of shape (n_samples,)
        Targets, and weights with a maximum of one.
    """
    n_rows = len(values)
    if n_rows < _FEWEST_ROWS:
        return np.empty(0, dtype=int)
    most = -(-n_rows // _ROWS_PER_OUTLIER)
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    median = values[order[np.searchsorted(cumulative, cumulative[-1] / 2)]]
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.abs(values - median)
        farthest = np.argpartition(deviations, n_rows - most - 1)[-most - 1 :]
        farthest = farthest[np.argsort(-deviations[farthest], kind="stable")]
        sizes = deviations[farthest]
        relative = deviations / max(
            sizes[0], np.finfo(np.float64).tiny
        )  # squares must not overflow
        squares = weights * relative**2
        shares = np.cumsum(squares[farthest]) / max(squares.sum(), np.finfo(np.float64).tiny)
    gaps = (sizes[1:] > 0) & (sizes[:-1] > _GAP * sizes[1:]) & (shares[:-1] > _SHARE)
    n_outliers = int(np.flatnonzero(gaps)[0]) + 1 if gaps.any() else 0
    return farthest[:n_outliers]


def warn_about_outliers(
    Y: np.ndarray, weights: np.ndarray, rows: np.ndarray, transform: Any = None
) -> None:
    """Warn if gross outliers set the scale of a target.

    `Y` is `(row, target)`, `weights` is `(row,)`, and `rows` has the position of each row in the
    user's table. With `transform`, the fitted `target_transform_`, the transformed targets are
    checked, because a logarithm makes a long tail harmless. A map by ranks makes every outlier
    look harmless, but its inverse leads back to it, so the targets themselves are checked too.
    """
    Z = Y if transform is None else transform.transform(Y)
    for output, values in enumerate(Y.T):
        found = find_gross_outliers(Z[:, output], weights)
        if not len(found) and transform is not None and transform.hides_outliers(output):
            found = find_gross_outliers(values, weights)
        if not len(found):
            continue
        shown = ", ".join(f"row {rows[i]}: {values[i]:.6g}" for i in found[:_MOST_SHOWN])
        more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        target = "y" if Y.shape[1] == 1 else f"output {output} of y"
        name = None if transform is None else transform.names[output]
        despite = "" if name is None else f" target_transform={name!r} does not help."
        warn_caller(
            f"{target} has extreme outliers ({shown}{more}), while the median is "
            f"{np.median(values):.6g}.{despite} They set the scale of y, so predictions and "
            "standard deviations will be far too rough for the other rows. Check these values: "
            "correct them, or remove their rows. A sample_weight must be tiny, below about 1e-8, "
            "to take away their effect.",
            UncertaintyWarning,
        )
