"""Estimators small enough for tests, and what many tests ask of them."""

from dataclasses import replace

import numpy as np
import torch
from sklearn.base import is_classifier

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from sk_deltauq._host import Stream, torch_generators
from sk_deltauq._skorch.training import Training
from sk_deltauq._networks.mlp import EMBEDDINGS
from sk_deltauq._networks.heads import CategoricalHead, GaussianHead

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


def embed(name, n_features, generators=(), members=()):
    """An embedding for networks with these generators, which are these members."""
    return EMBEDDINGS[name](n_features, generators, members)


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
    if is_classifier(model):
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


def assert_stacked_is_alone(make_module, *, kind, hold_out, weighted=False, **settings):
    """Train three members as one stack, and each by itself: they must be the same.

    `make_module(n_outputs, generators, members)` makes a network of two features; `settings` are
    for `Training`. With `hold_out` the members stop early, not all of them at once.
    """
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(90, 2)).astype(np.float32))
    labels = (x[:, 0] > 0).long()
    y = 2 * x[:, :1] if kind == "regressor" else labels.float()[:, None]
    weights = torch.from_numpy(rng.uniform(0.5, 2, 90).astype(np.float32) ** weighted)
    defaults = {
        "n_members": 3,
        "seed": 7,
        "n_folds": 5 if hold_out else 0,
        "max_iter": 40 if hold_out else 10,
        "warn": False,
        "batch_size": 16,
        "learning_rate": "invscaling",
        "learning_rate_init": 0.05,
        "averaging": 2,
        "alpha": 0.01,
        "tol": 1e-4 if hold_out else 0,
        "n_iter_no_change": 2 if hold_out else 10,
        "device": "cpu",
        "net_params": {},
        "verbose": False,
        "name": "test",
    }
    three = Training(**{**defaults, **settings})

    def train(members):
        if kind == "regressor":
            head = GaussianHead(1, noise="homoscedastic", nll_beta=0.5, n_members=len(members))
        else:
            head = CategoricalHead(2)
        generators = torch_generators(7, Stream.WEIGHTS, members)
        module = make_module(head.n_network_outputs, generators, members)
        rows = three.rows(x, y, weights, labels=labels.numpy()).of_members(members)
        training = replace(three, n_members=len(members))
        net = training.new_net(module, head, len(x))
        return net, training.run(net, rows)

    stacked, monitor = train([0, 1, 2])
    lengths = set()
    for member in range(3):
        alone, own_monitor = train([member])
        lengths.add(len(alone.history))
        pairs = zip(stacked.member_tensors(member), alone.member_tensors(0), strict=True)
        for mine, own in pairs:
            torch.testing.assert_close(mine, own, rtol=1e-3, atol=1e-5)
        if hold_out:
            best = monitor.best_scores[member]
            np.testing.assert_allclose(best, own_monitor.best_scores[0], rtol=1e-4)
    if hold_out:
        assert len(lengths) > 1, "all members stop at once: the test shows too little"
        assert len(stacked.history) == max(lengths)
