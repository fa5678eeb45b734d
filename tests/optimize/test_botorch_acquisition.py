"""BoTorch's acquisition functions on `BoTorchModel`: closed forms, simulation, and maxima."""

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qLowerBoundMaxValueEntropy,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
from botorch.generation import MaxPosteriorSampling
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning

from sk_deltauq.optimize import BoTorchModel
from tests.optimize._helpers import (
    BOUNDS,
    compute_gibbon,
    compute_improvement,
    compute_repulsion,
    draw,
)

BOX = torch.tensor(BOUNDS, dtype=torch.float64).T


def make_sampler(n_samples):
    return SobolQMCNormalSampler(torch.Size([n_samples]), seed=0)


def simulate(fitted, X, n_draws=50_000):
    """Joint draws of the noise-free function `(draw, point)`, from the estimator's predictions."""
    functions = fitted.to_torch().double()(X).functions.numpy()  # (component, point)
    std = fitted.predict_uncertainty(X.numpy()).epistemic
    covariance = np.corrcoef(functions.T) * np.outer(std, std)
    rng = np.random.default_rng(0)
    return rng.multivariate_normal(fitted.predict(X.numpy()), covariance, size=n_draws)


def test_log_ei_is_the_closed_form_and_has_its_gradient(model, points):
    best = 30.0
    found = LogExpectedImprovement(model, best)(points.unsqueeze(1))
    posterior = model.posterior(points.unsqueeze(1))
    mean, std = posterior.mean[:, 0, 0].numpy(), posterior.variance.sqrt()[:, 0, 0].numpy()
    np.testing.assert_allclose(found.exp(), compute_improvement(mean, std, best), rtol=1e-6)
    # Differences are exact enough where no kink of relu is near.
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


def test_monte_carlo_functions_of_one_point_agree_with_closed_forms(model, points):
    sampler = make_sampler(4096)
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


def test_log_ei_with_pending_point_is_the_joint_improvement(model, fitted, points):
    best = model.posterior(points).mean.median()
    settings = {"best_f": best, "sampler": make_sampler(512)}
    x = points[:1].unsqueeze(1)
    free = qLogExpectedImprovement(model, **settings)(x).item()
    for pending in points:
        found = qLogExpectedImprovement(model, X_pending=pending[None], **settings)(x)
        if torch.equal(pending, points[0]):  # the point itself improves nothing further
            assert found.item() == pytest.approx(free, abs=0.05)
            continue
        draws = simulate(fitted, torch.stack([points[0], pending]))
        expected = np.maximum(draws.max(axis=1) - best.item(), 0).mean()
        assert found.exp().item() == pytest.approx(expected, rel=0.05)
        assert found.item() > free


def test_noisy_ei_is_the_improvement_over_the_uncertain_baseline(model, fitted, points):
    order = model.posterior(points).mean[:, 0].argsort()
    baseline, rest = points[order[:3]], points[order[3:]]
    acquisition = qLogNoisyExpectedImprovement(
        model, baseline, sampler=make_sampler(512), prune_baseline=False, cache_root=False
    )
    found = acquisition(rest.unsqueeze(1)).exp()
    for value, x in zip(found, rest, strict=True):
        draws = simulate(fitted, torch.cat([baseline, x[None]]))
        expected = np.maximum(draws[:, 3] - draws[:, :3].max(axis=1), 0).mean()
        assert value.item() == pytest.approx(expected, rel=0.05)
    # A point of the baseline cannot improve on it.
    assert acquisition(baseline.unsqueeze(1)).max() < found.log().min()


