"""Outlier scores of held-out rows, from the folds of a fit."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0, "n_anchors": 4}


def test_each_held_out_row_has_one_score(regression_data):
    X, y = regression_data
    held = DeltaUQRegressor(**SMALL, n_members=5).fit(X, y)._outliers_.held
    assert len(held.spreads) == len(held.distances) == 60  # five folds of twelve rows
    assert (np.diff(held.spreads) >= 0).all()
    assert (np.diff(held.distances) >= 0).all()


@pytest.mark.parametrize("n_members", [1, 3])
def test_validation_rows_are_compared_with_all_training_rows(regression_data, n_members):
    """All networks hold out the same rows, which are then as new as any other row."""
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, n_members=n_members)
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    held = model._outliers_.held

    def squash(rows):
        z = scale_to_tensor(rows, model.x_scaler_).numpy()
        return z / np.sqrt(1 + (z / 3) ** 2)

    near = NearestNeighbors(n_neighbors=5).fit(squash(X[:40]))
    distances = near.kneighbors(squash(X[40:]))[0].mean(axis=1)
    np.testing.assert_allclose(held.distances, np.sort(distances), rtol=1e-4)
    with torch.inference_mode():
        means = model._predictor().module(scale_to_tensor(X[40:], model.x_scaler_))[0]
    spreads = means[..., 0].numpy().std(axis=0, ddof=1)
    np.testing.assert_allclose(held.spreads, np.sort(spreads), rtol=1e-4)


def test_large_table_keeps_a_sample(monkeypatch):
    monkeypatch.setattr("sk_deltauq._training.held_out_spreads.MOST_ROWS", 20)
    X = np.random.default_rng(0).normal(size=(300, 2))
    held = DeltaUQRegressor(**SMALL, n_members=5).fit(X, X[:, 0])._outliers_.held
    assert len(held.spreads) == len(held.distances) == 20
