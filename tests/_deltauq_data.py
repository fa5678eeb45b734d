"""Data, settings and a second route to the logits, for the tests of the DeltaUQ estimators."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

from sk_deltauq._validation import scale_to_tensor

NOISES = ["heteroscedastic", "homoscedastic", None]
TEMPER = {"calibration": "spread", "early_stopping": True}


def sine(n=120, noise=0.1, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n)


def make_separate_classes(n_classes, n=80, seed=0):
    """Return separate classes on a circle, with the labels 0 .. n_classes - 1."""
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centers = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return make_blobs(n, centers=centers, cluster_std=0.6, random_state=seed)


def compute_logits_by_loop(model, X):
    """Compute logits `(component, row, class)` in a loop over anchors, for each network."""
    x, anchors = (scale_to_tensor(rows, model.x_scaler_) for rows in (X, model.anchors_))
    x, n_networks = x.T.expand(model.n_networks_, -1, -1), model.n_networks_
    with torch.inference_mode():
        raw = [
            model.net_.module_(x, anchor[:, None].expand(n_networks, -1, len(X))).transpose(1, 2)
            for anchor in anchors
        ]
    return torch.cat(raw).double().numpy()
