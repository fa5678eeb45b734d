"""captum: attributions of the mean, the standard deviation and a probability to the features."""

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor

captum = pytest.importorskip("captum.attr")


@pytest.mark.parametrize("name", ["mean", "std", "epistemic"])
def test_attributions_sum_to_the_change_from_the_baseline(regression_data, name):
    X, y = regression_data
    model = DeltaUQRegressor(max_iter=20, random_state=0).fit(X, y)
    module = model.to_torch().double()
    explain = captum.IntegratedGradients(lambda rows: getattr(module(rows), name))
    rows, baseline = torch.tensor(X[:4]), torch.tensor(X.mean(axis=0, keepdims=True))
    found = explain.attribute(rows, baseline, n_steps=200)
    assert found.shape == (4, 3)
    with torch.no_grad():
        change = getattr(module(rows), name) - getattr(module(baseline), name)
    np.testing.assert_allclose(found.sum(dim=1), change, atol=0.02 * np.abs(y).std())


def test_attributions_to_a_constant_feature_are_zero(classification_data):
    X, y = classification_data
    X = np.column_stack([X, np.full(len(X), 3.0)])
    module = DeltaUQClassifier(max_iter=20, random_state=0).fit(X, y).to_torch()
    saliency = captum.Saliency(lambda rows: module(rows).log_proba)
    found = saliency.attribute(torch.tensor(X[:5], requires_grad=True), target=1)
    assert (found[:, :2] != 0).any()
    assert (found[:, 2] == 0).all()
