"""Data, estimators and comparisons for the tests of `save` and `load`."""

import numpy as np
from sklearn.base import is_classifier

import sk_deltauq
from sk_deltauq import baselines, load
from tests._helpers import predict_all

NAMES = ["DeltaUQRegressor", "DeltaUQClassifier", *baselines.__all__]
SMALL = {"hidden_layer_sizes": (16,), "n_members": 2, "n_masks": 5, "n_draws": 5, "n_anchors": 4}
SMALL |= {"max_iter": 3, "random_state": 0, "early_stopping": True, "validation_fraction": 0.5}

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.exp(X[:, 0] + 0.3 * rng.normal(size=N)) + 1
LABELS = np.array(["ash", "beech", "cedar"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]


def estimator(name, **params):
    cls = getattr(sk_deltauq, name, None) or getattr(baselines, name)
    known = cls().get_params()
    return cls(**{key: value for key, value in {**SMALL, **params}.items() if key in known})


def target(model):
    return LABELS if is_classifier(model) else Y


def predict_everything(model, X=X):
    """Collect the outputs of all public prediction methods."""
    found, dist = predict_all(model, X), model.predict_dist(X)
    if is_classifier(model):
        return {**found, "dist": dist.logits}
    found["keywords"] = np.concatenate(
        [part.ravel() for part in model.predict(X, True, coverage=0.8, quantiles=[0.3])]
    )
    for name in ("mean", "std", "epistemic", "aleatoric"):
        found[f"dist.{name}"] = getattr(dist, name)
    for name in ("log_pdf", "cdf", "crps"):
        if hasattr(dist, name):
            found[f"dist.{name}"] = getattr(dist, name)(dist.mean + 0.1)
    if model._conformity_ is not None:
        found["conformal"] = model.predict_interval(X, 0.7, method="conformal")
    return found


def save_and_load(model, folder, **params):
    """Save a model and load it again; `params` are objects of the user for `load`."""
    model.save(folder / "model.safetensors")
    return load(folder / "model.safetensors", **params)


def to_comparable(value):
    """Convert fitted attributes to values that `==` compares."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, dict):
        return {key: to_comparable(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [to_comparable(v) for v in value]
    if type(value).__module__.startswith(("sk_deltauq", "sklearn")):
        return type(value), to_comparable(value.__getstate__())
    return repr(value)
