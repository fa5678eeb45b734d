"""The score to expect on rows without targets: what classifiers and regressors share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning


def compute_root_mean_square(stds: np.ndarray) -> np.ndarray:
    """Return the root mean square over the rows of `(row,)` or `(row, output)`."""
    largest = stds.max(axis=0)  # squares of large units must not overflow
    unit = np.where(largest > 0, largest, 1.0)
    return unit * np.sqrt(np.square(stds / unit).mean(axis=0))


def warn_without_hold_out(model: Any) -> None:
    """Warn if the last fit held no rows out, so that it did not calibrate the model."""
    if model.best_validation_score_ is None:
        warn_caller(
            "expected_score needs predicted uncertainties that agree with errors on rows held out "
            "of training, and the last fit held none out: with early_stopping=False, too few "
            "rows, or partial_fit. The expected error is probably too small. Fit with "
            "early_stopping=True, or measure the score on rows that were not used to fit.",
            UncertaintyWarning,
        )
