"""A convolutional network as `module`: anchors are additional channels of the image."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from sk_deltauq import DeltaUQClassifier


def make_network(in_features, out_features):
    """A small convolutional network on 8 x 8 images; `[c, x - c]` are two channels."""
    return nn.Sequential(
        nn.Unflatten(1, (in_features // 64, 8, 8)),
        nn.Conv2d(in_features // 64, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 16, out_features),
    )


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:250], y[:250], X[250:500], y[250:500]


@pytest.fixture(scope="module")
def model(digits):
    params = {"max_iter": 15, "n_anchors": 5, "anchor_corruption": "noise", "random_state": 0}
    return DeltaUQClassifier(module=make_network, early_stopping=True, **params).fit(*digits[:2])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_convolutional_network_learns_digits(model, digits):
    _, _, X, y = digits
    assert model.score(X, y) > 0.8
    noise = np.random.default_rng(0).uniform(0, 16, size=X.shape)
    assert model.outlier_score(noise).min() > np.median(model.outlier_score(X))
    sets = model.predict_set(X, allow_empty=False)
    assert sets[np.arange(len(y)), y].mean() > 0.8
    found = model.to_torch()(torch.from_numpy(X))
    np.testing.assert_allclose(found.proba, model.predict_proba(X), rtol=1e-5, atol=1e-9)
