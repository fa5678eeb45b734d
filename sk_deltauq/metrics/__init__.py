"""Scores of predicted uncertainty, and scorers for cross-validation and grid search.

Metrics compare observed values with predictions, as in `sklearn.metrics`. Scorers, such as
``scoring=nll_scorer``, evaluate the predicted uncertainty of a fitted estimator, which
scikit-learn's scorers cannot do; larger is better. Different shapes, NaN and invalid values (a
negative std or weight, swapped bounds) raise ValueError.
"""

from typing import TYPE_CHECKING

from sk_deltauq._lazy import import_on_use

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "_classification": ("brier_score", "expected_calibration_error", "ood_auroc"),
            "_regression": (
                "coverage",
                "crps",
                "gaussian_crps",
                "gaussian_nll",
                "interval_score",
                "mean_width",
                "nll",
                "quantile_calibration_error",
            ),
            "_scorers": (
                "brier_scorer",
                "coverage_error_scorer",
                "crps_scorer",
                "density_nll_scorer",
                "ece_scorer",
                "interval_score_scorer",
                "nll_scorer",
            ),
        },
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
