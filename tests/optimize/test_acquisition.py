"""Acquisition functions of the optimizer against closed forms and simulation, and their maxima."""

import numpy as np
import pytest
import torch
from botorch.acquisition import PosteriorMean
from botorch.models.deterministic import GenericDeterministicModel

from sk_deltauq.optimize import BoTorchModel
from sk_deltauq.optimize._acquisition import (
    ACQUISITIONS,
    Situation,
    UnitCubeModel,
    find_maximum,
)
from sk_deltauq.optimize._space import Space
from tests.optimize._helpers import BOUNDS, compute_gibbon, compute_improvement, compute_repulsion

SPACE = Space.make(BOUNDS)
CENTRE, SCALE = 20.0, -30.0  # negative: the optimizer minimises
N_DRAWS = 50_000


@pytest.fixture(scope="module")
def unit_points(fitted):
    """Points of the unit cube, from the worst to the best predicted target."""
    U = np.random.default_rng(1).uniform(size=(8, 2))
    return U[np.argsort(-fitted.predict(SPACE.from_unit(U)))]


def make_situation(fitted, told, pending=None):
    model = UnitCubeModel(BoTorchModel(fitted), SPACE, CENTRE, SCALE)
    values = (fitted.predict(SPACE.from_unit(told)) - CENTRE) / SCALE
    pending = None if pending is None else torch.tensor(pending)
    return Situation(model, torch.tensor(told), torch.tensor(values), pending, seed=3)


def evaluate(acquisition, U):
    with torch.no_grad():
        return acquisition(torch.tensor(U).unsqueeze(1)).numpy()


def describe(fitted, U):
    """Mean, covariance and noise variance in standardised units, from the units of the user."""
    X = SPACE.from_unit(U)
    found = BoTorchModel(fitted).posterior(torch.tensor(X)).distribution
    mean, covariance = found.mean.numpy(), found.covariance_matrix.numpy()
    noise = fitted.predict_uncertainty(X).aleatoric ** 2
    return (mean - CENTRE) / SCALE, covariance / SCALE**2, noise / SCALE**2


def simulate(fitted, U):
    """Joint draws of the noise-free function `(draw, point)`."""
    mean, covariance, _ = describe(fitted, U)
    return np.random.default_rng(2).multivariate_normal(mean, covariance, size=N_DRAWS)


def test_unit_cube_model_predicts_standardised_targets(fitted, unit_points):
    X, model = SPACE.from_unit(unit_points), make_situation(fitted, unit_points).model
    found = model.posterior(torch.tensor(unit_points))
    np.testing.assert_allclose(
        found.mean[:, 0], (fitted.predict(X) - CENTRE) / SCALE, rtol=1e-3, atol=1e-4
    )
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(found.variance.sqrt()[:, 0], parts.epistemic / 30, rtol=1e-3)
    noisy = model.posterior(torch.tensor(unit_points), observation_noise=True)
    np.testing.assert_allclose(noisy.variance.sqrt()[:, 0], parts.total / 30, rtol=1e-3)


def expect_improvement(fitted, U, situation):
    mean, covariance, _ = describe(fitted, U)
    best = situation.values.max().item()
    return np.log(compute_improvement(mean, np.sqrt(np.diag(covariance)), best))


def expect_bound(fitted, U, situation):
    mean, covariance, _ = describe(fitted, U)
    return mean + 2 * np.sqrt(np.diag(covariance))


@pytest.mark.parametrize(
    ("name", "expect"), [("log_ei", expect_improvement), ("ucb", expect_bound)]
)
def test_analytic_functions_equal_their_closed_form(fitted, unit_points, name, expect):
    situation = make_situation(fitted, unit_points[:3])
    found = evaluate(ACQUISITIONS[name](situation), unit_points[3:])
    np.testing.assert_allclose(found, expect(fitted, unit_points[3:], situation), rtol=1e-5)


