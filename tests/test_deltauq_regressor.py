"""Predictions and training of `DeltaUQRegressor`."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.datasets import load_wine
from sklearn.exceptions import DataConversionWarning

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.metrics import gaussian_nll
from tests._helpers import (
    LEARN,
    assert_finite,
    assert_same_predictions,
    make_sine,
    predict_all,
    regressor,
)

NOISES = ["heteroscedastic", "homoscedastic", None]


@pytest.fixture(scope="module", params=NOISES, ids=str)
def fitted(request, regression_data):
    """A model of each noise kind, with two members."""
    X, y = regression_data
    return regressor(noise=request.param, n_members=2, max_iter=20).fit(X, y)


@pytest.fixture(scope="module")
def X(regression_data):
    return regression_data[0]


# Shapes and units


@pytest.mark.parametrize("shape", [(), (1,), (2,)], ids=["1-D", "one column", "two columns"])
def test_predictions_have_the_shape_of_y(regression_data, shape):
    X, y = regression_data
    Y = np.tile(y[:, None], (1, *shape)) if shape else y
    if shape == (1,):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            model = regressor().fit(X, Y)
    else:
        model = regressor().fit(X, Y)
    expected = (7, 2) if shape == (2,) else (7,)
    found = predict_all(model, X[:7])
    assert {k: v.shape for k, v in found.items()} == {
        "predict": expected,
        "std": expected,
        "predict_uncertainty.epistemic": expected,
        "predict_uncertainty.aleatoric": expected,
        "predict_uncertainty.total": expected,
        "predict_interval": (*expected, 2),
        "predict_quantiles": (*expected, 3),
        "sample_y": (*expected, 2),
    }
    assert {v.dtype for v in found.values()} == {np.dtype(np.float64)}
    assert_finite(found)
    assert model.n_outputs_ == (2 if shape == (2,) else 1)
    assert model.predict(X[:7]).shape == expected
    assert model.predict_dist(X[:7]).mean.shape == expected
    np.testing.assert_array_equal(model.predict(X[:7]), found["predict"])


@pytest.mark.parametrize("noise", NOISES)
def test_predictions_are_in_the_units_of_y(regression_data, noise):
    X, y = regression_data
    found = predict_all(regressor(noise=noise).fit(X, y), X)
    scaled = predict_all(regressor(noise=noise).fit(X, 1024 * y), X)
    for method in found:
        np.testing.assert_allclose(scaled[method], 1024 * found[method], rtol=1e-12)


def test_each_output_has_its_own_units(regression_data):
    X, y = regression_data
    Y = np.column_stack([y, 1e3 * y[::-1] - 7e5])
    mean, std = regressor(max_iter=30).fit(X, Y).predict(X, return_std=True)
    assert np.all(np.abs(mean - Y.mean(axis=0)) < 3 * Y.std(axis=0))
    ratio = std[:, 1] / std[:, 0]
    assert ratio.min() > 200
    assert ratio.max() < 5000


# Meaning of the predictions


def test_prediction_is_the_papers_equation_6_written_as_a_loop_over_anchors(regression_data):
    X, y = regression_data
    model = regressor(max_iter=10, widening=0).fit(X, y)
    module, scale = model.net_.module_, model.y_scaler_.scale_[0]
    x, anchors = (scale_to_tensor(rows, model.x_scaler_) for rows in (X, model.anchors_))
    means, variances = [], []
    with torch.inference_mode():
        for anchor in anchors:
            raw = module(x.T[None], anchor[:, None].expand(-1, len(x))[None])[0].double()
            means.append(raw[0] * scale + model.y_scaler_.mean_[0])
            variances.append((torch.nn.functional.softplus(raw[1]) + 1e-7) * scale**2)
    means, variances = np.array(means), np.array(variances)
    assert means.shape == (5, 60)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    epistemic = means.std(axis=0, ddof=1)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, epistemic, rtol=1e-3)
    np.testing.assert_allclose(parts.aleatoric**2, variances.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std**2, epistemic**2 + variances.mean(axis=0), rtol=1e-4)


def test_total_variance_is_the_sum_of_its_parts(fitted, X):
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(parts.total**2, parts.epistemic**2 + parts.aleatoric**2, rtol=1e-12)
    np.testing.assert_array_equal(parts.total, fitted.predict(X, return_std=True)[1])
    assert (parts.epistemic > 0).all()
    assert np.ptp(parts.epistemic) > 0
    assert (parts.aleatoric > 0).all() == (fitted.noise is not None)
    if fitted.noise is None:
        np.testing.assert_array_equal(parts.aleatoric, 0)


def test_distribution_agrees_with_the_other_methods(fitted, X):
    dist, found = fitted.predict_dist(X), predict_all(fitted, X)
    # The moments are summed in float32 about one of the components.
    assert (np.abs(dist.mean - found["predict"]) < 1e-6 * dist.std).all()
    np.testing.assert_allclose(dist.std, found["std"], rtol=1e-5)
    for part in ("epistemic", "aleatoric"):
        np.testing.assert_allclose(
            getattr(dist, part), found[f"predict_uncertainty.{part}"], rtol=1e-5
        )
    np.testing.assert_array_equal(dist.interval(0.9), found["predict_interval"])
    np.testing.assert_array_equal(dist.ppf([0.1, 0.5, 0.9]), found["predict_quantiles"])
    np.testing.assert_array_equal(dist.sample(2, random_state=0), found["sample_y"])
    assert dist.n_components == (1 if fitted.noise is None else 10)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_interval_holds_its_coverage_with_equal_tails(fitted, X, coverage):
    lower, upper = fitted.predict_interval(X, coverage=coverage).T
    dist = fitted.predict_dist(X)
    np.testing.assert_allclose(dist.cdf(lower), (1 - coverage) / 2, atol=1e-6)
    np.testing.assert_allclose(dist.cdf(upper), (1 + coverage) / 2, atol=1e-6)


def test_without_a_noise_model_the_distribution_is_one_normal(regression_data):
    X, y = regression_data
    model = regressor(noise=None).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, coverage=0.8).T
    np.testing.assert_allclose(lower, mean + std * norm.ppf(0.1), rtol=1e-7)
    np.testing.assert_allclose(upper, mean + std * norm.ppf(0.9), rtol=1e-7)


def test_quantiles_keep_their_order_and_never_cross(fitted, X):
    levels = np.array([0.9, 0.001, 0.5, 0.25, 0.999])
    quantiles = fitted.predict_quantiles(X, levels)
    order = np.argsort(levels)
    assert (np.diff(quantiles[:, order], axis=1) > 0).all()
    np.testing.assert_array_equal(quantiles[:, [2]], fitted.predict_quantiles(X, 0.5))
    interval = fitted.predict_interval(X, coverage=0.998)
    np.testing.assert_allclose(interval, quantiles[:, [1, 4]], rtol=1e-9)


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan])
def test_impossible_quantiles_and_coverages_are_refused(fitted, X, level):
    with pytest.raises(ValueError, match=r"quantiles must be levels in \[0, 1\]"):
        fitted.predict_quantiles(X, [0.5, level])
    with pytest.raises(ValueError, match="coverage must be one number"):
        fitted.predict_interval(X, coverage=level)


def test_samples_have_the_moments_of_the_prediction(fitted, X):
    n = 4000
    samples = fitted.sample_y(X, n, random_state=3)
    mean, std = fitted.predict(X, return_std=True)
    assert np.abs((samples.mean(axis=1) - mean) / std).max() < 5 / np.sqrt(n)
    np.testing.assert_allclose(samples.std(axis=1), std, rtol=0.1)
    again = fitted.sample_y(X, n, random_state=3)
    np.testing.assert_array_equal(samples, again)
    assert not np.allclose(samples, fitted.sample_y(X, n, random_state=4))
    assert fitted.sample_y(X).shape == (60, 1)


def test_one_component_has_no_epistemic_uncertainty(regression_data):
    X, y = regression_data
    model = regressor(n_anchors=1, widening=0).fit(X, y)
    assert_finite(predict_all(model, X))
    np.testing.assert_array_equal(model.predict_uncertainty(X).epistemic, 0)


# Known functions and noise


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
def test_it_learns_a_make_sine(params):
    X, y = make_sine(160)
    model = regressor(**{**LEARN, **params}).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.85


def test_identity_activation_is_a_linear_model():
    X, y = make_sine()
    model = regressor(**LEARN, activation="identity", embedding=None).fit(X, y)
    a, b = model.predict(X[:20]), model.predict(X[20:40])
    np.testing.assert_allclose(model.predict((X[:20] + X[20:40]) / 2), (a + b) / 2, atol=1e-5)


@pytest.mark.parametrize("level", [pytest.param(0.1, marks=pytest.mark.long), 0.4])
def test_homoscedastic_noise_is_recovered(level):
    X, y = make_sine(200, noise=level)
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


def test_heteroscedastic_noise_is_located():
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


# Continued training


def test_warm_start_continues_from_the_last_weights():
    X, y = make_sine()
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


def test_training_continues_only_with_the_same_columns_and_outputs(regression_data):
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
    X, y = make_sine(480)
    model = regressor(learning_rate_init=0.03, hidden_layer_sizes=(16,), batch_size=12)
    for _ in range(6):
        for rows in np.split(np.arange(480), 8):
            assert model.partial_fit(X[rows], y[rows]) is model
    assert model.n_iter_ == len(model.loss_curve_) == 48
    assert model.score(X, y) > 0.8


def test_anchors_of_a_stream_are_a_sample_of_all_its_rows():
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


def test_a_small_set_does_not_make_it_overconfident():
    # Without a hold-out the variances overfit: NLL 40 on these data, 1.2 for knowing nothing.
    table = load_wine().data
    X, y = table[:, 1:], table[:, 0]
    scores, skill = [], []
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
        skill.append(gaussian_nll(y[test], *marginal))
    assert np.mean(scores) < np.mean(skill) - 0.2
