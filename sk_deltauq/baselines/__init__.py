"""Baseline methods to compare with Delta-UQ, with the same interface."""

from sk_deltauq.baselines._anchor_ensemble import AnchorEnsembleClassifier, AnchorEnsembleRegressor
from sk_deltauq.baselines._deep_ensemble import DeepEnsembleClassifier, DeepEnsembleRegressor
from sk_deltauq.baselines._mc_dropout import MCDropoutClassifier, MCDropoutRegressor
from sk_deltauq.baselines._pbp import PBPRegressor
from sk_deltauq.baselines._variational_bnn import (
    VariationalBNNClassifier,
    VariationalBNNRegressor,
)

__all__ = [
    "AnchorEnsembleClassifier",
    "AnchorEnsembleRegressor",
    "DeepEnsembleClassifier",
    "DeepEnsembleRegressor",
    "MCDropoutClassifier",
    "MCDropoutRegressor",
    "PBPRegressor",
    "VariationalBNNClassifier",
    "VariationalBNNRegressor",
]
