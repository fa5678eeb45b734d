"""Refinement after early stopping: it changes only the means and their spread."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._methods.dropout import RATES
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq.baselines import (
    AnchorEnsembleRegressor,
    DeepEnsembleRegressor,
    MCDropoutRegressor,
    VariationalBNNRegressor,
)
from tests._helpers import assert_same_predictions, mark_long, predict_all

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 25, "n_iter_no_change": 5, "random_state": 0}
CLASSES = [
    DeltaUQRegressor,
    AnchorEnsembleRegressor,
    DeepEnsembleRegressor,
    MCDropoutRegressor,
    VariationalBNNRegressor,
]


@pytest.fixture(scope="module")
def data():
    return make_friedman1(300, noise=0.5, random_state=0)


@pytest.fixture(
    scope="module", params=mark_long(CLASSES, {"DeltaUQRegressor", "DeepEnsembleRegressor"})
)
def pair(request, data):
    """The same model with and without refinement."""
    return [request.param(refine_mean=refine, **SMALL).fit(*data) for refine in (False, True)]


def test_refinement_changes_only_the_means(pair, data):
    X, _ = data
    plain, refined = pair
    assert not plain.mean_refined_
    assert refined.mean_refined_
    assert np.abs(refined.predict(X) - plain.predict(X)).max() > 0.01
    parts = [model.predict_uncertainty(X).aleatoric for model in pair]
    np.testing.assert_allclose(*parts, rtol=1e-6)
    for name in ("std_factor_", "noise_factor_", "outlier_scale_", "n_iter_", "loss_curve_"):
        assert getattr(refined, name) == getattr(plain, name), name


def test_refined_means_are_more_accurate(pair, data):
    X, y = make_friedman1(2000, noise=0, random_state=1)
    plain, refined = (np.mean((model.predict(X) - y) ** 2) for model in pair)
    assert refined < plain


def test_refinement_does_not_change_conformal_intervals(pair, data):
    X, _ = data
    plain, refined = (model.predict_interval(X[:30], method="conformal") for model in pair)
    np.testing.assert_array_equal(refined, plain)


def test_conformalize_centres_intervals_at_the_refined_means(data):
    X, y = data
    model = DeltaUQRegressor(refine_mean=True, **SMALL).fit(X[:250], y[:250])
    model.conformalize(X[250:], y[250:])
    bounds = model.predict_interval(X[:30], method="conformal")
    np.testing.assert_allclose(bounds.mean(axis=1), model.predict(X[:30]), rtol=1e-6)


def test_partial_fit_continues_from_the_stopped_networks(data):
    X, y = data
    models = [
        DeltaUQRegressor(refine_mean=refine, warm_start=True, **SMALL).fit(X, y)
        for refine in (False, True)
    ]
    for model in models:
        model.partial_fit(X, y)
    assert not models[1].mean_refined_
    assert_same_predictions(*(predict_all(model, X[:50]) for model in models))


def test_no_refinement_if_held_out_errors_rise():
    """On this set the squared error of held-out rows rises by half after the best epoch."""
    X, y = load_diabetes(return_X_y=True)
    model = DeltaUQRegressor(n_members=3, max_iter=60, refine_mean=True, random_state=0)
    assert not model.fit(X[:300], y[:300]).mean_refined_


@pytest.mark.parametrize("seed", [3, 10])
def test_errors_of_the_selected_dropout_rate_decide_on_refinement(seed, monkeypatch):
    """With `dropout="auto"`, the errors of all rates together would decide differently."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    y = X[:, 0] + np.sin(2 * X[:, 1]) * (1 + seed % 3)
    y += (0.2 + 0.1 * seed) * rng.normal(size=200)
    seen, measure = [], HoldOut.measure_errors

    def spy(self, net):
        seen.append(measure(self, net))
        return seen[-1]

    monkeypatch.setattr(HoldOut, "measure_errors", spy)
    model = MCDropoutRegressor(
        dropout="auto", refine_mean=True, random_state=seed, max_iter=150
    ).fit(X, y)
    last, best = (errors.reshape(model.n_networks_, -1) for errors in seen)
    chosen = RATES.index(model.dropout_)
    rise = last[:, chosen].mean() / best[:, chosen].mean()
    assert model.mean_refined_ == (rise <= 1.25)
    assert (last.mean() / best.mean() <= 1.25) != model.mean_refined_


@pytest.mark.parametrize("changes", [{"noise": None}, {"early_stopping": False}])
def test_no_refinement_without_noise_model_or_early_stopping(changes, data):
    model = DeltaUQRegressor(refine_mean=True, **{**SMALL, **changes}).fit(*data)
    assert not model.mean_refined_


@pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
def test_no_refinement_after_max_time(data):
    model = DeltaUQRegressor(refine_mean=True, max_time=1e-3, **SMALL).fit(*data)
    assert not model.mean_refined_


def test_refinement_keeps_homoscedastic_noise(data):
    X, _ = data
    plain, refined = (
        DeltaUQRegressor(refine_mean=refine, noise="homoscedastic", **SMALL).fit(*data)
        for refine in (False, True)
    )
    assert refined.noise_std_ == plain.noise_std_
    assert np.abs(refined.predict(X) - plain.predict(X)).max() > 0.01
