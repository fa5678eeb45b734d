"""Small estimators of all classes, and the warnings of their fits."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, RegressorMixin

import sk_deltauq
from sk_deltauq import baselines
from sk_deltauq.exceptions import UncertaintyWarning
from tests._helpers import (
    ONE_PER_KIND,
    mark_long,
)

ESTIMATORS = [
    *(getattr(baselines, name) for name in baselines.__all__),
    *(sk_deltauq.DeltaUQRegressor, sk_deltauq.DeltaUQClassifier),
]
CALLER = __file__  # `catch_warnings` calls `fit`
TINY = {
    "hidden_layer_sizes": (8,),
    "max_iter": 4,
    "n_anchors": 4,
    "n_masks": 4,
    "n_draws": 4,
    "n_members": 1,
    "dropout": 0.1,
    "widening": 0,
    "calibrate": False,
    "random_state": 0,
}
REGRESSORS = [cls for cls in ESTIMATORS if issubclass(cls, RegressorMixin)]


def having(parameter, classes=ESTIMATORS):
    """Parametrize `make` by the estimators that have the parameter."""
    found = [cls for cls in classes if parameter in inspect.signature(cls).parameters]
    return pytest.mark.parametrize(
        "make", mark_long(found, ONE_PER_KIND), ids=lambda cls: cls.__name__, indirect=True
    )


def make_factory(cls):
    """Return a factory of small estimators of a class; parameters that it lacks are ignored."""
    known = inspect.signature(cls).parameters

    def build(**params):
        settings = {**TINY, **params}
        return cls(**{name: settings[name] for name in settings if name in known})

    build.is_classifier = issubclass(cls, ClassifierMixin)
    return build


def catch_warnings(fit, *args, **kwargs):
    """Return the `UncertaintyWarning`s of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UncertaintyWarning)
        fit(*args, **kwargs)
    return caught


def make_rows(make, n, n_features=3):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n_features))
    return X, np.arange(n) % 2 if make.is_classifier else X[:, 0] + rng.normal(size=n)
