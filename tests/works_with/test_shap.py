"""shap: which features make the standard deviation large."""

from math import factorial

import numpy as np
import pytest

from tests.works_with._models import make_regressor

shap = pytest.importorskip("shap")


@pytest.fixture
def four_features(regression):
    """Rows with four features, because their 16 coalitions can be listed."""
    columns = [2, 3, 8, 9]
    return regression.X_fit[:, columns], regression.y_fit, regression.X_test[:2, columns]


def test_shap_values_of_the_std_are_exact(four_features):
    X, y, rows = four_features
    model = make_regressor().fit(X, y)

    def predict_std(X):
        return model.predict(X, return_std=True)[1]

    background = X[:10]
    explanation = shap.Explainer(predict_std, background, algorithm="exact")(rows)
    # Shapley values by their definition: the mean gain over all coalitions of the other features
    for i, row in enumerate(rows):
        value = {}
        for number in range(16):
            inside = [bool(number >> j & 1) for j in range(4)]
            value[number] = predict_std(np.where(inside, row, background)).mean()
        for j in range(4):
            gain = 0.0
            for number in range(16):
                if not number >> j & 1:
                    size = number.bit_count()
                    weight = factorial(size) * factorial(3 - size) / factorial(4)
                    gain += weight * (value[number | 1 << j] - value[number])
            assert explanation.values[i, j] == pytest.approx(gain, abs=1e-3)


def test_shap_values_of_the_epistemic_std_sum_to_the_std(regression, model):
    def predict_epistemic(X):
        return model.predict_uncertainty(X).epistemic

    explainer = shap.KernelExplainer(predict_epistemic, regression.X_fit[:10])
    values = explainer.shap_values(regression.X_test[:2], nsamples=100, silent=True)
    total = explainer.expected_value + values.sum(axis=1)
    np.testing.assert_allclose(total, predict_epistemic(regression.X_test[:2]), rtol=1e-4)
