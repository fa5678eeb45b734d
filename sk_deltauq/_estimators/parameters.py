"""What scikit-learn checks of the parameters that all network estimators share."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from sk_deltauq._networks.mlp import ACTIVATIONS, EMBEDDINGS
from sk_deltauq._sklearn import HasMethods, Interval, StrOptions
from sk_deltauq._training.corruption import CORRUPTIONS

# For all estimators.
TABLE_CONSTRAINTS: dict[str, Any] = {
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "missing_values": [StrOptions({"indicator", "error"})],
}

NETWORK_CONSTRAINTS: dict[str, Any] = {
    **TABLE_CONSTRAINTS,
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "n_members": [Interval(Integral, 1, None, closed="left")],
    "embedding": [StrOptions({"auto", *filter(None, EMBEDDINGS)}), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "learning_rate": [StrOptions({"invscaling", "constant"})],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "averaging": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
    "warm_start": ["boolean"],
    "net_params": [dict, None],
    "device": [str],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# For methods that can also train copies of a user's own module.
MODULE_CONSTRAINT: dict[str, Any] = {"module": [callable, None]}

# For Delta-UQ.
ANCHOR_CONSTRAINTS: dict[str, Any] = {
    "anchors": [StrOptions({"neighbours", "random"})],
    "n_anchors": [Interval(Integral, 1, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "neighbor_search": [StrOptions({"approximate", "exact"})],
    "anchor_pool": [Interval(Integral, 2, None, closed="left"), None],
}

# For classifiers, and the name of the option of methods without anchors.
CORRUPTION_CONSTRAINT: list[Any] = [StrOptions(set(CORRUPTIONS)), callable, None]

# For all regressors.
TARGET_CONSTRAINT: dict[str, Any] = {
    "target_transform": [
        StrOptions({"log", "log1p", "yeo-johnson", "quantile", "auto"}),
        HasMethods(["fit", "transform", "inverse_transform"]),
        None,
    ],
}


def read_params(estimator: Any) -> dict[str, Any]:
    """Return all parameters of an estimator of this package by name.

    Unlike `get_params`, it reads those that the `__init__` of a subclass leaves at their defaults.
    """
    return {f.name: getattr(estimator, f.name) for f in fields(estimator) if f.init}


def drop_constraints(constraints: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the constraints without some parameters."""
    return {name: value for name, value in constraints.items() if name not in names}
