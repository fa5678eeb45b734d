"""Other methods with the same interface: what Delta-UQ is measured against."""

from sk_deltauq.baselines._deep_ensemble import DeepEnsembleClassifier, DeepEnsembleRegressor

__all__ = ["DeepEnsembleClassifier", "DeepEnsembleRegressor"]
