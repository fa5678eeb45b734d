"""Random mixtures of normal distributions, and levels of quantiles."""

import numpy as np
from scipy import stats

from sk_deltauq.distributions import NormalMixture

# No level is a multiple of 1 / n_components, because brentq fails in a gap between components.
LEVELS = np.array([1e-10, 0.001, 0.053, 0.47, 0.61, 0.951, 0.999, 1 - 1e-10])


def draw_mixture(rng, shape=(5, 4), spread=1.0, aleatoric=None):
    means = spread * rng.normal(size=shape)
    stds = np.exp(rng.normal(scale=0.5, size=shape))
    return NormalMixture(means, stds, aleatoric=aleatoric)


def list_rows(dist):
    """List the components of each row, as one vector of SciPy's normal distributions."""
    return [stats.norm(*row) for row in zip(dist.means.T, dist.stds.T, strict=True)]
