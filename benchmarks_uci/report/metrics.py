"""The scores that a report shows: titles, digits, and which value is the better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, isfinite, log10

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
        `loss(value)` is the smaller the better; None where nothing is ranked or stressed.
    unit_free : bool
        Whether differences on one set may be compared with those on another.
    """

    name: str
    title: str
    decimals: int | None = 3
    loss: Callable[[float], float] | None = float
    unit_free: bool = True

    def decimals_of(self, value: float) -> int:
        """Digits after the point to show a value with."""
        if self.decimals is not None:
            return self.decimals
        if value == 0 or not isfinite(value):
            return 3
        return max(0, 2 - floor(log10(abs(value))))


METRICS = {
    metric.name: metric
    for metric in [
        Metric("nll", "NLL"),
        Metric("density_nll", "density NLL"),
        Metric("rmse", "RMSE", None, unit_free=False),
        Metric("crps", "CRPS", None, unit_free=False),
        Metric("coverage", "90 % coverage", loss=lambda value: abs(value - COVERAGE)),
        # No better value: the narrowest intervals are those of an overconfident method.
        Metric("width", "mean width", None, loss=None, unit_free=False),
        Metric("calibration_error", "calibration error"),
        Metric("std_error_correlation", "std-error correlation", 2, loss=lambda value: -value),
        Metric("fit_seconds", "fit seconds", 2, loss=None, unit_free=False),
        Metric("predict_seconds", "predict seconds", 3, loss=None, unit_free=False),
    ]
}