@pytest.mark.parametrize("n_pending", [0, 2])
def test_gibbon_equals_its_formula(model, fitted, points, n_pending):
    candidates = torch.rand(200, 2, dtype=torch.float64) * BOX[1]
    pending, rest = points[:n_pending], points[2:]
    torch.manual_seed(0)
    acquisition = qLowerBoundMaxValueEntropy(
        model, candidates, X_pending=pending if n_pending else None
    )
    noise = torch.tensor(fitted.predict_uncertainty(points.numpy()).aleatoric ** 2)
    found = model.posterior(rest)
    expected = compute_gibbon(
        acquisition.posterior_max_values.numpy(),
        found.mean[:, 0].numpy(),
        found.variance[:, 0].numpy(),
        noise[2:].numpy(),
    )
    for i, x in enumerate(rest if n_pending else []):
        joint = model.posterior(torch.cat([pending, x[None]])).distribution.covariance_matrix
        joint = joint + torch.diag(noise[[0, 1, 2 + i]])
        expected[i] += compute_repulsion(joint.numpy())
    np.testing.assert_allclose(acquisition(rest.unsqueeze(1)), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("q", [1, 3])
def test_optimize_acqf_finds_more_than_random_search(model, q):
    best = model.posterior(torch.tensor(draw(40)[0])).mean.max()
    acquisition = qLogExpectedImprovement(model, best, sampler=make_sampler(32))
    torch.manual_seed(0)
    x, _ = optimize_acqf(acquisition, BOX, q, 4, 256, options={"maxiter": 20}, sequential=q > 1)
    assert ((BOX[0] <= x) & (x <= BOX[1])).all()
    with torch.no_grad():
        random = acquisition(torch.rand(1000, q, 2, dtype=torch.float64) * BOX[1])
        assert acquisition(x) >= random.max()


def test_thompson_sampling_takes_one_function_per_sample(fitted, points):
    model = BoTorchModel(fitted, posterior="components")
    values = model.posterior(points).values[..., 0]  # (component, point)
    drawn = model.posterior(points).rsample(torch.Size([20]))[..., 0]
    assert all((values == one).all(dim=1).any() for one in drawn)
    assert len(drawn.unique(dim=0)) > 3
    chosen = MaxPosteriorSampling(model, replacement=True)(points, num_samples=8)
    winners = points[values.argmax(dim=1).unique()]
    assert all((winners == x).all(dim=1).any() for x in chosen)


def test_sampled_function_is_one_component_at_all_points(fitted, points):
    model = BoTorchModel(fitted)
    values = BoTorchModel(fitted, posterior="components").posterior(points).values[..., 0]
    samples = [model.sample_function(seed)(points)[:, 0] for seed in range(8)]
    numbers = {(values - s).abs().sum(dim=1).argmin().item() for s in samples}
    assert len(numbers) > 3
    assert all((values - s).abs().sum(dim=1).min() < 1e-9 for s in samples)
    again = model.sample_function(3)(points.reshape(3, 2, 2))
    torch.testing.assert_close(again.reshape(-1), samples[3])


def measure_hypervolume(Y, reference):
    """Area between the reference and the Pareto front of two outputs, larger is better."""
    area, top = 0.0, reference[1]
    for first, second in Y[np.argsort(-Y[:, 0])]:
        if first > reference[0] and second > top:
            area += (first - reference[0]) * (second - top)
            top = second
    return area


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.NumericsWarning")
def test_expected_hypervolume_improvement_agrees_with_simulation(two_outputs, points):
    told = two_outputs.predict(draw(40)[0])
    reference = told.min(axis=0)
    # The logarithmic version compiles C++ on first use, and some machines have no compiler.
    acquisition = qExpectedHypervolumeImprovement(
        BoTorchModel(two_outputs),
        reference.tolist(),
        NondominatedPartitioning(torch.tensor(reference), Y=torch.tensor(told)),
        sampler=make_sampler(256),
    )
    found = acquisition(points.unsqueeze(1))
    mean = two_outputs.predict(points.numpy())
    std = two_outputs.predict_uncertainty(points.numpy()).epistemic
    before = measure_hypervolume(told, reference)
    rng = np.random.default_rng(0)
    draws = mean + std * rng.standard_normal((2000, *mean.shape))  # (draw, point, output)
    expected = [
        np.mean([measure_hypervolume(np.vstack([told, y]), reference) for y in of_point]) - before
        for of_point in draws.swapaxes(0, 1)
    ]
    np.testing.assert_allclose(found, expected, rtol=0.1, atol=0.01 * max(expected))
