"""Calibration of a classifier: temperatures from held-out rows and corrupted copies of them.

A temperature by distance cannot be learnt from rows that are like the training rows. So held-out
rows are corrupted in five ways, with their labels kept, as in Guo et al. for the loss (log loss on
held-out rows) and as in data sets of common corruptions for the shifts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from sk_deltauq._temperature import Temperature
from sk_deltauq._training.held_out_logits import HeldOutLogits
from sk_deltauq._training.net import StackedNet

# The exponent without held-out rows, and the weight of this prior in rows.
DEFAULT_EXPONENT, _PRIOR_ROWS = 2.0, 20.0
_HIGHEST_EXPONENT = 8.0

# Held-out rows of each corruption.
_N_CORRUPTED = 2048

# Weight of the held-out rows as they are; the rest is shared by the corruptions.
_CLEAN_SHARE = 0.5

_LARGEST_LOG = np.log(20.0)


def find_distance_temperature(
    net: StackedNet,
    held: HeldOutLogits,
    reach: float,
    pool: np.ndarray,
    rng: np.random.Generator,
) -> Temperature:
    """Estimate the exponent of the temperature by distance.

    `pool` are scaled training rows that corruptions take values from. The exponent minimises the
    log loss of held-out rows and of their corrupted copies, each by the network that held the row
    out. It is shrunk towards 2 with the weight of 20 rows.
    """
    parts = [(held, _CLEAN_SHARE)]
    for corrupt in CORRUPTIONS:
        copies = held.corrupt(net, lambda x, f=corrupt: f(x, pool, rng), _N_CORRUPTED)
        parts.append((copies, (1 - _CLEAN_SHARE) / len(CORRUPTIONS)))

    def measure_loss(exponent: float) -> float:
        temperature = Temperature(exponent=exponent, reach=reach)
        loss = sum(
            share * -rows.average(lambda f: f.log_likelihood(temperature(f.distances)))
            for rows, share in parts
        )
        return loss + _PRIOR_ROWS / held.n_effective * (exponent - DEFAULT_EXPONENT) ** 2 / 8

    found: Any = minimize_scalar(
        measure_loss, bounds=(0, _HIGHEST_EXPONENT), method="bounded", options={"xatol": 1e-2}
    )
    return Temperature(exponent=float(found.x), reach=reach)


def find_base_temperature(held: HeldOutLogits) -> Temperature:
    """Estimate one temperature for all rows (Guo et al., 2017, section 4.2).

    It minimises the log loss of held-out rows. Its logarithm is shrunk towards 0 with the weight
    of 20 rows.
    """

    def measure_loss(log_base: float) -> float:
        loss = -held.average(lambda fold: fold.log_likelihood(float(np.exp(log_base))))
        return loss + _PRIOR_ROWS / held.n_effective * log_base**2 / 2

    found: Any = minimize_scalar(
        measure_loss,
        bounds=(-_LARGEST_LOG, _LARGEST_LOG),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return Temperature(base=float(np.exp(found.x)))


# Corruptions map scaled rows (row, feature) to corrupted rows. Each row has a strength of its own.


def _add_noise(x, pool, rng):
    return x + 1.5 * rng.random((len(x), 1)) * rng.normal(size=x.shape)


def _swap_features(x, pool, rng):
    other = pool[rng.integers(len(pool), size=len(x))]
    return np.where(rng.random(x.shape) < 0.6 * rng.random((len(x), 1)), other, x)


def _blend_rows(x, pool, rng):
    other = pool[rng.integers(len(pool), size=len(x))]
    return x + 0.5 * rng.random((len(x), 1)) * (other - x)


def _drop_features(x, pool, rng):
    return np.where(rng.random(x.shape) < 0.6 * rng.random((len(x), 1)), 0.0, x)


def _stretch_rows(x, pool, rng):
    return x * (1 + 2 * rng.random((len(x), 1)))


CORRUPTIONS = _add_noise, _swap_features, _blend_rows, _drop_features, _stretch_rows
