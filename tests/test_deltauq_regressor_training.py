"""`DeltaUQRegressor`: what it learns, early stopping, and continued training."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.metrics import gaussian_nll
from tests._deltauq_data import NOISES, sine
from tests._helpers import LEARN, assert_same_predictions, predict_all, regressor

# What the model learns


@pytest.mark.parametrize(
    "params",
    [
        *({"noise": noise} for noise in NOISES),
        *({"embedding": name} for name in (None, "periodic")),
        *({"activation": name} for name in ("tanh", "logistic")),
        *(pytest.param({"activation": name}, marks=pytest.mark.long) for name in ("silu", "gelu")),
        pytest.param({"nll_beta": 0}, marks=pytest.mark.long),
        {"nll_beta": 1},
        {"hidden_layer_sizes": (16, 8)},
        {"n_members": 3},
        {"alpha": 0.1},
        {"early_stopping": True},
    ],
    ids=str,
)
def test_regressor_learns_a_sine(params):
    X, y = sine(160)
    model = regressor(**{**LEARN, **params}).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.85


def test_identity_activation_is_a_linear_model():
    X, y = sine()
    model = regressor(**LEARN, activation="identity", embedding=None).fit(X, y)
    a, b = model.predict(X[:20]), model.predict(X[20:40])
    np.testing.assert_allclose(model.predict((X[:20] + X[20:40]) / 2), (a + b) / 2, atol=1e-5)


@pytest.mark.parametrize("level", [pytest.param(0.1, marks=pytest.mark.long), 0.4])
def test_homoscedastic_noise_is_recovered(level):
    X, y = sine(200, noise=level)
    Y = np.column_stack([y, 100 * y])
    settings = {**LEARN, "max_iter": 200, "n_iter_no_change": 200, "noise": "homoscedastic"}
    one = regressor(**settings).fit(X, y)
    assert isinstance(one.noise_std_, float)
    assert 0.6 * level < one.noise_std_ < 1.5 * level
    np.testing.assert_allclose(one.predict_uncertainty(X).aleatoric, one.noise_std_, rtol=1e-5)
    two = regressor(**settings).fit(X, Y)
    assert two.noise_std_.shape == (2,)
    assert (two.noise_std_ / [level, 100 * level] < 1.5).all()
    assert (two.noise_std_ / [level, 100 * level] > 0.6).all()
    assert not hasattr(regressor().fit(X, y), "noise_std_")


def test_heteroscedastic_noise_is_found_where_it_is_large():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(240, 1))
    y = X[:, 0] + np.where(X[:, 0] > 0, 0.5, 0.02) * rng.standard_normal(240)
    aleatoric = regressor(**LEARN).fit(X, y).predict_uncertainty([[-0.5], [0.5]]).aleatoric
    assert aleatoric[1] > 3 * aleatoric[0]
    assert 0.3 < aleatoric[1] < 0.8


def test_attributes_describe_the_fit(regression_data):
    X, y = regression_data
    model = regressor(n_members=3, max_iter=8, early_stopping=False).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) == 8
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.n_components_ == 15
    assert model.validation_scores_ is model.best_validation_score_ is None
    assert model.n_features_in_ == 3
    rows = {tuple(row) for row in X}
    anchors = {tuple(row) for row in model.anchors_}
    assert len(anchors) == 5, "the same row twice"
    assert anchors < rows


# Early stopping


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
def test_early_stopping_auto_holds_out_rows_if_there_are_at_least_two(n, params, holds_out):
    X, y = sine(n)
    model = regressor(**{"max_iter": 1, "early_stopping": "auto", **params}).fit(X, y)
    assert (model.validation_scores_ is not None) == holds_out


def test_rows_without_weight_do_not_count_for_early_stopping_auto():
    X, y = sine(30)
    weights = np.r_[np.zeros(29), 1]
    model = regressor(early_stopping="auto")
    assert model.fit(X, y, sample_weight=weights).validation_scores_ is None
    weights[0] = 1
    assert model.fit(X, y, sample_weight=weights).validation_scores_ is not None


@pytest.mark.parametrize("noise", NOISES)
def test_best_weights_on_held_out_rows_are_restored(noise):
    X, y = sine(74, noise=1)  # little to learn, so that it soon overfits
    X, y, held_out = X[:60], y[:60], {"X_val": X[60:], "y_val": y[60:]}  # one network
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
    X, y = sine(60)
    params = {"early_stopping": early_stopping, "max_iter": 50, "n_iter_no_change": 4}
    # With this tolerance, only the first epoch counts as an improvement.
    assert regressor(**params, tol=1e9).fit(X, y).n_iter_ == 5
    assert regressor(**params, tol=0).fit(X, y).n_iter_ > 5


@pytest.mark.parametrize(("n_members", "n_networks"), [(3, 10), (12, 12)])
def test_validation_scores_have_one_column_per_network(n_members, n_networks):
    X, y = sine(60)
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


# Continued training


def test_warm_start_continues_from_the_last_weights():
    X, y = sine()
    model = regressor(**LEARN, warm_start=True, early_stopping=False).fit(X, y)
    first_loss, before = model.loss_curve_, model.predict(X)
    model.set_params(learning_rate_init=1e-12, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), before, atol=1e-6)
    assert model.loss_curve_[0] < first_loss[0] - 0.1
    model.set_params(warm_start=False, learning_rate_init=0.03).fit(X, y)
    assert model.loss_curve_[0] == pytest.approx(first_loss[0])


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_layer_sizes": (9,)},
        {"activation": "tanh"},
        {"embedding": "periodic"},
        {"n_members": 2},
        {"noise": None},
        {"module": torch.nn.Linear},
    ],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_training_cannot_continue_with_another_architecture(regression_data, change, method):
    X, y = regression_data
    model = regressor(warm_start=True).fit(X, y)
    before = predict_all(model, X)
    model.set_params(**change)
    with pytest.raises(ValueError, match=f"another {next(iter(change))}"):
        getattr(model, method)(X, y)
    model.set_params(**{name: regressor().get_params()[name] for name in change})
    assert_same_predictions(predict_all(model, X), before)


def test_continued_training_requires_the_same_columns_and_outputs(regression_data):
    X, y = regression_data
    model = regressor(warm_start=True).fit(X, y)
    before = predict_all(model, X)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="1 outputs, as in the first fit, got 2"):
            fit(X, np.column_stack([y, y]))
        with pytest.raises(ValueError, match="2 features"):
            fit(X[:, :2], y)
    assert_same_predictions(predict_all(model, X), before)


def test_partial_fit_learns_from_a_stream():
    X, y = sine(480)
    model = regressor(learning_rate_init=0.03, hidden_layer_sizes=(16,), batch_size=12)
    for _ in range(6):
        for rows in np.split(np.arange(480), 8):
            assert model.partial_fit(X[rows], y[rows]) is model
    assert model.n_iter_ == len(model.loss_curve_) == 48
    assert model.score(X, y) > 0.8


def test_anchors_of_partial_fit_are_a_sample_of_the_rows_of_all_calls():
    X = np.arange(120.0)[:, None]
    from_each = np.zeros(5, dtype=int)
    for seed in range(8):
        model = regressor(n_anchors=30, random_state=seed)
        for rows in np.split(np.arange(120), 5):
            model.partial_fit(X[rows], X[rows, 0])
        assert len(np.unique(model.anchors_)) == 30
        from_each += np.bincount((model.anchors_[:, 0] // 24).astype(int), minlength=5)
    # 48 expected from each part of the stream, with a standard deviation of 5.4.
    assert from_each.sum() == 240
    assert from_each.min() > 26
    assert from_each.max() < 70


def test_partial_fit_continues_from_fit(regression_data):
    X, y = regression_data
    model = regressor(learning_rate_init=1e-12).fit(X, y)
    before, scale = model.net_.module_.core.first.weight.detach().clone(), model.x_scaler_.scale_
    model.partial_fit(X[:10] * 100, y[:10])
    np.testing.assert_array_equal(model.x_scaler_.scale_, scale)
    np.testing.assert_allclose(model.net_.module_.core.first.weight.detach(), before, atol=1e-10)
    assert model.n_iter_ == 4


def test_predictions_on_a_small_data_set_are_not_overconfident():
    # Without held-out rows the variances overfit: the NLL is 40, and 1.2 for a constant model.
    table = load_wine().data
    X, y = table[:, 1:], table[:, 0]
    scores, marginal_scores = [], []
    for seed in range(100, 103):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:142], order[142:]
        mean, std = (
            DeltaUQRegressor(n_members=5, random_state=seed)
            .fit(X[train], y[train])
            .predict(X[test], return_std=True)
        )
        scores.append(gaussian_nll(y[test], mean, std))
        marginal = np.full(len(test), y[train].mean()), np.full(len(test), y[train].std())
        marginal_scores.append(gaussian_nll(y[test], *marginal))
    assert np.mean(scores) < np.mean(marginal_scores) - 0.2
