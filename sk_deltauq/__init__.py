"""scikit-learn estimators for tabular data that say how sure they are (Delta-UQ)."""

from typing import TYPE_CHECKING

from sk_deltauq import exceptions
from sk_deltauq._lazy import import_on_use
from sk_deltauq.exceptions import UncertaintyWarning

if TYPE_CHECKING:
    from sk_deltauq import baselines, distributions, metrics, optimize, persistence, plotting
    from sk_deltauq._deltauq_classifier import DeltaUQClassifier
    from sk_deltauq._deltauq_regressor import DeltaUQRegressor
    from sk_deltauq._wrappers import unwrap
    from sk_deltauq.distributions import CategoricalMixture, NormalMixture, TransformedMixture
    from sk_deltauq.persistence import load
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "": ("baselines", "distributions", "metrics", "optimize", "persistence", "plotting"),
            "_deltauq_classifier": ("DeltaUQClassifier",),
            "_deltauq_regressor": ("DeltaUQRegressor",),
            "_wrappers": ("unwrap",),
            "distributions": ("CategoricalMixture", "NormalMixture", "TransformedMixture"),
            "persistence": ("load",),
        },
    )

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
    "optimize",
    "persistence",
    "plotting",
    "unwrap",
]
