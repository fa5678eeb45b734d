"""Weights and scores at the end of a fit."""

import numpy as np
import pytest
from scipy.stats import norm

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq.baselines import DeepEnsembleRegressor


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    return X, X[:, 0] + 0.3 * rng.normal(size=100)


def held_out_scores(model, X, y, n_folds):
    """Mean log density of each network on its held-out rows, in units of the scaled target."""
    rng = numpy_rng(model.seed_, Stream.FOLDS)
    _, held_out = assign_folds(rng, len(X), n_folds, model.n_networks_)
    dist = model.predict_dist(X)  # one component per network
    log_density = norm.logpdf(y, dist.means, dist.stds) + np.log(model.y_scaler_.scale_)
    return np.array([log_density[m, rows].mean() for m, rows in enumerate(held_out)])


@pytest.mark.parametrize(("n_members", "n_networks"), [(1, 3), (5, 5)])
@pytest.mark.parametrize("averaging", [1, 5])
def test_fit_ends_with_the_best_weights_of_each_network(data, n_members, n_networks, averaging):
    X, y = data
    params = {"learning_rate_init": 0.05, "averaging": averaging, "calibrate": False}
    model = DeepEnsembleRegressor(n_members=n_members, **params, random_state=0).fit(X, y)
    scores, best = model.validation_scores_, model.best_validation_score_
    assert scores.shape == (model.n_iter_, n_networks)
    np.testing.assert_array_equal(best, scores.max(axis=0))
    assert (scores.argmax(axis=0) < len(scores) - 5).all(), "the best weights must not be the last"
    np.testing.assert_allclose(held_out_scores(model, X, y, n_folds=5), best, rtol=1e-4)


def test_warm_fit_without_progress_keeps_its_initial_weights(data):
    X, y = data
    model = DeepEnsembleRegressor(n_members=2, calibrate=False, random_state=0, warm_start=True)
    before = held_out_scores(model.fit(X, y), X, y, n_folds=5)
    model.set_params(learning_rate_init=3.0, max_iter=5, averaging=1).fit(X, y)
    after = held_out_scores(model, X, y, n_folds=5)
    assert (model.validation_scores_[-1] < before).all(), "the steps should be harmful"
    assert (after >= before - 1e-4).all()


def test_fit_without_hold_out_ends_with_the_last_weights(data):
    X, y = data
    params = {"early_stopping": False, "tol": 0.0, "averaging": 1, "random_state": 0}
    model = DeepEnsembleRegressor(max_iter=7, **params).fit(X, y)
    assert model.n_iter_ == 7
    assert model.validation_scores_ is model.best_validation_score_ is None
    other = DeepEnsembleRegressor(max_iter=6, **params).fit(X, y)
    assert not np.allclose(model.predict(X), other.predict(X))
