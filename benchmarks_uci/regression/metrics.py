"""The scores of the regression study: names, titles, digits, and which value is better."""

from __future__ import annotations

from benchmarks_uci.engine.study import Curve, Metric

COVERAGE = 0.9
# Levels of the predictive quantiles whose frequencies are recorded: 0.05, 0.10, ..., 0.95
LEVELS = tuple(i / 20 for i in range(1, 20))
SECONDS = ("fit_seconds", "predict_seconds")

METRICS = {
    metric.name: metric
    for metric in [
        Metric("nll", "NLL"),
        Metric("density_nll", "density NLL"),
        Metric("rmse", "RMSE", None, unit_free=False),
        Metric("crps", "CRPS", None, unit_free=False),
        Metric("coverage", "90 % coverage", loss=lambda value: abs(value - COVERAGE)),
        # No value is better: an overconfident method has the narrowest intervals.
        Metric("width", "mean width", None, loss=None, unit_free=False),
        Metric("calibration_error", "calibration error"),
        Metric("std_error_correlation", "std-error correlation", 2, loss=lambda value: -value),
        Metric("fit_seconds", "fit seconds", 2, loss=None, unit_free=False),
        Metric("predict_seconds", "predict seconds", 3, loss=None, unit_free=False),
    ]
}

CURVES = {
    "quantile_frequencies": Curve(
        "Calibration",
        "level of the predictive quantile",
        "fraction of the targets below it",
        LEVELS,
        on_diagonal=True,
    )
}
