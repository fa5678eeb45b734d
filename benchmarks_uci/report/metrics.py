"""The scores that a report shows: titles, digits, and which value is the better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

COVERAGE = 0.9


@dataclass(frozen=True)
class Metric:
    """A field of the records.

    Attributes
    ----------
    name, title : str
    decimals : int or None
        Digits after the point; None: three significant digits of the mean, for units of the
        target.
    loss : callable or None
        `loss(value)` is the smaller the better; None where no value is better by itself.
    unit_free : bool
        Whether differences on one set may be compared with those on another.
    """

    name: str
    title: str
    decimals: int | None = 3
    loss: Callable[[float], float] | None = float
    unit_free: bool = True


METRICS = {
    metric.name: metric
    for metric in [
        Metric("nll", "NLL"),
        Metric("density_nll", "density NLL"),
        Metric("rmse", "RMSE", None, unit_free=False),
        Metric("crps", "CRPS", None, unit_free=False),
        Metric("coverage", "90 % coverage", loss=lambda value: abs(value - COVERAGE)),
        # The narrowest intervals are those of an overconfident method.
        Metric("width", "mean width", None, loss=None, unit_free=False),
        Metric("calibration_error", "calibration error"),
        Metric("std_error_correlation", "std-error correlation", 2, loss=lambda value: -value),
        Metric("fit_seconds", "fit seconds", 2, unit_free=False),
        Metric("predict_seconds", "predict seconds", 3, unit_free=False),
    ]
}
