"""The posterior against `predict_uncertainty`, closed forms and finite differences."""

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qLowerBoundMaxValueEntropy,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
from botorch.exceptions.errors import UnsupportedError
from botorch.generation import MaxPosteriorSampling
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
from linear_operator.utils.warnings import NumericalWarning
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize import BoTorchModel, surrogate

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 40, "random_state": 0}
ESTIMATORS = [
    surrogate(random_state=0).set_params(max_iter=10),
    DeltaUQRegressor(**SMALL),
    DeltaUQRegressor(**SMALL, noise=None, widening=0.0, early_stopping=False),
    baselines.DeepEnsembleRegressor(**SMALL, n_members=3),
    baselines.DeepEnsembleRegressor(**SMALL, n_members=1, noise=None, early_stopping=False),
    baselines.MCDropoutRegressor(**SMALL, n_masks=10, dropout=0.1),
    baselines.AnchorEnsembleRegressor(**SMALL, n_members=3),
    baselines.VariationalBNNRegressor(**SMALL, n_draws=10),
    baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=3, random_state=0),
]
BOX = torch.tensor([[0.0, 0.0], [1.0, 10.0]], dtype=torch.float64)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2)) * [1, 10]
    return X, 50 * np.sin(4 * X[:, 0]) + X[:, 1] + rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    X, y = draw(40)
    return DeltaUQRegressor(**SMALL, n_members=2).fit(X, y)


@pytest.fixture(scope="module")
def model(fitted):
    return BoTorchModel(fitted)


@pytest.fixture(scope="module")
def points():
    return torch.tensor(draw(6, seed=1)[0])


# One network without noise has no variance, and GPyTorch warns that it takes its least one.
@pytest.mark.filterwarnings("ignore:Negative variance values detected")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_means_and_variances_equal_the_estimator(estimator, points):
    estimator.fit(*draw(40))
    wide = torch.cat([points, torch.tensor([[3.0, -20.0]], dtype=torch.float64)])  # and far away
    mean, parts = estimator.predict(wide.numpy()), estimator.predict_uncertainty(wide.numpy())
    # `predict` computes in float32, and GPyTorch has a least variance of 1e-10.
    near = {"rtol": 1e-3, "atol": max(1e-3 * parts.total.max(), 2e-5)}
    for kind in ("normal", "components"):
        model = BoTorchModel(estimator, posterior=kind)
        found = model.posterior(wide.requires_grad_())
        assert found.mean.dtype == torch.float64
        np.testing.assert_allclose(found.mean.detach()[:, 0], mean, rtol=1e-3, atol=5e-3)
        if kind == "normal":
            std = found.variance.detach().sqrt()[:, 0]
            np.testing.assert_allclose(std, parts.epistemic, **near)
        gradient = torch.autograd.grad(found.variance.sum() + found.mean.sum(), wide)[0]
        assert gradient.isfinite().all()
    noisy = BoTorchModel(estimator).posterior(wide, observation_noise=True)
    np.testing.assert_allclose(noisy.variance.detach().sqrt()[:, 0], parts.total, **near)


def test_components_have_the_epistemic_variance(fitted, points):
    parts = fitted.predict_uncertainty(points.numpy())
    found = BoTorchModel(fitted, posterior="components").posterior(points)
    assert found.values.shape == (fitted.n_components_, 6, 1)
    np.testing.assert_allclose(found.variance.sqrt()[:, 0], parts.epistemic, rtol=1e-3)


def test_covariance_equals_the_covariance_of_the_functions(points):
    estimator = DeltaUQRegressor(**SMALL, widening=0.0).fit(*draw(40))
    functions = estimator.to_torch().double()(points).functions.numpy()  # (component, point)
    expected = np.cov(functions.T, ddof=0)
    found = BoTorchModel(estimator).posterior(points).distribution.covariance_matrix.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())


def test_inflation_keeps_the_correlations(points):
    settings = {"noise": None, "early_stopping": False, "widening": 5.0}
    estimator = DeltaUQRegressor(**SMALL, **settings).fit(*draw(40))
    far = points + torch.tensor([0.6, 0.0])
    functions = estimator.to_torch().double()(far).functions.numpy()
    found = BoTorchModel(estimator).posterior(far).distribution.covariance_matrix.numpy()
    std = np.sqrt(np.diag(found))
    assert (std > 1.1 * functions.std(axis=0)).any()  # there is inflation to speak of
    np.testing.assert_allclose(found / np.outer(std, std), np.corrcoef(functions.T), atol=1e-4)