@pytest.mark.parametrize("name", ["log_ei", "log_nei", "ucb"])
@pytest.mark.parametrize("n_pending", [0, 2])
def test_monte_carlo_acquisition_functions_agree_with_simulation(
    fitted, unit_points, name, n_pending
):
    """Each point together with the pending points."""
    told, pending, rest = unit_points[:2], unit_points[2 : 2 + n_pending], unit_points[4:]
    situation = make_situation(fitted, told, pending if n_pending else None)
    found = evaluate(ACQUISITIONS[name](situation), rest)
    best, expected = situation.values.max().item(), []
    for u in rest:
        f = simulate(fitted, np.vstack([told, pending, u]))
        batch = f[:, 2:]  # (draw, point)
        if name == "ucb":
            mean = batch.mean(axis=0)
            spread = np.abs(batch - mean) * 2 * np.sqrt(np.pi / 2)  # Wilson et al., 2017
            expected.append((mean + spread).max(axis=1).mean())
        else:
            # qLogNEI measures the gain of the new point over the pending points too.
            reached = f[:, :-1].max(axis=1) if name == "log_nei" else best
            expected.append(np.maximum(batch.max(axis=1) - reached, 0).mean())
    found = found if name == "ucb" else np.exp(found)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.003)


@pytest.mark.parametrize("n_pending", [0, 2])
def test_gibbon_equals_its_formula(fitted, unit_points, n_pending):
    pending, rest = unit_points[:n_pending], unit_points[2:]
    situation = make_situation(fitted, unit_points[:2], pending if n_pending else None)
    torch.manual_seed(0)
    acquisition = ACQUISITIONS["gibbon"](situation)
    mean, covariance, noise = describe(fitted, rest)
    max_values = acquisition.posterior_max_values.numpy()
    expected = compute_gibbon(max_values, mean, np.diag(covariance), noise)
    for i, u in enumerate(rest if n_pending else []):
        _, covariance, noise = describe(fitted, np.vstack([pending, u]))
        expected[i] += compute_repulsion(covariance + np.diag(noise))
    np.testing.assert_allclose(evaluate(acquisition, rest), expected, rtol=1e-3, atol=1e-6)


def test_thompson_sampling_maximises_one_standardised_component(fitted, unit_points):
    X = torch.tensor(SPACE.from_unit(unit_points))
    components = BoTorchModel(fitted, posterior="components").posterior(X).values[..., 0]
    components = (components.numpy() - CENTRE) / SCALE  # (component, point)
    situation, chosen = make_situation(fitted, unit_points), set()
    for seed in range(8):
        drawn = ACQUISITIONS["thompson"](
            Situation(situation.model, situation.told, situation.values, None, seed)
        )
        distances = np.abs(components - evaluate(drawn, unit_points)).max(axis=1)
        assert distances.min() < 1e-6
        chosen.add(int(distances.argmin()))
    assert len(chosen) > 3


# The search for the maximum


def peak_at(*place):
    """An acquisition function of the unit cube with one maximum."""

    def peak(U):
        return -(U - torch.tensor(place)).square().sum(dim=-1, keepdim=True)

    return lambda situation: PosteriorMean(GenericDeterministicModel(peak))


def find(fitted, make, space=SPACE, taken=None):
    situation = make_situation(fitted, np.array([[0.2, 0.1], [0.8, 0.9]]))
    taken = np.empty((0, 2)) if taken is None else taken
    return find_maximum(make, situation, space, taken)


@pytest.mark.parametrize("place", [(0.3, 0.6), (0.0, 1.0)])
def test_maximum_of_a_smooth_function_is_found(fitted, place):
    found = find(fitted, peak_at(*place))
    np.testing.assert_allclose(SPACE.to_unit(found), place, atol=1e-4)


def test_maximum_at_a_taken_point_is_replaced_by_the_best_free_candidate(fitted):
    best = find(fitted, peak_at(0.0, 1.0))
    found = find(fitted, peak_at(0.0, 1.0), taken=best[np.newaxis])
    assert not SPACE.find(found, best[np.newaxis]).any()
    np.testing.assert_allclose(SPACE.to_unit(found), [0, 1], atol=0.05)


@pytest.mark.parametrize("upper", [4, 5000])
def test_maximum_over_integers_is_the_nearest_integer(fitted, upper):
    """A small space is listed completely, and in a large space the local search is rounded."""
    space = Space.make([(0, upper), (0, upper)], integers=[0, 1])
    found = find(fitted, peak_at(0.3, 0.8), space)
    np.testing.assert_array_equal(found, np.round([0.3 * upper, 0.8 * upper]))


def test_nan_of_an_acquisition_function_counts_as_worst(fitted):
    def half(U):
        values = -(U - 0.7).square().sum(dim=-1, keepdim=True)
        return torch.where(U[..., :1] < 0.5, values, torch.nan)

    found = find(fitted, lambda situation: PosteriorMean(GenericDeterministicModel(half)))
    assert SPACE.to_unit(found)[0] < 0.5
    np.testing.assert_allclose(SPACE.to_unit(found), [0.5, 0.7], atol=0.1)
