"""Scores of predicted uncertainty, and scorers for cross-validation and grid search.

The metrics compare observed values with predictions, as those of `sklearn.metrics` do; several
outputs are averaged. The scorers, such as ``scoring=nll_scorer``, ask a fitted estimator for its
uncertainty, which scikit-learn's own scorers cannot; more is better. Shapes that differ, NaN and
values that make no sense (a negative std or weight, swapped bounds) raise ValueError.
"""

from sk_deltauq.metrics._classification import (
    brier_score,
    expected_calibration_error,
    ood_auroc,
)
from sk_deltauq.metrics._regression import (
    coverage,
    crps,
    gaussian_crps,
    gaussian_nll,
    interval_score,
    mean_width,
    nll,
    quantile_calibration_error,
)
from sk_deltauq.metrics._scorers import (
    brier_scorer,
    coverage_error_scorer,
    crps_scorer,
    density_nll_scorer,
    ece_scorer,
    interval_score_scorer,
    nll_scorer,
)

__all__ = [
    "brier_score",
    "brier_scorer",
    "coverage",
    "coverage_error_scorer",
    "crps",
    "crps_scorer",
    "density_nll_scorer",
    "ece_scorer",
    "expected_calibration_error",
    "gaussian_crps",
    "gaussian_nll",
    "interval_score",
    "interval_score_scorer",
    "mean_width",
    "nll",
    "nll_scorer",
    "ood_auroc",
    "quantile_calibration_error",
]
