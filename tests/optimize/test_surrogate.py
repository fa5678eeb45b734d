"""The recommended estimators: ratios of their errors to their standard deviations, and noise."""

import numpy as np
import pytest

from sk_deltauq.optimize import surrogate


def test_calibrated_surrogate_has_the_largest_std_per_error():
    """One network with random anchors and no hold-out has errors of 10 to 20 times its std."""
    rng = np.random.default_rng(100)
    X, new = rng.uniform(size=(30, 2)), rng.uniform(size=(500, 2))

    def f(X):
        return np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1])

    def measure(model):
        model.fit(X, f(X))
        std = model.predict_uncertainty(new).epistemic
        return np.sqrt(np.mean((f(new) - model.predict(new)) ** 2) / np.mean(std**2))

    assert measure(surrogate(calibrated=True, random_state=0)) < 3
    assert measure(surrogate(random_state=0)) < 7
    assert measure(surrogate(random_state=0).set_params(anchors="random", n_members=1)) > 10


@pytest.mark.parametrize("noisy", [False, True])
def test_surrogate_predicts_noise_on_request(noisy):
    X = np.linspace(0, 1, 20)[:, None]
    model = surrogate(noisy=noisy).fit(X, np.sin(5 * X[:, 0]) + np.tile([0.3, -0.3], 10))
    assert (model.predict_uncertainty(X).aleatoric > 0).all() == noisy
