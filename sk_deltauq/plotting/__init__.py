"""Pictures of predicted uncertainty, as scikit-learn's displays.

Each class has three ways in. `from_estimator` predicts and draws. `from_predictions` takes
predictions of any model. The constructor takes the computed numbers, which are attributes of each
display, and `plot` draws them. Only drawing needs matplotlib:
``pip install 'sk-deltauq[plotting]'``.
"""

from sk_deltauq.plotting._parts import UncertaintyPartsDisplay
from sk_deltauq.plotting._predictive import PredictiveIntervalDisplay
from sk_deltauq.plotting._quantiles import QuantileCalibrationDisplay
from sk_deltauq.plotting._reliability import ReliabilityDisplay
from sk_deltauq.plotting._risk import RiskCoverageDisplay
from sk_deltauq.plotting._sorted import SortedIntervalsDisplay
from sk_deltauq.plotting._std_error import StdErrorDisplay

__all__ = [
    "PredictiveIntervalDisplay",
    "QuantileCalibrationDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SortedIntervalsDisplay",
    "StdErrorDisplay",
    "UncertaintyPartsDisplay",
]
