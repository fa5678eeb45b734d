"""Other methods with the same interface: what Delta-UQ is measured against."""

from sk_deltauq.baselines._anchor_ensemble import AnchorEnsembleClassifier, AnchorEnsembleRegressor
from sk_deltauq.baselines._deep_ensemble import DeepEnsembleClassifier, DeepEnsembleRegressor
from sk_deltauq.baselines._mc_dropout import MCDropoutClassifier, MCDropoutRegressor
from sk_deltauq.baselines._pbp import PBPRegressor

__all__ = [
    "AnchorEnsembleClassifier",
    "AnchorEnsembleRegressor",
    "DeepEnsembleClassifier",
    "DeepEnsembleRegressor",
    "MCDropoutClassifier",
    "MCDropoutRegressor",
    "PBPRegressor",
]
