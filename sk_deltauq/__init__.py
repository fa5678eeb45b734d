"""scikit-learn estimators for tabular data that say how sure they are (Delta-UQ)."""

from sk_deltauq import baselines, distributions, exceptions, metrics, persistence
from sk_deltauq._deltauq_classifier import DeltaUQClassifier
from sk_deltauq._deltauq_regressor import DeltaUQRegressor
from sk_deltauq._wrappers import unwrap
from sk_deltauq.distributions import CategoricalMixture, NormalMixture, TransformedMixture
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.persistence import load

__version__ = "0.1.0.dev0"

__all__ = [
    "CategoricalMixture",
    "DeltaUQClassifier",
    "DeltaUQRegressor",
    "NormalMixture",
    "TransformedMixture",
    "UncertaintyWarning",
    "baselines",
    "distributions",
    "exceptions",
    "load",
    "metrics",
    "persistence",
    "unwrap",
]
