"""Probabilistic backpropagation against its paper, computed in a second way."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._predictor import Predictor, compute_moments, spread_components
from sk_deltauq._training.folds import assign_folds
from sk_deltauq.baselines import PBPRegressor, _pbp_training
from sk_deltauq.baselines._pbp_filter import Filter, LinearLayer, Precision, Rectifier
from sk_deltauq.baselines._pbp_moments import network_moments, rectified_moments
from sk_deltauq.baselines._pbp_posterior import Posterior
from sk_deltauq.baselines._pbp_training import Rows
from tests._helpers import list_uncertainty_warnings

TINY = {"hidden_layer_sizes": (16,), "max_iter": 6, "early_stopping": False, "random_state": 0}


def regressor(**params):
    return PBPRegressor(**{**TINY, **params})


def draw_layers(rng, *sizes):
    """Draw means and variances of weights as in a network during training."""
    posterior = Posterior(sizes, rng)
    for mean, var in zip(posterior.means, posterior.variances, strict=True):
        mean += rng.normal(scale=0.5, size=mean.shape)
        var *= rng.uniform(0.02, 0.5, size=var.shape)
    return posterior.means, posterior.variances


# Moments


def integrate_moments(ratio, std):
    """Compute moments of max(0, z) by integration, without underflow of the tail.

    The density of t = z / std is f(ratio) exp(ratio t - t^2 / 2).
    """
    first, second = (
        quad(
            lambda t, k=k: t**k * math.exp(ratio * t - t * t / 2),
            0,
            60,
            limit=400,
            points=[max(ratio, 0.0) + 1 / (1 + abs(ratio))],
            epsabs=0,
            epsrel=1e-12,
        )[0]
        for k in (1, 2)
    )
    peak = math.exp(-ratio * ratio / 2) / math.sqrt(2 * math.pi)
    mean = std * peak * first
    return mean, std**2 * peak * second - mean**2


@pytest.mark.parametrize("ratio", [-36, -20, -8, -3, -1, -0.1, 0, 0.3, 1, 2, 4, 6])
@pytest.mark.parametrize("std", [1e-3, 2.0])
def test_moments_of_a_rectified_normal(ratio, std):
    expected = integrate_moments(ratio, std)
    rectifier = Rectifier(1)
    mean, var, square = rectifier.forward(np.array([ratio * std]), np.array([std**2]))
    np.testing.assert_allclose((mean[0], var[0]), expected, rtol=1e-6)
    np.testing.assert_allclose(square, mean**2 + var)
    assert (mean[1], var[1], square[1]) == (1, 0, 1)  # the bias
    arguments = (torch.tensor(v, dtype=torch.float64) for v in (ratio * std, std**2))
    found = [float(part) for part in rectified_moments(*arguments)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("ratio", "slope"), [(1e2, 1), (1e8, 1), (-1e2, 0), (-1e8, 0)])
def test_far_from_the_kink_a_rectified_normal_is_the_normal_or_zero(ratio, slope):
    mean, var, _ = Rectifier(1).forward(np.array([3 * ratio]), np.array([9.0]))
    np.testing.assert_allclose(mean[0], slope * 3 * ratio)
    np.testing.assert_allclose(var[0], slope * 9.0, rtol=1e-9)


def test_moments_of_a_network_are_the_moments_over_drawn_weights(rng):
    means, variances = draw_layers(rng, 3, 6, 1)
    x, n = rng.normal(size=(4, 3)), 200_000
    first, last = (
        mean + np.sqrt(var) * rng.standard_normal((n, *mean.shape), dtype=np.float32)
        for mean, var in zip(means, variances, strict=True)
    )
    hidden = np.maximum(np.column_stack([x, np.ones(4)]) @ first, 0)  # (draw, row, unit)
    draws = (hidden @ last[:, :-1] + last[:, -1:])[..., 0]
    tensors = [[torch.from_numpy(a) for a in part] for part in (means, variances)]
    mean, var = network_moments(torch.from_numpy(x), *tensors)
    error = draws.std(axis=0) / math.sqrt(n)
    assert (np.abs(draws.mean(axis=0) - mean[:, 0].numpy()) < 4 * error).all()
    np.testing.assert_allclose(var[:, 0], draws.var(axis=0), rtol=0.03)


# Updates


@pytest.mark.parametrize("hidden", [(), (7,), (6, 5)])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_an_update_follows_the_gradients_of_log_z(rng, hidden, weight):
    means, variances = draw_layers(rng, 3, *hidden, 1)
    x, y, noise = rng.normal(size=3), 0.7, Precision(9.0, 4.0)
    leaves = [[torch.tensor(a, requires_grad=True) for a in part] for part in (means, variances)]
    mean, var = (part[0, 0] for part in network_moments(torch.from_numpy(x)[None], *leaves))
    noise_var = 4.0 / (weight * (9.0 + (weight - 1) / 2 - 1))
    log_z = torch.distributions.Normal(mean, (var + noise_var).sqrt()).log_prob(
        torch.tensor(y, dtype=torch.float64)
    )
    log_z.backward()
    row = np.append(x, 1.0)
    log_density = Filter(means, variances, noise).absorb(row, row * row, y, weight)
    for mean, var, m, v in zip(means, variances, *leaves, strict=True):
        g, h = m.grad, v.grad
        np.testing.assert_allclose(mean, (m + v * g).detach(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(var, (v - v**2 * (g**2 - 2 * h)).detach(), rtol=1e-9)
    mean, var = (part.item() for part in (network_moments(torch.from_numpy(x)[None], *leaves)))
    assert log_density == pytest.approx(stats.norm(mean, math.sqrt(var + 0.5)).logpdf(y))


def test_one_weight_with_known_noise_has_the_conjugate_posterior(rng):
    y, bias = rng.normal(loc=2, size=50), np.ones(1)
    mean, var = np.array([[0.0]]), np.array([[4.0]])
    one_row = Filter([mean], [var], Precision(1e6, 1e6)).absorb
    for value in y:
        one_row(bias, bias, value)
    precision = 1 / 4 + len(y)
    np.testing.assert_allclose(var, 1 / precision, rtol=1e-3)
    np.testing.assert_allclose(mean, y.sum() / precision, rtol=1e-3)


def test_the_noise_precision_has_the_moments_that_follow_from_z(rng):
    shape, rate, mean, var, y = 7.0, 3.0, 0.2, 0.4, 1.1

    def z(more):
        return stats.norm(mean, math.sqrt(var + rate / (shape + more - 1))).pdf(y)

    noise = Precision(shape, rate)
    noise.absorb(mean, var, y, 1.0)
    first = z(1) / z(0) * shape / rate
    second = z(2) / z(0) * shape * (shape + 1) / rate**2
    assert noise.shape / noise.rate == pytest.approx(first)
    assert noise.shape * (noise.shape + 1) / noise.rate**2 == pytest.approx(second)


@pytest.mark.parametrize("weight", [1e-6, 0.2, 0.7, 1.0])
def test_a_weight_is_a_power_of_the_likelihood(weight):
    # Without an uncertain mean the exact posterior of the precision is known.
    noise = Precision(200.0, 100.0)
    noise.absorb(0.0, 0.0, 0.8, weight)
    assert noise.shape == pytest.approx(200 + weight / 2, abs=0.01)
    assert noise.rate == pytest.approx(100 + weight * 0.8**2 / 2, abs=0.01)
    assert noise.variance > 0


def test_an_outlier_does_not_change_the_noise_and_keeps_variances_positive(rng):
    means, variances = draw_layers(rng, 2, 4, 1)
    noise, row = Precision(6.0, 1e-9), np.ones(3)
    Filter(means, variances, noise).absorb(row, row, 1e9)
    assert (noise.shape, noise.rate) == (6.0, 1e-9)
    assert all((var > 0).all() and np.isfinite(var).all() for var in variances)
    assert all(np.isfinite(mean).all() for mean in means)


def test_updates_skip_only_weights_that_would_lose_their_variance():
    mean, var = np.zeros((2, 2)), np.array([[1.0, 1.0], [0.1, 0.1]])
    x, d_mean, d_var = np.ones(2), np.array([2.0, 0.5]), np.zeros(2)
    LinearLayer(mean, var).update(x, None, x, d_mean, d_var)
    np.testing.assert_allclose(mean, [[0.0, 0.5], [0.2, 0.05]])
    np.testing.assert_allclose(var, [[1.0, 0.75], [0.06, 0.0975]])


def test_refining_the_prior_replaces_one_factor_at_a_time(rng):
    posterior = Posterior((3, 5, 1), rng)
    for mean, var in zip(posterior.means, posterior.variances, strict=True):
        var *= rng.uniform(0.05, 0.5, var.shape)
        mean *= 10  # large weights: their precision must fall

    def without_factors():
        for mean, var, factors in zip(
            posterior.means, posterior.variances, posterior._factors, strict=True
        ):
            var = var * len(mean)
            precision = 1 / var - factors[..., 0]
            yield precision
            yield mean * math.sqrt(len(mean)) / var - factors[..., 1]

    before = list(without_factors())
    for _ in range(2):
        posterior.refine_prior()
        for found, expected in zip(without_factors(), before, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        added = sum(factors[..., 2:].sum(axis=(0, 1)) for factors in posterior._factors)
        np.testing.assert_allclose(
            added, (posterior.weights.shape - 6, posterior.weights.rate - 6), rtol=1e-6
        )
    assert posterior.weights.variance > 6 / 5


# Fit


def test_rows_of_large_weight_are_absorbed_in_equal_parts():
    rows = Rows(np.arange(4.0)[:, None], np.arange(4.0), np.array([2.0, 1.0, 0.5, 2.5]))
    parts = rows.in_parts()
    np.testing.assert_array_equal(parts.y, [0, 0, 1, 2, 3, 3, 3])
    np.testing.assert_array_equal(parts.x[:, 0], parts.y)
    np.testing.assert_allclose(parts.weights, [1, 1, 1, 0.5, *[2.5 / 3] * 3])


def test_weights_change_the_mean_and_the_noise():
    X, y = np.zeros((60, 1)), np.repeat([0.0, 1.0], 30)
    weights = np.repeat([1.0, 9.0], 30)
    model = regressor(max_iter=20).fit(X, y, sample_weight=weights)
    assert model.predict(X[:1])[0] == pytest.approx(0.9, abs=0.03)
    assert model.noise_std_ == pytest.approx(0.3, abs=0.05)


def test_pbp_learns_a_function_and_its_noise(rng):
    X = rng.uniform(-2, 2, size=(300, 2))
    y = 40 + 10 * np.abs(X[:, 0]) + rng.normal(size=300)
    model = regressor(hidden_layer_sizes=(20,), max_iter=25).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert model.noise_std_ == pytest.approx(1.0, rel=0.6)
    assert -model.predict_dist(X[200:]).log_pdf(y[200:]).mean() < 2.0  # the marginal has 3.2
    far = model.predict_uncertainty(20 * X[:5]).epistemic
    assert (far > 3 * model.predict_uncertainty(X[:5]).epistemic).all()


def test_the_pass_with_the_best_held_out_score_is_kept(regression_data):
    X, y = regression_data
    model = regressor(early_stopping=True, max_iter=60, n_iter_no_change=2).fit(X, y)
    scores = model.validation_scores_
    assert model.n_iter_ == len(scores) == len(model.loss_curve_) < 60
    assert model.best_validation_score_ == scores.max()
    _, ((*held_out,),) = assign_folds(numpy_rng(model.seed_, Stream.FOLDS), len(X), 10, 1)
    found = model.predict_dist(X[held_out]).log_pdf(y[held_out]) + np.log(model.y_scaler_.scale_)
    assert found.mean() == pytest.approx(scores.max(), rel=1e-4)
    # Training for this number of passes leads to the same state.
    few = regressor(early_stopping=True, max_iter=int(scores.argmax()) + 1).fit(X, y)
    np.testing.assert_array_equal(few.predict(X), model.predict(X))


def test_a_warm_start_does_not_end_worse_on_the_held_out_rows(regression_data):
    X, y = regression_data
    model = regressor(early_stopping=True, max_iter=60, warm_start=True).fit(X, y)
    best = model.best_validation_score_
    assert model.fit(X, y).best_validation_score_ >= best


def test_training_stops_when_the_loss_no_longer_falls(regression_data):
    X, y = regression_data
    model = regressor(max_iter=50, tol=0.5, n_iter_no_change=2).fit(X, y)
    assert model.n_iter_ < 10
    assert model.validation_scores_ is model.best_validation_score_ is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_divergence_is_an_error_and_does_not_change_the_estimator(
    regression_data, monkeypatch, bad
):
    model = regressor()
    before = vars(model).copy()
    monkeypatch.setattr(_pbp_training.Filter, "one_pass", lambda *args: bad)
    with pytest.raises(ValueError, match=r"Training diverged: the loss is .* in pass 1"):
        model.fit(*regression_data)
    assert vars(model) == before


@pytest.mark.parametrize("target", [np.zeros(30), np.full(30, 1e9), np.r_[np.zeros(29), 1e6]])
def test_unusual_targets_have_finite_predictions(rng, target):
    X = rng.normal(size=(30, 2)) * [1, 0]
    model = regressor().fit(X, target)
    mean, std = model.predict(np.array([[0.0, 0], [1e9, 1e9]]), return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    if not np.ptp(target):
        np.testing.assert_allclose(mean[0], target[0], atol=1e-30)


# Predictions


def test_a_prediction_is_one_normal_distribution(regression_data):
    X, y = regression_data
    model = regressor().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.aleatoric, model.noise_std_)
    np.testing.assert_allclose(std, np.hypot(parts.epistemic, parts.aleatoric))
    dist = model.predict_dist(X)
    assert dist.n_components == model.n_components_ == 1
    np.testing.assert_allclose(dist.log_pdf(y), stats.norm(mean, std).logpdf(y))
    np.testing.assert_allclose(dist.epistemic, parts.epistemic)
    np.testing.assert_allclose(dist[3:5].aleatoric, parts.aleatoric[3:5])
    interval = model.predict_interval(X, 0.5)
    np.testing.assert_allclose(interval, np.transpose(stats.norm(mean, std).interval(0.5)))


@pytest.mark.parametrize("std_factor", [[1.0, 1.0], [2.0, 0.5]])
def test_components_with_uncertain_means_have_the_variance_of_their_mixture(rng, std_factor):
    means, stds, mean_stds = torch.from_numpy(rng.uniform(1, 2, size=(3, 4, 5, 2)))
    parts = (means, stds, mean_stds)
    y_scaler = StandardScaler().fit([[-1.0, -1.0], [1.0, 1.0]])  # of scale 1
    predictor = Predictor(
        module=lambda x: parts,
        n_components=4,
        width=1,
        device="cpu",
        x_scaler=y_scaler,
        y_scaler=y_scaler,
        ddof=0,
        std_factor=np.array(std_factor),
    )
    x = torch.zeros(5, 2)
    epistemic, aleatoric = compute_moments(predictor, parts, x, ("epistemic", "aleatoric"))
    factor = torch.tensor(std_factor)
    assert (epistemic > factor * means.std(dim=0, correction=0)).all()
    mixture_means, mixture_stds, noise = spread_components(predictor, parts, x)
    total = mixture_means.var(dim=0, correction=0) + mixture_stds.square().mean(dim=0)
    torch.testing.assert_close(total, epistemic.square() + aleatoric.square())
    torch.testing.assert_close(noise, aleatoric)
    expected = factor**2 * (means.var(dim=0, correction=0) + mean_stds.square().mean(dim=0))
    torch.testing.assert_close(epistemic.square(), expected)


def test_components_are_differentiable(regression_data):
    model = regressor(hidden_layer_sizes=(8, 8)).fit(*regression_data)
    x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(model._predictor().module, x.requires_grad_())


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_several_outputs_are_rejected(regression_data, method):
    X, y = regression_data
    model = regressor()
    with pytest.raises(ValueError, match="y must have one output for PBPRegressor, got 2"):
        getattr(model, method)(X, np.column_stack([y, y]))
    assert not get_tags(model).target_tags.multi_output


def test_a_linear_model_has_no_hidden_layer(rng):
    X = rng.normal(size=(200, 2))
    model = regressor(hidden_layer_sizes=()).fit(X, X @ [1.0, -2.0] + 0.1 * rng.normal(size=200))
    np.testing.assert_allclose(model.predict(np.eye(2)), [1, -2], atol=0.1)


@pytest.mark.parametrize(("change", "n_warnings"), [("none", 0), ("more rows", 1), ("partial", 0)])
def test_continuing_on_known_rows_warns(regression_data, change, n_warnings):
    X, y = regression_data
    model = regressor(early_stopping="auto", warm_start=True, max_iter=2).fit(X[:50], y[:50])
    fit = model.partial_fit if change == "partial" else model.fit
    n = 60 if change == "more rows" else 50
    messages = list_uncertainty_warnings(fit, X[:n], y[:n])
    found = [m for m in messages if "without held-out rows" in m or "holds out now" in m]
    assert len(found) == n_warnings