def test_a_latent_model_predicts_the_transformed_target(points):
    X, y = draw(40)
    y = np.exp(y / 50)
    transformed = DeltaUQRegressor(**SMALL, target_transform="log").fit(X, y)
    plain = DeltaUQRegressor(**SMALL).fit(X, np.log(y))
    found, expected = BoTorchModel(transformed, latent=True), BoTorchModel(plain, latent=True)
    found, expected = (model.posterior(points) for model in (found, expected))
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.variance, expected.variance, rtol=1e-2, atol=1e-6)


def test_batches_are_independent_problems(model, points):
    batch = points.reshape(3, 1, 2, 2)
    found = model.posterior(batch)
    assert found.mean.shape == found.variance.shape == (3, 1, 2, 1)
    assert found.rsample(torch.Size([5])).shape == (5, 3, 1, 2, 1)
    for i in range(3):
        alone = model.posterior(batch[i, 0]).distribution
        torch.testing.assert_close(found.mean[i, 0, :, 0], alone.mean)
        covariance = found.distribution.covariance_matrix[i, 0]
        torch.testing.assert_close(covariance, alone.covariance_matrix)


def test_the_model_is_a_copy(fitted, points):
    estimator = DeltaUQRegressor(**SMALL).fit(*draw(40))
    model = BoTorchModel(estimator)
    before = model.posterior(points).mean
    estimator.set_params(random_state=1).fit(*draw(30, seed=3))
    assert torch.equal(model.posterior(points).mean, before)


# Acquisition functions


def test_log_ei_is_the_closed_form_and_has_its_gradient(model, fitted, points):
    best = 30.0
    found = LogExpectedImprovement(model, best)(points.unsqueeze(1))
    posterior = model.posterior(points.unsqueeze(1))
    mean, std = posterior.mean[:, 0, 0].numpy(), posterior.variance.sqrt()[:, 0, 0].numpy()
    z = (mean - best) / std
    expected = std * (z * norm.cdf(z) + norm.pdf(z))
    np.testing.assert_allclose(found.exp(), expected, rtol=1e-6)
    # In a box without kinks of relu, differences are exact enough.
    acquisition, x = LogExpectedImprovement(model, best), points[:1, None].clone()
    gradient = torch.autograd.grad(acquisition(x.requires_grad_()).sum(), x)[0][0, 0]
    for i, step in enumerate(torch.eye(2, dtype=torch.float64)[:, None, None] * 1e-6):
        difference = (acquisition(x + step) - acquisition(x - step)) / 2e-6
        assert gradient[i].item() == pytest.approx(difference.item(), rel=1e-3, abs=1e-4)


def test_ucb_is_mean_plus_std(model, points):
    posterior = model.posterior(points.unsqueeze(1))
    found = UpperConfidenceBound(model, 4.0)(points.unsqueeze(1))
    expected = posterior.mean + 2 * posterior.variance.sqrt()
    torch.testing.assert_close(found, expected[:, 0, 0])


def test_monte_carlo_functions_of_one_point_agree_with_the_closed_forms(model, points):
    sampler = SobolQMCNormalSampler(torch.Size([4096]), seed=0)
    best = model.posterior(points).mean.median()
    x = points.unsqueeze(1)
    pairs = [
        (
            qLogExpectedImprovement(model, best, sampler=sampler),
            LogExpectedImprovement(model, best),
        ),
        (qUpperConfidenceBound(model, 4.0, sampler=sampler), UpperConfidenceBound(model, 4.0)),
    ]
    for sampled, exact in pairs:
        likely = exact(x) > exact(x).median()
        torch.testing.assert_close(sampled(x)[likely], exact(x)[likely], rtol=0.05, atol=0.05)
    mean = model.posterior(x).mean[:, 0, 0]
    torch.testing.assert_close(qSimpleRegret(model, sampler=sampler)(x), mean, rtol=0.02, atol=0.1)


