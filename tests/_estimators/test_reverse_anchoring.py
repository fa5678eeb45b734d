"""Reverse anchoring, row by row through the network."""

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 20, "random_state": 0}


def pair(network, x, c):
    """Raw outputs `(member, output)` of one row `x` with one anchor `c`."""
    shape = (network.core.n_members, -1, -1)
    x, c = (row[:, None].expand(shape) for row in (x, c))
    with torch.inference_mode():
        return network(x, c)[..., 0].double()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_members": 2, "noise": "homoscedastic", "embedding": "sinusoidal"},
        {"refine_mean": True},
    ],
)
def test_the_score_of_a_regressor_is_its_largest_error(regression_data, params):
    X, y = regression_data
    Y = np.column_stack([y, X[:, 0] - X[:, 1]])
    model = DeltaUQRegressor(**{**SMALL, **params}).fit(X, Y)
    trained = model._trained_
    network = trained.net.module_ if trained.refined is None else trained.refined
    train = scale_to_tensor(X, model.x_scaler_)
    targets = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    new = X[:4] + 0.2
    expected = [
        max(
            np.abs(pair(network, x, c)[:, :2].mean(dim=0).numpy() - target).mean()
            for x, target in zip(train, targets, strict=True)
        )
        for c in scale_to_tensor(new, model.x_scaler_)
    ]
    found = model.outlier_score(new, kind="reverse_anchoring")
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_score_of_a_classifier_is_the_mean_loss_of_the_labels(classification_data):
    X, y = classification_data
    model = DeltaUQClassifier(**SMALL, n_members=2).fit(X, y)
    network, train = model.net_.module_, scale_to_tensor(X, model.x_scaler_)
    numbers = np.searchsorted(model.classes_, y)
    new = X[:4] + 1.5
    expected = []
    for c in scale_to_tensor(new, model.x_scaler_):
        proba = [pair(network, x, c).softmax(dim=1).mean(dim=0).numpy() for x in train]
        expected.append(-np.log(np.array(proba)[np.arange(len(X)), numbers]).mean())
    found = model.outlier_score(new, kind="reverse_anchoring")
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_training_rows_are_drawn_by_weight(rng):
    X = rng.normal(size=(400, 2))
    weights = np.where(np.arange(400) < 100, 1.0, 1e-6)
    model = DeltaUQRegressor(**{**SMALL, "max_iter": 2}).fit(X, X[:, 0], weights)
    labelled = model._outliers_.labelled
    chosen = scale_to_tensor(X[:100], model.x_scaler_).numpy()
    assert len(labelled.rows) == 100
    is_heavy = (labelled.rows[:, None] == chosen).all(axis=2).any(axis=1)
    assert is_heavy.mean() > 0.95
    # The targets belong to the rows.
    rows = labelled.rows[:, 0] * model.x_scaler_.scale_[0] + model.x_scaler_.mean_[0]
    targets = labelled.targets[:, 0] * model.y_scaler_.scale_ + model.y_scaler_.mean_
    np.testing.assert_allclose(rows, targets, atol=1e-5)


def test_many_rows_are_scored_in_parts(regression_data, monkeypatch):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, n_anchors=2).fit(X, y)
    whole = model.outlier_score(X, kind="reverse_anchoring")
    monkeypatch.setattr("sk_deltauq._predictor._CHUNK_FLOATS", {"cpu": 64})
    parts = model.outlier_score(X, kind="reverse_anchoring")
    np.testing.assert_allclose(parts, whole, rtol=1e-5)
