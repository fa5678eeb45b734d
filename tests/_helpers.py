"""Estimators small enough for tests, and what many tests ask of them."""

import numpy as np

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor

# Not narrower: prediction pads its chunks to a number of floats, and narrow nets have more rows.
TINY = {
    "hidden_layer_sizes": (32,),
    "max_iter": 3,
    "n_anchors": 5,
    "early_stopping": False,
    "random_state": 0,
}
# For tests that need something to be learnt.
LEARN = {"max_iter": 80, "learning_rate_init": 0.03}


def regressor(**params):
    return DeltaUQRegressor(**{**TINY, **params})


def classifier(**params):
    return DeltaUQClassifier(**{**TINY, **params})


ESTIMATORS = [regressor, classifier]


N = 40


def table(dtype=np.float64):
    """Small whole numbers of shape (N, 3), so that any number type holds them."""
    return np.random.default_rng(0).integers(0, 9, size=(N, 3)).astype(dtype)


def target(make):
    """Something to learn from `table` for either estimator."""
    X = table()
    return X[:, 0] - X[:, 1] if make is regressor else np.where(X[:, 0] > X[:, 1], "a", "b")


def answers(model, X):
    """All that a fitted model says about X, by method."""
    parts = {f"predict_uncertainty.{k}": v for k, v in model.predict_uncertainty(X).items()}
    labels_or_mean, std = model.predict(X, return_std=True)
    if isinstance(model, DeltaUQClassifier):
        rest = {
            "predict_proba": model.predict_proba(X),
            "predict_log_proba": model.predict_log_proba(X),
        }
    else:
        rest = {
            "predict_interval": model.predict_interval(X),
            "predict_quantiles": model.predict_quantiles(X, [0.1, 0.5, 0.9]),
            "sample_y": model.sample_y(X, 2, random_state=0),
        }
    return {"predict": labels_or_mean, "std": std, **parts, **rest}


def assert_same_answers(one, other):
    """Equal to the last bit."""
    assert one.keys() == other.keys()
    for method, value in one.items():
        np.testing.assert_array_equal(value, other[method], err_msg=method)


def assert_finite(found):
    for method, value in found.items():
        if method != "predict" or value.dtype.kind == "f":
            assert np.isfinite(value).all(), method
