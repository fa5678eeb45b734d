"""Searches as objects: parameters, and `search`, which proposes and evaluates points."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.exceptions.warnings import BotorchWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning
from scipy.stats import qmc
from sklearn.base import BaseEstimator

from benchmarks_uci.optimisation.problems import Problem
from benchmarks_uci.timing import load_optimizer
from sk_deltauq.optimize import Optimizer


@dataclass(eq=False, repr=False)
class Search(ABC, BaseEstimator):
    """A method of the study; a subclass proposes the next point."""

    n_steps: int | None = None  # None: as many as the problem says
    random_state: int | None = None

    def search(self, problem: Problem, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the starting points, then one proposal per step.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of the starting points and of the proposals, in their order.
        seconds : ndarray of shape (n_steps,)
            Processor time of each proposal, without the evaluation.
        """
        y = np.array([problem.function(x) for x in X])
        n_steps = problem.n_steps if self.n_steps is None else self.n_steps
        load_optimizer()
        propose, seconds = self._start(problem, X, y, n_steps), []
        for _ in range(n_steps):
            start = time.process_time()
            x = propose(X, y)
            seconds.append(time.process_time() - start)
            X, y = np.vstack([X, x]), np.append(y, problem.function(x))
        return y, np.array(seconds)

    @abstractmethod
    def _start(
        self, problem: Problem, X: np.ndarray, y: np.ndarray, n_steps: int
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return the function that proposes a point, given all points and values so far."""


@dataclass(eq=False, repr=False)
class SobolSearch(Search):
    """Points of a scrambled Sobol sequence."""

    def _start(self, problem, X, y, n_steps):
        low, high = np.array(problem.bounds).T
        engine: Any = qmc.Sobol
        n_points = 2 ** int(np.ceil(np.log2(n_steps)))
        seed = np.random.default_rng([self.random_state or 0, 1])
        points = low + (high - low) * engine(len(low), seed=seed).random(n_points)
        n_initial = len(X)
        return lambda X, y: points[len(X) - n_initial]


@dataclass(eq=False, repr=False)
class NetworkSearch(Search):
    """`sk_deltauq.optimize.Optimizer` with a surrogate."""

    surrogate: Any = None  # unfitted regressor

    def _start(self, problem, X, y, n_steps):
        optimizer = Optimizer(
            problem.bounds,
            surrogate=self.surrogate,
            n_initial=len(X),
            random_state=self.random_state,
        )
        optimizer.tell(X, y)

        def propose(X, y):
            if len(y) > len(optimizer.y_):
                optimizer.tell(X[-1], y[-1])
            return optimizer.ask()[0]

        return propose


@dataclass(eq=False, repr=False)
class ModelSearch(Search):
    """A model of BoTorch with LogEI; a subclass fits the model."""

    def _start(self, problem, X, y, n_steps):
        low, high = np.array(problem.bounds).T

        def propose(X, y):
            with torch.random.fork_rng(), warnings.catch_warnings():
                for category in (BotorchWarning, NumericalWarning):
                    warnings.simplefilter("ignore", category)
                torch.manual_seed(1000 * (self.random_state or 0) + len(y))
                values = torch.tensor((y.mean() - y) / (y.std() or 1.0))[:, None]
                model = self._fit(torch.tensor((X - low) / (high - low)), values)
                unit = maximise_improvement(model, values, len(low))
            return low + (high - low) * unit

        return propose

    @abstractmethod
    def _fit(self, U: torch.Tensor, values: torch.Tensor) -> Model:
        """Fit to points of the unit cube `(point, parameter)` and values `(point, 1)`."""


@dataclass(eq=False, repr=False)
class GaussianProcessSearch(ModelSearch):
    """BoTorch's `SingleTaskGP` with its defaults."""

    def _fit(self, U, values):
        return fit_gp(U, values)


@dataclass(eq=False, repr=False)
class LastLayerSearch(ModelSearch):
    """A network with a variational Bayesian last layer, from BoTorch's community models."""

    max_iter: int = 1000

    def _fit(self, U, values):
        from botorch_community.models.vblls import VBLLModel

        model = VBLLModel(in_features=U.shape[1], device="cpu")
        model.fit(U, values, optimization_settings={"num_epochs": self.max_iter})
        return model


def maximise_improvement(model: Model, values: torch.Tensor, n_parameters: int) -> np.ndarray:
    """Return the point of the unit cube with the largest expected improvement (LogEI)."""
    acquisition = LogExpectedImprovement(model, values.max())
    box = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, n_parameters)
    options: dict[str, bool | float | int | str] = {"maxiter": 50}
    x, _ = optimize_acqf(acquisition, box, q=1, num_restarts=4, raw_samples=640, options=options)
    return x[0].numpy()


def fit_gp(U: torch.Tensor, values: torch.Tensor) -> SingleTaskGP:
    """Fit BoTorch's default Gaussian process to standardised values."""
    model = SingleTaskGP(U, values)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model
