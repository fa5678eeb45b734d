"""Calibration of a classifier: temperatures from held-out rows and corrupted copies of them.

A temperature by distance cannot be learnt from rows that are like the training rows. So held-out
rows are corrupted in five ways, with their labels kept, as in Guo et al. for the loss (log loss on
held-out rows) and as in data sets of common corruptions for the shifts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from sk_deltauq._outlier_scores import average_log_proba, measure_entropy
from sk_deltauq._temperature import Temperature
from sk_deltauq._training.held_out_logits import HeldOutLogits, ask_all_members
from sk_deltauq._training.net import StackedNet

# The exponent without held-out rows, and the weight of this prior in rows.
DEFAULT_EXPONENT, _PRIOR_ROWS = 2.0, 20.0
_HIGHEST_EXPONENT = 8.0

# Held-out rows of each corruption.
_N_CORRUPTED = 2048

# Weight of the held-out rows as they are; the rest is shared by the corruptions.
_CLEAN_SHARE = 0.5

# Held-out rows that all networks are asked about.
_N_POOLED = 1024

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
    for corrupt in SIMULATED_SHIFTS:
        rows = held.sample(rng, _N_CORRUPTED)
        copies = rows.corrupt(net, lambda x, f=corrupt: f(x, pool, rng))
        parts.append((copies, (1 - _CLEAN_SHARE) / len(SIMULATED_SHIFTS)))

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


def find_pooling_factor(
    net: StackedNet, held: HeldOutLogits, temperature: Temperature, rng: np.random.Generator
) -> float:
    """Return the factor of the temperature that the mean over several networks needs.

    A held-out row is new for the networks of its fold alone, so `temperature` is right for them.
    The mean over networks that disagree is less certain than each of them, although its log loss
    is lower: it is underconfident (Rahaman and Thiery, 2021, "Uncertainty quantification and deep
    ensembles"). The factor is the mean entropy of the networks, divided by the entropy of their
    mean, on held-out rows. It is shrunk towards 1 with the weight of 20 rows.
    """
    if len(held.folds) == 1:
        return 1.0  # all networks hold out the same rows
    of_networks, of_mean = 0.0, 0.0
    for fold in held.sample(rng, _N_POOLED).folds:
        logits = ask_all_members(net, fold.x) / temperature.base
        entropies = [
            _measure_mean_entropy(logits[other.members].flatten(0, 1)) for other in held.folds
        ]
        of_networks += float((torch.stack(entropies).mean(dim=0) * fold.weights).sum())
        of_mean += float((_measure_mean_entropy(logits.flatten(0, 1)) * fold.weights).sum())
    if not 0 < of_networks < of_mean:
        return 1.0
    shrinkage = held.n_effective / (held.n_effective + _PRIOR_ROWS)
    return (of_networks / of_mean) ** shrinkage


def _measure_mean_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Entropy of the mean over the components, `(row,)`."""
    return measure_entropy(average_log_proba(logits))


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


SIMULATED_SHIFTS = _add_noise, _swap_features, _blend_rows, _drop_features, _stretch_rows
