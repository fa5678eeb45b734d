"""Acquisition functions, and the search for their maximum in the unit cube."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qLowerBoundMaxValueEntropy,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions.errors import OptimizationGradientError
from botorch.exceptions.warnings import BotorchWarning
from botorch.generation.gen import gen_candidates_scipy
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal
from linear_operator.utils.warnings import NumericalWarning

from sk_deltauq._host import seed_torch
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize._botorch_model import BoTorchModel
from sk_deltauq.optimize._space import Space
from sk_deltauq.optimize._state import SEARCH, State

# Candidates for the starts of the local search: across the space, and near the best points.
_N_GLOBAL, _N_LOCAL, _N_BEST = 512, 128, 4
_LOCAL_SCALES = 0.1, 0.02

_N_STARTS, _N_ITERATIONS = 4, 50
_N_SAMPLES = 128  # of the Monte Carlo acquisition functions
_BETA = 4.0  # of the confidence bound: two standard deviations
_MOST_ROWS = 1024  # rows of one call of the model, which bounds memory


class UnitCubeModel(Model):
    """A model in units of the user as a model on the unit cube with standardised targets.

    Targets are `(y - centre) / scale`. A negative scale turns minimising into maximising.
    """

    def __init__(self, model: BoTorchModel, space: Space, centre: float, scale: float):
        super().__init__()
        self.model, self.centre, self.scale = model, centre, scale
        self.lower = torch.tensor(space.lower)
        self.width = torch.tensor(space.upper - space.lower)

    @property
    def num_outputs(self) -> int:
        """One: the objective."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """No batch of models: an empty shape."""
        return torch.Size()

    def forward(self, X: torch.Tensor) -> MultivariateNormal:
        """Return the joint normal distribution, which GIBBON asks for with pending points."""
        posterior = self.posterior(X)
        assert isinstance(posterior, GPyTorchPosterior)
        return posterior.distribution

    def posterior(
        self,
        X: torch.Tensor,
        output_indices: Any = None,
        observation_noise: Any = False,
        posterior_transform: Any = None,
    ) -> Posterior:
        """Predict points of the unit cube."""
        found = self.model.posterior(
            self.lower + X * self.width, output_indices, observation_noise
        )
        weights = torch.tensor([1 / self.scale], dtype=torch.float64)
        found = ScalarizedPosteriorTransform(weights, -self.centre / self.scale)(found)
        return found if posterior_transform is None else posterior_transform(found)

    def sample_function(self, seed: int) -> GenericDeterministicModel:
        """Draw one function of the model, on the unit cube with standardised targets."""
        drawn = self.model.sample_function(seed)

        def follow(X: torch.Tensor) -> torch.Tensor:
            return (drawn(self.lower + X * self.width) - self.centre) / self.scale

        return GenericDeterministicModel(follow)


@dataclass(frozen=True)
class Situation:
    """Everything that an acquisition function may need, for a search on the unit cube."""

    model: UnitCubeModel  # larger is better
    told: torch.Tensor  # (point, parameter), evaluated without failure
    values: torch.Tensor  # (point,), of the same points
    pending: torch.Tensor | None  # (point, parameter); None if no point is pending
    seed: int

    @property
    def sampler(self) -> SobolQMCNormalSampler:
        """Base samples for Monte Carlo acquisition functions."""
        return SobolQMCNormalSampler(torch.Size([_N_SAMPLES]), seed=self.seed)


def _log_ei(s: Situation) -> AcquisitionFunction:
    if s.pending is None:
        return LogExpectedImprovement(s.model, s.values.max())
    return qLogExpectedImprovement(s.model, s.values.max(), sampler=s.sampler, X_pending=s.pending)


def _log_nei(s: Situation) -> AcquisitionFunction:
    return qLogNoisyExpectedImprovement(
        s.model, s.told, sampler=s.sampler, X_pending=s.pending, cache_root=False
    )


def _ucb(s: Situation) -> AcquisitionFunction:
    if s.pending is None:
        return UpperConfidenceBound(s.model, _BETA)
    return qUpperConfidenceBound(s.model, _BETA, sampler=s.sampler, X_pending=s.pending)


def _gibbon(s: Situation) -> AcquisitionFunction:
    generator = torch.Generator().manual_seed(s.seed)
    shape = _N_GLOBAL, s.told.shape[1]
    candidates = torch.rand(shape, generator=generator, dtype=torch.float64)
    candidates = torch.cat([s.told, candidates])
    return qLowerBoundMaxValueEntropy(s.model, candidates, X_pending=s.pending)


def _thompson(s: Situation) -> AcquisitionFunction:
    return PosteriorMean(s.model.sample_function(s.seed))


# The keys are `NAMES` in `_optimizer.py`, which must not import BoTorch.
ACQUISITIONS: dict[str, Callable[[Situation], AcquisitionFunction]] = {
    "log_ei": _log_ei,
    "log_nei": _log_nei,
    "ucb": _ucb,
    "gibbon": _gibbon,
    "thompson": _thompson,
}


def propose_point(
    fitted: Any,
    state: State,
    space: Space,
    sign: float,
    acquisition: str | Callable[[Situation], AcquisitionFunction],
) -> np.ndarray:
    """Return the point with the largest acquisition value, for a fitted surrogate.

    `sign` is 1 if larger values are better, else -1. With a `target_transform`, the search
    compares transformed values.
    """
    is_valid = np.isfinite(state.y)
    values, transform = state.y[is_valid], fitted.target_transform_
    if transform is not None:
        values = transform.transform(values[:, None])[:, 0]
    centre, scale = values.mean(), sign * (values.std() or 1.0)
    with warnings.catch_warnings():
        # About values of a small scale, which are standardised here
        warnings.simplefilter("ignore", UncertaintyWarning)
        model = BoTorchModel(fitted, latent=True)
    situation = Situation(
        model=UnitCubeModel(model, space, centre, scale),
        told=torch.tensor(space.to_unit(state.X[is_valid])),
        values=torch.tensor((values - centre) / scale),
        pending=torch.tensor(space.to_unit(state.pending)) if len(state.pending) else None,
        seed=state.draw_seed(SEARCH, len(state.pending)),
    )
    make = ACQUISITIONS[acquisition] if isinstance(acquisition, str) else acquisition
    return find_maximum(make, situation, space, state.taken)


def find_maximum(
    make: Callable[[Situation], AcquisitionFunction],
    situation: Situation,
    space: Space,
    taken: np.ndarray,
) -> np.ndarray:
    """Return the point with the largest acquisition value that is none of the points `taken`.

    Candidates across the space and near the best points are compared without gradients. The best
    of them are the starts of a local search (L-BFGS-B). Integers are relaxed there, rounded, and
    compared again. A small space of integers is searched completely.
    """
    with warnings.catch_warnings(), seed_torch(situation.seed):
        for category in (BotorchWarning, NumericalWarning):
            warnings.simplefilter("ignore", category)
        acquisition = make(situation)
        points = space.list_points()
        if points is None:
            points = _draw_candidates(situation, space)
            values = _evaluate(acquisition, space.to_unit(points))
            found = _climb(acquisition, space.to_unit(points[np.argsort(-values)[:_N_STARTS]]))
            found = space.from_unit(found)
            points = np.concatenate([points, found])
            values = np.append(values, _evaluate(acquisition, space.to_unit(found)))
        else:
            values = _evaluate(acquisition, space.to_unit(points))
    for point in points[np.argsort(-values, kind="stable")]:
        if not space.find(point, taken).any():
            return point
    return space.draw_free(taken, 0, situation.seed)[0]


def _draw_candidates(situation: Situation, space: Space) -> np.ndarray:
    """Draw points across the space, and near the best points, with integers rounded."""
    rng = np.random.default_rng(situation.seed)
    best = situation.told[situation.values.argsort(descending=True)[:_N_BEST]].numpy()
    shape = len(_LOCAL_SCALES), _N_LOCAL // len(_LOCAL_SCALES), space.n_parameters
    steps = rng.standard_normal(shape) * np.reshape(_LOCAL_SCALES, (-1, 1, 1))
    near = best[rng.integers(len(best), size=shape[:2])] + steps
    near = space.from_unit(near.reshape(-1, space.n_parameters))
    return np.concatenate([space.draw_sobol(0, _N_GLOBAL, situation.seed), near])


def _evaluate(acquisition: AcquisitionFunction, U: np.ndarray) -> np.ndarray:
    """Return the acquisition value of each point of the unit cube; NaN counts as the worst."""
    points = torch.tensor(U).unsqueeze(1)  # (point, 1, parameter)
    with torch.no_grad():
        values = torch.cat([acquisition(part) for part in points.split(_MOST_ROWS)])
    return np.nan_to_num(values.numpy(), nan=-np.inf, posinf=-np.inf)


def _climb(acquisition: AcquisitionFunction, starts: np.ndarray) -> np.ndarray:
    """Improve points of the unit cube by a local search."""
    # BoTorch shows warnings of the search by force, such as one at the kinks of relu, where a
    # line search ends early.
    with torch.enable_grad(), warnings.catch_warnings(record=True) as caught:
        try:
            found, _ = gen_candidates_scipy(
                torch.tensor(starts).unsqueeze(1),
                acquisition,
                lower_bounds=0.0,
                upper_bounds=1.0,
                options={"maxiter": _N_ITERATIONS},
            )
        # An acquisition function without a gradient somewhere: the candidates remain.
        except OptimizationGradientError:
            return starts
    for other in [w for w in caught if not issubclass(w.category, BotorchWarning)]:
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return found.squeeze(1).detach().numpy()