def test_a_pending_point_takes_the_improvement_of_its_copy(model, points):
    best = model.posterior(points).mean.median()
    x = points[:1].unsqueeze(1)
    sampler = SobolQMCNormalSampler(torch.Size([512]), seed=0)
    free = qLogExpectedImprovement(model, best, sampler=sampler)
    taken = qLogExpectedImprovement(model, best, sampler=sampler, X_pending=points[:1])
    other = qLogExpectedImprovement(model, best, sampler=sampler, X_pending=points[1:2])
    # The joint improvement of a point and its copy is the improvement of the point.
    assert taken(x).item() == pytest.approx(free(x).item(), abs=0.05)
    assert other(x).item() > taken(x).item()


def test_noisy_ei_counts_the_improvement_over_the_baseline(model, points):
    acquisition = qLogNoisyExpectedImprovement(
        model,
        points[:3],
        sampler=SobolQMCNormalSampler(torch.Size([256]), seed=0),
        prune_baseline=False,
        cache_root=False,
    )
    values = acquisition(points.unsqueeze(1))
    assert values.isfinite().all()
    assert values[:3].max() < values[3:].max()  # a point of the baseline cannot improve on it


def test_gibbon_and_its_pending_points(model, points):
    candidates = torch.rand(200, 2, dtype=torch.float64) * BOX[1]
    x = points.unsqueeze(1)
    torch.manual_seed(0)
    free = qLowerBoundMaxValueEntropy(model, candidates)(x)
    torch.manual_seed(0)
    held = qLowerBoundMaxValueEntropy(model, candidates, X_pending=points[:1])(x)
    assert free.isfinite().all()
    assert (free > 0).any()
    assert (held < free + 1e-9).all()  # a point that is known from another one brings less
    assert held[0] < free[0]


@pytest.mark.parametrize("q", [1, 3])
def test_optimize_acqf(model, q):
    best = model.posterior(torch.tensor(draw(40)[0])).mean.max()
    torch.manual_seed(0)
    acquisition = qLogExpectedImprovement(
        model, best, sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0)
    )
    options = {"maxiter": 10}
    x, value = optimize_acqf(acquisition, BOX, q, 2, 32, options=options, sequential=q > 1)
    assert x.shape == (q, 2)
    assert ((BOX[0] <= x) & (x <= BOX[1])).all()
    assert value.isfinite().all()


def test_thompson_sampling_takes_one_function_per_sample(fitted, points):
    model = BoTorchModel(fitted, posterior="components")
    values = model.posterior(points).values[..., 0]  # (component, point)
    drawn = model.posterior(points).rsample(torch.Size([20]))[..., 0]
    assert all((values == one).all(dim=1).any() for one in drawn)
    chosen = MaxPosteriorSampling(model, replacement=True)(points, num_samples=8)
    winners = points[values.argmax(dim=1).unique()]
    assert all((winners == x).all(dim=1).any() for x in chosen)


def test_a_sampled_function_is_one_component_everywhere(fitted, points):
    model = BoTorchModel(fitted)
    values = BoTorchModel(fitted, posterior="components").posterior(points).values[..., 0]
    samples = [model.sample_function(seed)(points)[:, 0] for seed in range(8)]
    numbers = {(values - s).abs().sum(dim=1).argmin().item() for s in samples}
    assert len(numbers) > 3
    assert all((values - s).abs().sum(dim=1).min() < 1e-9 for s in samples)
    again = model.sample_function(3)(points.reshape(3, 2, 2))
    torch.testing.assert_close(again.reshape(-1), samples[3])


# Several outputs


@pytest.fixture(scope="module")
def two_outputs():
    X, y = draw(40)
    return DeltaUQRegressor(**SMALL).fit(X, np.column_stack([y, -3 * y + X[:, 0]]))


def test_several_outputs(two_outputs, points):
    model = BoTorchModel(two_outputs)
    assert model.num_outputs == 2
    found = model.posterior(points)
    parts = two_outputs.predict_uncertainty(points.numpy())
    np.testing.assert_allclose(found.variance.sqrt(), parts.epistemic, rtol=1e-3)
    np.testing.assert_allclose(found.mean, two_outputs.predict(points.numpy()), rtol=1e-3)
    assert found.rsample(torch.Size([4])).shape == (4, 6, 2)
    second = model.posterior(points, output_indices=[1])
    torch.testing.assert_close(second.variance[:, 0], found.variance[:, 1])
    covariance = second.distribution.covariance_matrix
    assert covariance.shape == (6, 6)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.NumericsWarning")
