"""Formulas of equal-weight normal mixtures, on arrays `(component, sample[, output])`.

The functions do not check their arguments; the class in `_normal_mixture.py` does.
"""

import math

import numpy as np
from scipy.special import erf, ndtr, ndtri

from sk_deltauq.distributions._arrays import component_std, find_unit, log_mean_exp


def root_mean_square(stds):
    unit = find_unit(stds)
    return unit * np.sqrt(np.square(stds / unit).mean(axis=0))


def total_std(means, stds):
    return np.hypot(component_std(means), root_mean_square(stds))


def _standardise(y, means, stds):
    """``(y - means) / stds``. For a point mass: -inf if ``y < mean``, inf otherwise."""
    distance = y - means
    z = np.where(distance < 0, -np.inf, np.inf)
    with np.errstate(over="ignore", under="ignore"):
        return np.divide(distance, stds, out=z, where=stds > 0)


def log_pdf(means, stds, y):
    with np.errstate(over="ignore", under="ignore"):
        log_density = -0.5 * ((y - means) / stds) ** 2 - np.log(math.sqrt(2 * math.pi) * stds)
    return log_mean_exp(log_density)


def cdf(means, stds, y):
    return ndtr(_standardise(y, means, stds)).mean(axis=0)


def crps(means, stds, y):
    """E|Y - y| - E|Y - Y'| / 2 for independent draws Y and Y' from the mixture."""
    n_components = len(means)
    to_observation = mean_distance(means, stds, y)
    # Pairs (k, k) count once, with mean 2 std / sqrt(pi); pairs (k, l > k) count twice. A loop
    # over k limits the memory.
    between_draws = 2 / math.sqrt(math.pi) * stds.sum(axis=0)
    for k in range(n_components - 1):
        gaps, scales = means[k + 1 :] - means[k], np.hypot(stds[k + 1 :], stds[k])
        between_draws += 2 * _mean_abs(gaps, scales).sum(axis=0)
    return np.maximum(to_observation - between_draws / (2 * n_components**2), 0)


def mean_distance(means, stds, y):
    """E|Y - y| for a draw Y from the mixture."""
    return _mean_abs(means - y, stds).mean(axis=0)


def _mean_abs(mean, std):
    """E|Z| for Z ~ N(mean, std**2), which is ``|mean|`` if ``std = 0``."""
    mean = np.abs(mean)
    z = _standardise(mean, 0, std)
    with np.errstate(over="ignore", under="ignore"):
        return mean * erf(z / math.sqrt(2)) + math.sqrt(2 / math.pi) * std * np.exp(-0.5 * z**2)


def ppf(means, stds, levels):
    """Quantiles of the mixtures `(sample[, output], level)`."""
    n_components = len(means)
    shape = (*means.shape[1:], levels.size)
    # One root for each column: (component, sample * output * level)
    means, stds = (
        np.repeat(array.reshape(n_components, -1), levels.size, axis=1) for array in (means, stds)
    )
    q = np.broadcast_to(levels, shape).ravel()
    component_ppf = np.multiply(stds, _normal_ppf(q), out=np.zeros_like(stds), where=stds > 0)
    component_ppf += means
    low, high = component_ppf.min(axis=0), component_ppf.max(axis=0)

    x = np.where(q == 0, low, high)
    masses = ~stds.any(axis=0)
    rank = np.clip(np.ceil(n_components * q[masses]) - 1, 0, n_components - 1).astype(np.intp)
    x[masses] = np.take_along_axis(np.sort(means[:, masses], axis=0), rank[None], axis=0)[0]
    search = (low < high) & ~masses & (q > 0) & (q < 1)
    x[search] = _find_root(means[:, search], stds[:, search], q[search], low[search], high[search])

    # Levels are solved independently, so rounding could make neighbouring quantiles cross.
    x = x.reshape(shape)
    order = np.argsort(levels)
    x[..., order] = np.maximum.accumulate(x[..., order], axis=-1)
    return x


def _find_root(means, stds, q, low, high):
    """Solve ``cdf(x) = q`` between `low` and `high`, one root for each column.

    Newton's method, with bisection if a step leaves the bracket or is not half the previous one.
    """
    scale = total_std(means, stds)
    # Over a step this short, the density of each component is constant to 1e-5. The end of the
    # step is therefore the root to about 1e-11 of the smallest std.
    short_step = 1e-6 * stds.min(axis=0)
    x = np.clip(means.mean(axis=0) + scale * _normal_ppf(q), low, high)
    last_step = high - low
    roots = np.empty_like(x)
    columns = np.arange(x.size)
    while columns.size:
        excess, density = _excess(means, stds, x, q)
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            step = -excess / density  # NaN or infinite if the cdf is flat: bisect
        newton, middle = x + step, low + (high - low) / 2
        accept = (low < newton) & (newton < high) & (np.abs(step) < last_step / 2)
        x = np.where(accept, newton, middle)
        last_step = np.where(accept, np.abs(step), high - low)

        converged = np.abs(step) <= short_step
        # The negation also ends the search where a number is NaN.
        exhausted = ~(high - low > 1e-14 * scale) | (middle == low) | (middle == high)
        done = converged | exhausted
        roots[columns[done]] = np.where(converged, np.clip(newton, low, high), high)[done]
        columns, x, last_step, low, high, q, scale, short_step = (
            array[~done] for array in (columns, x, last_step, low, high, q, scale, short_step)
        )
        means, stds = means[:, ~done], stds[:, ~done]
    return roots


def _excess(means, stds, x, q):
    """``n_components * (cdf(x) - q)`` and its derivative, accurate in both tails.

    A component with its mean at or below `x` contributes 1 minus an upper tail, any other a lower
    tail. The ones and the tails are summed separately, so rounding does not hide small tails, as
    for a level of 1 - 1e-10 or for widely separated components.
    """
    z = _standardise(x, means, stds)
    below = z >= 0
    with np.errstate(under="ignore"):
        tails = ndtr(-np.abs(z))
    n_below, n_above = below.sum(axis=0), (~below).sum(axis=0)
    n_components = len(means)
    whole = np.where(q <= 0.5, n_below - n_components * q, n_components * (1 - q) - n_above)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-0.5 * z**2)
    # A std below 1e-300 counts as a point mass, because its density would overflow.
    np.divide(density, math.sqrt(2 * math.pi) * stds, out=density, where=stds > 1e-300)
    return whole + np.where(below, -tails, tails).sum(axis=0), density.sum(axis=0)


def _normal_ppf(q):
    # For q > 0.5, 1 - q is exact, and the lower tail of `ndtri` is accurate.
    return np.where(q <= 0.5, ndtri(q), -ndtri(1 - q))
