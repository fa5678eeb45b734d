"""Functions to minimise, with their bounds and optima, and the starting points of each seed.

Bounds are the usual ones of each function, as in BoTorch's `test_functions`, except Ackley, which
has ±5 as in the authors' demonstration. The paper does not give its bounds as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

# Seeds of the tables, and seeds on which settings are chosen
SEEDS, DEVELOPMENT = range(10), range(100, 110)


@dataclass(frozen=True)
class Problem:
    """A function to minimise over a box, for a given number of evaluations."""

    name: str
    bounds: list[tuple[float, float]]
    optimum: float  # smallest value
    make: Callable[[], Callable[[np.ndarray], float]]
    n_initial: int
    n_steps: int
    source: str = "a formula of the literature"

    @cached_property
    def function(self) -> Callable[[np.ndarray], float]:
        """The function of a point `(parameter,)`; made when it is first called for."""
        return self.make()

    @property
    def X(self) -> np.ndarray:
        """Starting points of all seeds, uniform in the box: `n_initial` rows for each seed."""
        low, high = np.array(self.bounds).T
        shape = self.n_initial, len(low)
        seeds = *SEEDS, *DEVELOPMENT
        draws = [np.random.default_rng(seed).uniform(low, high, shape) for seed in seeds]
        return np.concatenate(draws)

    @property
    def order(self) -> np.ndarray:
        """The rows are in canonical order."""
        return np.arange(len(self.X))

    @property
    def content_hash(self) -> str:
        """Hash of the name, the sizes and the starting points.

        The formula of the function is not included. Delete stored results if it changes.
        """
        parts = self.name, self.bounds, self.optimum, self.n_initial, self.n_steps
        return hashlib.sha256(json.dumps(parts).encode() + self.X.tobytes()).hexdigest()


def _of_botorch(name: str, n_parameters: int | None, bounds) -> Callable[[], Any]:
    """Return a factory of a function of BoTorch."""

    def make():
        import torch
        from botorch import test_functions

        sizes = {} if n_parameters is None else {"dim": n_parameters}
        function = getattr(test_functions, name)(**sizes, bounds=bounds)

        def evaluate(x: np.ndarray) -> float:
            return float(function(torch.tensor(x, dtype=torch.float64)))

        return evaluate

    return make


def _multi_optima(x):
    return -float(np.sin(x[0]) * np.cos(5 * x[0]) * np.cos(22 * x[0]))


def _booth(x):
    return float((x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2)


def _levy13(x):
    x, y = x
    first = (x - 1) ** 2 * (1 + np.sin(3 * np.pi * y) ** 2)
    return float(
        np.sin(3 * np.pi * x) ** 2 + first + (y - 1) ** 2 * (1 + np.sin(2 * np.pi * y) ** 2)
    )


def _make_lasso():
    """Return the excess error of a Lasso with one penalty for each of 60 features.

    The point holds the logarithms of the penalties to base 10. Eight features have an effect. The
    rows are standard normal, so the mean squared error on new rows, less the noise, is the squared
    distance between the fitted and the true coefficients. Its lower bound is 0.
    """
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(0)
    X, true = rng.standard_normal((120, _N_PENALTIES)), np.zeros(_N_PENALTIES)
    with_effect = rng.choice(_N_PENALTIES, 8, replace=False)
    true[with_effect] = rng.choice([-1.0, 1.0], 8)
    y = X @ true + rng.standard_normal(len(X))

    def evaluate(x: np.ndarray) -> float:
        penalties = 10.0 ** np.asarray(x)
        model = Lasso(alpha=1.0, fit_intercept=False, max_iter=100_000, tol=1e-6)
        found = model.fit(X / penalties, y).coef_ / penalties
        return float(np.sum((found - true) ** 2))

    return evaluate


def _return_it(function):
    return function


def _problem(name, function, bounds, optimum, budget, n_parameters=None):
    make: Callable[[], Any] = _of_botorch(function, n_parameters, bounds)
    if callable(function):
        make = partial(_return_it, function)
    return Problem(name, bounds, optimum, make, *budget)


_SMALL, _MEDIUM, _LARGE, _LONG = (5, 25), (10, 25), (10, 50), (20, 280)
_N_PENALTIES = 60

# The rows of the paper's table, in its order, with its numbers of evaluations
PAPER = {
    p.name: p
    for p in [
        _problem("multi-optima", _multi_optima, [(-1, 2)], -0.9498949190, _SMALL),
        _problem("ackley-2", "Ackley", [(-5, 5)] * 2, 0.0, _SMALL, 2),
        _problem("beale", "Beale", [(-4.5, 4.5)] * 2, 0.0, _SMALL),
        _problem("booth", _booth, [(-10, 10)] * 2, 0.0, _SMALL),
        _problem("branin", "Branin", [(-5, 10), (0, 15)], 0.39788735773, _SMALL),
        _problem("bukin", "Bukin", [(-15, -5), (-3, 3)], 0.0, _SMALL),
        _problem("camel", "SixHumpCamel", [(-3, 3), (-2, 2)], -1.0316284535, _SMALL),
        _problem("dropwave", "DropWave", [(-5.12, 5.12)] * 2, -1.0, _SMALL),
        _problem("griewank-2", "Griewank", [(-600, 600)] * 2, 0.0, _SMALL, 2),
        _problem("holder", "HolderTable", [(-10, 10)] * 2, -19.2085025679, _SMALL),
        _problem("levy-13", _levy13, [(-10, 10)] * 2, 0.0, _SMALL),
        _problem("levy-2", "Levy", [(-10, 10)] * 2, 0.0, _SMALL, 2),
        _problem("hartmann-3", "Hartmann", [(0, 1)] * 3, -3.86278214782, _SMALL, 3),
        _problem("ackley-4", "Ackley", [(-5, 5)] * 4, 0.0, _MEDIUM, 4),
        _problem("griewank-4", "Griewank", [(-600, 600)] * 4, 0.0, _MEDIUM, 4),
        _problem("levy-4", "Levy", [(-10, 10)] * 4, 0.0, _MEDIUM, 4),
        _problem("hartmann-6", "Hartmann", [(0, 1)] * 6, -3.32236801142, _MEDIUM, 6),
        _problem("ackley-8", "Ackley", [(-5, 5)] * 8, 0.0, _LARGE, 8),
        _problem("griewank-8", "Griewank", [(-600, 600)] * 8, 0.0, _LARGE, 8),
        _problem("levy-8", "Levy", [(-10, 10)] * 8, 0.0, _LARGE, 8),
    ]
}

# Many evaluations and many parameters
LARGE = {
    p.name: p
    for p in [
        _problem("ackley-10", "Ackley", [(-5, 5)] * 10, 0.0, _LONG, 10),
        _problem("ackley-20", "Ackley", [(-5, 5)] * 20, 0.0, _LONG, 20),
        _problem("rosenbrock-10", "Rosenbrock", [(-5, 10)] * 10, 0.0, _LONG, 10),
        _problem("levy-20", "Levy", [(-10, 10)] * 20, 0.0, _LONG, 20),
        Problem(
            "lasso-60",
            [(-2.5, 0.5)] * _N_PENALTIES,
            0.0,
            _make_lasso,
            *_LONG,
            source="generated rows, as in LassoBench (Sehic et al., 2022)",
        ),
    ]
}

PROBLEMS = PAPER | LARGE
