"""Baseline methods to compare with Delta-UQ, with the same interface."""

from typing import TYPE_CHECKING

from sk_deltauq._lazy import import_on_use

if TYPE_CHECKING:
    from sk_deltauq.baselines._anchor_ensemble import (
        AnchorEnsembleClassifier,
        AnchorEnsembleRegressor,
    )
    from sk_deltauq.baselines._deep_ensemble import DeepEnsembleClassifier, DeepEnsembleRegressor
    from sk_deltauq.baselines._mc_dropout import MCDropoutClassifier, MCDropoutRegressor
    from sk_deltauq.baselines._pbp import PBPRegressor
    from sk_deltauq.baselines._variational_bnn import (
        VariationalBNNClassifier,
        VariationalBNNRegressor,
    )
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "_anchor_ensemble": ("AnchorEnsembleClassifier", "AnchorEnsembleRegressor"),
            "_deep_ensemble": ("DeepEnsembleClassifier", "DeepEnsembleRegressor"),
            "_mc_dropout": ("MCDropoutClassifier", "MCDropoutRegressor"),
            "_pbp": ("PBPRegressor",),
            "_variational_bnn": ("VariationalBNNClassifier", "VariationalBNNRegressor"),
        },
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
