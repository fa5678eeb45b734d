"""scikit-optimize: our regressors as surrogates, and Bayesian search over their parameters."""

import numpy as np
import pytest

from sk_deltauq import unwrap
from sk_deltauq.metrics import crps_scorer
from tests.works_with._models import make_regressor

skopt = pytest.importorskip("skopt")
acquisition = pytest.importorskip("skopt.acquisition")


def test_surrogate_finds_the_minimum():
    optimizer = skopt.Optimizer(
        [(-2.0, 2.0)],
        base_estimator=make_regressor(max_iter=60),
        n_initial_points=8,
        acq_func="EI",
        acq_optimizer="sampling",
        random_state=0,
    )
    for _ in range(14):
        (x,) = optimizer.ask()
        optimizer.tell([x], (x - 0.5) ** 2)
    result = optimizer.get_result()
    assert abs(result.x[0] - 0.5) < 0.2
    assert type(result.models[-1]) is type(make_regressor())


@pytest.mark.parametrize("acq_func", ["EI", "LCB", "PI"])
def test_gradients_of_the_acquisition(regression, model, acq_func):
    """Against finite differences of skopt's own acquisition, in single precision networks."""
    row, best = regression.X_test[3], regression.y_fit.mean()

    def acquire(x, **params):
        return acquisition.gaussian_acquisition_1D(x, model, best, acq_func, **params)

    _, gradient = acquire(row)
    steps = 1e-2 * np.diag(regression.X_fit.std(axis=0))
    slopes = [
        (acquire(row + h, return_grad=False) - acquire(row - h, return_grad=False)) / (2 * h.sum())
        for h in steps
    ]
    slopes = np.ravel(slopes)
    assert np.abs(gradient - slopes).max() < 0.05 * np.abs(slopes).max()


def test_lbfgs_finds_the_minimum():
    optimizer = skopt.Optimizer(
        [(-2.0, 2.0)],
        base_estimator=make_regressor(max_iter=60),
        n_initial_points=8,
        acq_func="EI",
        acq_optimizer="lbfgs",
        acq_optimizer_kwargs={"n_restarts_optimizer": 2},
        random_state=0,
    )
    for _ in range(14):
        (x,) = optimizer.ask()
        optimizer.tell([x], (x - 0.5) ** 2)
    assert abs(optimizer.get_result().x[0] - 0.5) < 0.2


def test_expected_improvement_uses_our_std(regression, model):
    best = 100.0
    found = acquisition.gaussian_ei(regression.X_test, model, y_opt=best, xi=0)
    # By numerical integration of max(best - y, 0)
    mean, std = model.predict(regression.X_test, return_std=True)
    z = np.linspace(-8, 8, 4001)
    gain = np.maximum(best - (mean[:, None] + std[:, None] * z), 0)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, np.trapezoid(gain * density, z, axis=1), atol=1e-3)


def test_bayesian_search(regression):
    search = skopt.BayesSearchCV(
        make_regressor(max_iter=5),
        {"n_anchors": (3, 8), "alpha": (1e-5, 1e-1, "log-uniform")},
        n_iter=2,
        cv=2,
        scoring=crps_scorer,
        random_state=0,
    ).fit(regression.X_fit, regression.y_fit)
    model, rows = unwrap(search, regression.X_test)
    assert model is search.best_estimator_
    assert model.predict_interval(rows).shape == (56, 2)
