"""Early stopping of `DeltaUQRegressor`: when rows are held out, and the best weights."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests._helpers import LEARN, make_sine, regressor


@pytest.mark.parametrize(
    ("n", "params", "holds_out"),
    [
        (1, {}, False),
        (2, {}, True),
        (1, {"n_members": 8}, False),
        (2, {"n_members": 8}, True),
        (39, {"n_members": 8}, True),
        (200, {"early_stopping": False}, False),
        (10, {"early_stopping": True}, True),
    ],
    ids=str,
)
def test_early_stopping_auto_holds_out_rows_from_two_on(n, params, holds_out):
    X, y = make_sine(n)
    model = regressor(**{"max_iter": 1, "early_stopping": "auto", **params}).fit(X, y)
    assert (model.validation_scores_ is not None) == holds_out


def test_rows_without_weight_do_not_count_for_early_stopping_auto():
    X, y = make_sine(30)
    weights = np.r_[np.zeros(29), 1]
    model = regressor(early_stopping="auto")
    assert model.fit(X, y, sample_weight=weights).validation_scores_ is None
    weights[0] = 1
    assert model.fit(X, y, sample_weight=weights).validation_scores_ is not None


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic", None])
def test_the_weights_that_were_best_on_the_held_out_rows_are_kept(noise):
    X, y = make_sine(74, noise=1)  # little to learn, so that it soon overfits
    X, y, held_out = X[:60], y[:60], {"X_val": X[60:], "y_val": y[60:]}  # for one network
    params = {**LEARN, "noise": noise, "early_stopping": True, "tol": 0, "n_iter_no_change": 60}
    model = regressor(**params).fit(X, y, **held_out)
    scores = model.validation_scores_
    assert scores.shape == (model.n_iter_,)
    best = int(scores.argmax())
    assert best < model.n_iter_ - 1, "nothing to restore: the last epoch is the best"
    assert model.best_validation_score_ == scores[best]
    until_best = regressor(**{**params, "max_iter": best + 1}).fit(X, y, **held_out)
    np.testing.assert_array_equal(model.predict(X), until_best.predict(X))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_training_stops_after_n_iter_no_change_epochs_without_improvement(early_stopping):
    X, y = make_sine(60)
    params = {"early_stopping": early_stopping, "max_iter": 50, "n_iter_no_change": 4}
    # Only the first epoch improves, on nothing, by more than this.
    assert regressor(**params, tol=1e9).fit(X, y).n_iter_ == 5
    assert regressor(**params, tol=0).fit(X, y).n_iter_ > 5


@pytest.mark.parametrize(("n_members", "n_networks"), [(3, 10), (12, 12)])
def test_validation_scores_have_one_column_per_network(n_members, n_networks):
    X, y = make_sine(60)
    model = regressor(n_members=n_members, early_stopping=True, max_iter=4).fit(X, y)
    assert model.n_networks_ == n_networks
    assert model.validation_scores_.shape == (4, n_networks)
    np.testing.assert_array_equal(
        model.best_validation_score_, model.validation_scores_.max(axis=0)
    )


def test_convergence_warning_points_at_the_line_that_called_fit(regression_data):
    with pytest.warns(ConvergenceWarning, match="DeltaUQRegressor reached max_iter=3") as caught:
        regressor().fit(*regression_data)
    assert caught[0].filename == __file__
