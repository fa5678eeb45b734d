"""The classes whose objects a file may hold, each with the name that files use for it.

Loading looks a class up here and nowhere else, so a file cannot name other code. To store objects
of a new class, add a line: the name in files, and the module. The state of the object is what
`__getstate__` returns. It must consist of plain values, arrays and objects of these classes. The
names are part of the file format: never change one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

# The last part of the name in files is the name of the class.
_MODULES = {
    # estimators
    "DeltaUQClassifier": "sk_deltauq._deltauq_classifier",
    "DeltaUQRegressor": "sk_deltauq._deltauq_regressor",
    "AnchorEnsembleClassifier": "sk_deltauq.baselines._anchor_ensemble",
    "AnchorEnsembleRegressor": "sk_deltauq.baselines._anchor_ensemble",
    "DeepEnsembleClassifier": "sk_deltauq.baselines._deep_ensemble",
    "DeepEnsembleRegressor": "sk_deltauq.baselines._deep_ensemble",
    "MCDropoutClassifier": "sk_deltauq.baselines._mc_dropout",
    "MCDropoutRegressor": "sk_deltauq.baselines._mc_dropout",
    "PBPRegressor": "sk_deltauq.baselines._pbp",
    "VariationalBNNClassifier": "sk_deltauq.baselines._variational_bnn",
    "VariationalBNNRegressor": "sk_deltauq.baselines._variational_bnn",
    # trained networks
    "TrainedNet": "sk_deltauq._training.trained_net",
    "TrainingSettings": "sk_deltauq._training.settings",
    "NetworkSpec": "sk_deltauq._networks.mlp",
    "Anchored": "sk_deltauq._methods.anchored",
    "Dropout": "sk_deltauq._methods.dropout",
    "Ensemble": "sk_deltauq._methods.ensemble",
    "NearestAnchors": "sk_deltauq._methods.neighbours",
    "Shifted": "sk_deltauq._methods.shifted",
    "Variational": "sk_deltauq._methods.variational",
    "Posterior": "sk_deltauq.baselines._pbp_posterior",
    "Precision": "sk_deltauq.baselines._pbp_filter",
    # scales, calibration, and rows that a prediction is compared with
    "Scaler": "sk_deltauq._validation",
    "ReferenceRows": "sk_deltauq._novelty",
    "DistanceInflation": "sk_deltauq._novelty",
    "RareLevels": "sk_deltauq._rarity",
    "ConformityScores": "sk_deltauq._conformal",
    "FoldScores": "sk_deltauq._conformal",
    "FrequencyMixing": "sk_deltauq._estimators.logits",
    "ClassifierCalibration": "sk_deltauq._estimators.classifier_calibration",
    "FoldLabels": "sk_deltauq._prediction_sets",
    "HeldOutLabels": "sk_deltauq._prediction_sets",
    "HeldOutScores": "sk_deltauq._outlier_scores",
    "HeldOutSpreads": "sk_deltauq._outlier_scores",
    "LabelledRows": "sk_deltauq._estimators.reverse_anchoring",
    "NearestRows": "sk_deltauq._nearest_rows",
    "RegressorOutliers": "sk_deltauq._estimators.regressor_outliers",
    "Temperature": "sk_deltauq._temperature",
    # transformations of the target
    "TargetTransform": "sk_deltauq._estimators.target_transform",
    "ContinuedMap": "sk_deltauq._estimators.monotone_maps",
    "IdentityMap": "sk_deltauq._estimators.monotone_maps",
    "LogMap": "sk_deltauq._estimators.monotone_maps",
    "PiecewiseLinearMap": "sk_deltauq._estimators.monotone_maps",
    "TransformerMap": "sk_deltauq._estimators.monotone_maps",
    "YeoJohnsonMap": "sk_deltauq._estimators.monotone_maps",
    # categories and missing values
    "Columns": "sk_deltauq._tables.encoder",
    "TableEncoder": "sk_deltauq._tables.encoder",
    "sklearn.MissingIndicator": "sklearn.impute",
    "sklearn.OneHotEncoder": "sklearn.preprocessing",
    "sklearn.SimpleImputer": "sklearn.impute",
    # other objects of scikit-learn
    "sklearn.FunctionTransformer": "sklearn.preprocessing",
    "sklearn.MaxAbsScaler": "sklearn.preprocessing",
    "sklearn.MinMaxScaler": "sklearn.preprocessing",
    "sklearn.Pipeline": "sklearn.pipeline",
    "sklearn.PowerTransformer": "sklearn.preprocessing",
    "sklearn.QuantileTransformer": "sklearn.preprocessing",
    "sklearn.RobustScaler": "sklearn.preprocessing",
    "sklearn.StandardScaler": "sklearn.preprocessing",
    "sklearn.MetadataRequest": "sk_deltauq._sklearn",
    "sklearn.MethodMetadataRequest": "sk_deltauq._sklearn",
}


def find_class(name: str) -> Any:
    """Return the class with this name in files.

    Raises
    ------
    ValueError
        If the table has no such name.
    """
    if name not in _MODULES:
        raise ValueError(
            f"The file holds an object of the class {name!r}, which this version of sk_deltauq "
            "does not know. Update sk_deltauq."
        )
    return getattr(import_module(_MODULES[name]), name.rpartition(".")[2])


@cache
def _names() -> dict[Any, str]:
    return {find_class(name): name for name in _MODULES}


def find_name(cls: type) -> str | None:
    """Return the name of a class in files, None for a class that files cannot hold."""
    return _names().get(cls)
