"""Posterior of PBP: a normal distribution for each weight, a Gamma for each of two precisions.

Symbols of the paper refer to section 3 of Hernández-Lobato and Adams, ICML 2015.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from sk_deltauq.baselines._pbp_filter import Precision

# Prior shape and rate of both Gamma distributions, as in the paper.
_SHAPE = _RATE = 6.0

# A larger variance means that the data hardly inform the weight: keep its prior factor.
_LARGEST_VARIANCE = 1e6


class Posterior:
    """Factorised posterior of a network, its noise precision and its weight precision.

    Attributes
    ----------
    means, variances : list of ndarray of shape (n_inputs + 1, n_outputs)
        Moments of the weights of each layer. The weights contain the factor
        1 / sqrt(n_inputs + 1). The last input is the bias.
    noise : Precision
        Precision of the noise (gamma in the paper).
    weights : Precision
        Precision of all weights without the factor (lambda in the paper).
    """

    def __init__(self, sizes, rng: np.random.Generator):
        shapes = [(n_in + 1, n_out) for n_in, n_out in pairwise(sizes)]
        self.noise, self.weights = Precision(_SHAPE, _RATE), Precision(_SHAPE, _RATE)
        prior = self.weights.variance
        # Random means, because equal units of a layer would stay equal.
        self.means = [rng.standard_normal(shape) / shape[0] for shape in shapes]
        self.variances = [np.full(shape, prior / shape[0]) for shape in shapes]
        # The prior factor of each weight, on the last axis: precision, precision times mean, and
        # the terms that it adds to the shape and rate of `weights`.
        self._factors = [np.zeros((*shape, 4)) for shape in shapes]
        for factors in self._factors:
            factors[..., 0] = 1 / prior

    def refine_prior(self) -> None:
        """Refine each prior factor in turn (expectation propagation)."""
        for mean, var, factors in zip(self.means, self.variances, self._factors, strict=True):
            n_inputs = len(mean)
            weights = np.stack([mean * math.sqrt(n_inputs), var * n_inputs], axis=-1)
            rows = zip(
                weights.reshape(-1, 2).tolist(), factors.reshape(-1, 4).tolist(), strict=True
            )
            refined = np.array([self._refine(m, v, factor) for (m, v), factor in rows])
            factors[:] = refined[:, 2:].reshape(factors.shape)
            mean[:] = refined[:, 0].reshape(mean.shape) / math.sqrt(n_inputs)
            var[:] = refined[:, 1].reshape(var.shape) / n_inputs

    def _refine(self, mean: float, var: float, factor):
        """Compute the new mean and variance of one weight, and its new prior factor."""
        precision = 1 / var - factor[0]
        shape, rate = self.weights.shape - factor[2], self.weights.rate - factor[3]
        if not (precision > 0 and shape > 1 and rate > 0 and var < _LARGEST_VARIANCE):
            return (mean, var, *factor)
        # Remove the factor of the weight, then treat the prior as an observation of zero.
        cavity_mean, cavity_var = (mean / var - factor[1]) / precision, 1 / precision
        cavity = Precision(shape, rate)
        d_mean, d_var, _ = cavity.absorb(cavity_mean, cavity_var, 0.0, 1.0)
        mean = cavity_mean + cavity_var * d_mean
        var = cavity_var - cavity_var**2 * (d_mean**2 - d_var)
        self.weights = cavity
        return (
            mean,
            var,
            1 / var - precision,
            mean / var - precision * cavity_mean,
            cavity.shape - shape,
            cavity.rate - rate,
        )
