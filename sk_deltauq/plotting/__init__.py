"""Pictures of predicted uncertainty, as scikit-learn's displays.

Each class has three ways in. `from_estimator` predicts and draws. `from_predictions` takes
predictions of any model. The constructor takes the computed numbers, which are attributes of each
display, and `plot` draws them. Only drawing needs matplotlib:
``pip install 'sk-deltauq[plotting]'``.
"""

from typing import TYPE_CHECKING

from sk_deltauq._lazy import import_on_use

if TYPE_CHECKING:
    from sk_deltauq.plotting._parts import UncertaintyPartsDisplay
    from sk_deltauq.plotting._predictive import PredictiveIntervalDisplay
    from sk_deltauq.plotting._quantiles import QuantileCalibrationDisplay
    from sk_deltauq.plotting._reliability import ReliabilityDisplay
    from sk_deltauq.plotting._risk import RiskCoverageDisplay
    from sk_deltauq.plotting._sorted import SortedIntervalsDisplay
    from sk_deltauq.plotting._std_error import StdErrorDisplay
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "_parts": ("UncertaintyPartsDisplay",),
            "_predictive": ("PredictiveIntervalDisplay",),
            "_quantiles": ("QuantileCalibrationDisplay",),
            "_reliability": ("ReliabilityDisplay",),
            "_risk": ("RiskCoverageDisplay",),
            "_sorted": ("SortedIntervalsDisplay",),
            "_std_error": ("StdErrorDisplay",),
        },
    )

__all__ = [
    "PredictiveIntervalDisplay",
    "QuantileCalibrationDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SortedIntervalsDisplay",
    "StdErrorDisplay",
    "UncertaintyPartsDisplay",
]
