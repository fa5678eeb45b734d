"""What PBP knows of a network: a normal for each weight, a Gamma for each of two precisions.

The names in the paper are those of section 3 of Hernández-Lobato and Adams, ICML 2015.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from sk_deltauq.baselines._pbp_filter import Precision

# Shape and rate of both Gamma distributions before any data, as in the paper: as much as six
# observations with variance one say.
_SHAPE = _RATE = 6.0

# A weight that the data have hardly touched: its factor is left alone.
_LARGEST_VARIANCE = 1e6


class Posterior:
    """Factorised posterior of a network, its noise precision and its weight precision.

    Attributes
    ----------
    means, variances : list of ndarray of shape (n_inputs + 1, n_outputs)
        One of each a layer, over sqrt(n_inputs + 1); the last input is the bias.
    noise : Precision
        Of the noise: gamma in the paper.
    weights : Precision
        Of all weights, before the division by sqrt(n_inputs + 1): lambda in the paper.
    """

    def __init__(self, sizes, rng: np.random.Generator):
        shapes = [(n_in + 1, n_out) for n_in, n_out in pairwise(sizes)]
        self.noise, self.weights = Precision(_SHAPE, _RATE), Precision(_SHAPE, _RATE)
        prior = self.weights.variance
        # Random means, or all units of a layer would stay alike.
        self.means = [rng.standard_normal(shape) / shape[0] for shape in shapes]
        self.variances = [np.full(shape, prior / shape[0]) for shape in shapes]
        # The factors of the prior, one a weight, in natural parameters, the last axis: precision,
        # precision times mean, and what it adds to the shape and to the rate of `weights`.
        self._factors = [np.zeros((*shape, 4)) for shape in shapes]
        for factors in self._factors:
            factors[..., 0] = 1 / prior

    def refine_prior(self) -> None:
        """Replace the prior's factors by better ones, each in turn (expectation propagation)."""
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
        """New mean and variance of one weight, and its new factor."""
        precision = 1 / var - factor[0]
        shape, rate = self.weights.shape - factor[2], self.weights.rate - factor[3]
        if not (precision > 0 and shape > 1 and rate > 0 and var < _LARGEST_VARIANCE):
            return (mean, var, *factor)
        # The weight without its factor; then the prior's density of zero is one more observation.
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
