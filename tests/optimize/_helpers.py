"""An optimizer that is quick to fit, functions to optimise, and acquisition values."""

import numpy as np
from scipy.stats import norm

from sk_deltauq.optimize import Optimizer, surrogate

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 40, "random_state": 0}


def quick():
    return surrogate().set_params(
        hidden_layer_sizes=(16,), max_iter=8, n_members=2, n_anchors=3, early_stopping=False
    )


def bowl(x):
    """Smallest at (0.3, 6), where it is 5."""
    x = np.asarray(x)
    return 5 + (x[..., 0] - 0.3) ** 2 + (x[..., 1] / 10 - 0.6) ** 2


BOUNDS = [(0, 1), (0, 10)]


def make(bounds=BOUNDS, **settings):
    return Optimizer(bounds, **{"surrogate": quick(), "random_state": 0, **settings})


def run(optimizer, n, f=bowl):
    for _ in range(n):
        [x] = optimizer.ask()
        optimizer.tell(x, f(x))
    return optimizer


def draw(n, seed=0):
    """Rows inside `BOUNDS`, and a noisy target with a standard deviation near 30."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2)) * [1, 10]
    return X, 50 * np.sin(4 * X[:, 0]) + X[:, 1] + rng.standard_normal(n)


def measure_distances(X, bounds=BOUNDS):
    """Largest distance in any coordinate of the unit cube, for each pair of different rows."""
    U = X / np.ptp(bounds, axis=1)
    pairs = np.abs(U[:, None] - U).max(axis=2)
    return pairs[np.triu_indices(len(X), 1)]


def compute_improvement(mean, std, best):
    """Expected improvement of a normal distribution over `best`."""
    z = (mean - best) / std
    return std * (z * norm.cdf(z) + norm.pdf(z))


def compute_gibbon(max_values, mean, variance, noise):
    """GIBBON of single points from draws `(draw, 1)` of the maximum (Moss et al., 2021)."""
    z = (max_values - mean) / np.sqrt(variance)  # (draw, point)
    ratio = norm.pdf(z) / norm.cdf(z)
    share = variance / (variance + noise)
    return -0.5 * np.log(1 - share * ratio * (z + ratio)).mean(axis=0)


def compute_repulsion(covariance):
    """The term of GIBBON for pending points; the last row is the new point, with its noise."""
    std = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(std, std)
    return 0.5 * np.log(np.linalg.det(correlation) / np.linalg.det(correlation[:-1, :-1]))