def test_several_objectives(two_outputs, points):
    model = BoTorchModel(two_outputs)
    told = torch.tensor(two_outputs.predict(draw(40)[0]))
    reference = told.min(dim=0).values
    # Its logarithm compiles C++ when it is first used, and not every machine has a compiler.
    acquisition = qExpectedHypervolumeImprovement(
        model,
        reference.tolist(),
        NondominatedPartitioning(reference, Y=told),
        sampler=SobolQMCNormalSampler(torch.Size([16]), seed=0),
    )
    assert acquisition(points.unsqueeze(1)).isfinite().all()


# Clear errors


def test_fantasies_are_refused(model, points):
    for call in (model.fantasize, model.condition_on_observations):
        with pytest.raises(UnsupportedError, match="must be fitted again"):
            call(points, None)
    with pytest.raises(UnsupportedError, match="must be fitted again"):
        qKnowledgeGradient(model, num_fantasies=2)(points[:3].unsqueeze(0))


def test_noise_is_predicted_and_not_taken(model, fitted, points):
    with pytest.raises(UnsupportedError, match="predicts its own noise"):
        model.posterior(points, observation_noise=torch.ones(6, 1))
    with pytest.raises(UnsupportedError, match="posterior='normal'"):
        BoTorchModel(fitted, posterior="components").posterior(points, observation_noise=True)


def test_only_fitted_regressors_of_the_package(regression_data):
    X, y = regression_data
    with pytest.raises(NotFittedError):
        BoTorchModel(DeltaUQRegressor())
    classifier = DeltaUQClassifier(max_iter=2, early_stopping=False).fit(X, y > 500)
    pipeline = make_pipeline(StandardScaler(), DeltaUQRegressor())
    for foreign in (classifier, pipeline, object()):
        with pytest.raises(TypeError, match=r"fitted regressor of sk_deltauq.*unwrap"):
            BoTorchModel(foreign)
    logarithmic = DeltaUQRegressor(**SMALL, target_transform="log").fit(X, y)
    with pytest.raises(ValueError, match=r"target_transform='log'.*latent=True"):
        BoTorchModel(logarithmic)


def test_an_invalid_posterior_and_width(fitted, model):
    with pytest.raises(ValueError, match="'normal' or 'components', got 'mixture'"):
        BoTorchModel(fitted, posterior="mixture")
    with pytest.raises(ValueError, match="2 features"):
        model.posterior(torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"\(\.\.\., q, n_features\).*got shape \(2,\)"):
        model.posterior(torch.zeros(2))


def test_a_class_is_named():
    with pytest.raises(TypeError, match="got the class DeltaUQRegressor"):
        BoTorchModel(DeltaUQRegressor)


def test_some_outputs_are_selected_in_posterior(model):
    with pytest.raises(UnsupportedError, match=r"output_indices"):
        model.subset_output([0])


def test_targets_of_a_small_scale_are_warned_about():
    """GPyTorch replaces small variances, so the posterior is wider than the prediction."""
    X, y = draw(40)
    small = surrogate(random_state=0).set_params(max_iter=10).fit(X, 1e-7 * y)
    with pytest.warns(UncertaintyWarning, match=r"Scale y to a standard deviation near 1"):
        model = BoTorchModel(small)
    with pytest.warns(NumericalWarning):
        std = model.posterior(torch.tensor(X)[:, None]).variance.sqrt().flatten()
    assert (std.numpy() > 1.5 * small.predict_uncertainty(X).epistemic).any()


@pytest.mark.parametrize(
    ("X", "indices", "error", "message"),
    [
        (np.zeros((1, 2)), None, TypeError, "X must be a torch.Tensor, got ndarray"),
        (torch.full((1, 2), torch.nan), None, ValueError, "X must not contain NaN"),
        (torch.zeros(0, 2), None, ValueError, "X must have at least one point"),
        (torch.zeros(1, 2), [3], ValueError, r"output_indices must be from 0 to 0, got \[3\]"),
    ],
)
def test_invalid_points(X, indices, error, message):
    rows = np.random.default_rng(0).random((20, 2))
    model = BoTorchModel(surrogate().set_params(max_iter=2).fit(rows, rows[:, 0]))
    with pytest.raises(error, match=message):
        model.posterior(X, output_indices=indices)
