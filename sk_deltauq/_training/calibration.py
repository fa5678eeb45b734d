"""Calibration of a regressor: what held-out rows say about its predictive distribution.

`predict_out_of_fold` collects predictions for rows that a network did not see. All else is a
function of them: the factor of the standard deviation, and the tails of the distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._predictor import OUTLIER_PERIOD
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet

# The fitted attributes that hold the calibration.
SCALES = "std_factor_", "noise_factor_", "outlier_scale_"

# Added to the variance, over the number of held-out rows: a variance that is estimated from few
# rows needs wider intervals, as with a Student t. With 4, 17 % of the development cells of 5 to 20
# rows covered less than 80 %. With 8, 8 % did, at the same CRPS.
_SURCHARGE = 8

# The weight of the prior, in rows that need no factor. On the same sets 20, 30 and 50 were alike.
_PRIOR_ROWS = 30

# The factor of the noise variance is at least this share of the error ratio, so that a network
# which predicts far too large errors, as on data without noise, loses epistemic variance too.
_LEAST_NOISE = 0.5

# Without a noise model, this share of the mean variance of held-out rows is added for each row.
# Where the units of a network are dead, its components agree exactly, and say nothing.
_LEAST_SHARE = 0.01

# Candidates for the noise scale of outliers, relative to all other rows.
_OUTLIER_SCALES = np.geomspace(1.25, 10, 25)

# The log-likelihood that heavier tails must gain, as in Akaike's criterion.
_MIN_GAIN = 1.0

# Squares of float32 rounding errors in units of the scaled targets.
_TINY = 1e-13


@dataclass(frozen=True)
class OutOfFold:
    """Errors and predicted variances of held-out rows, in units of the scaled targets.

    Arrays are `(target, row)`. A row is there once for each network that holds it out.
    """

    error: np.ndarray  # of the network that holds the row out
    network_spreads: np.ndarray  # variance between components, (network, target, row)
    network_noises: np.ndarray  # mean noise variance of each network, (network, target, row)
    epistemic: np.ndarray  # variance between the components of all networks
    spread: np.ndarray  # variance between the other networks; 0 if they are fewer than two
    weights: np.ndarray  # (row,); rows that pad a fold have weight zero
    n_networks: int
    n_units: float  # effective number of distinct held-out rows (or groups)

    @property
    def aleatoric(self) -> np.ndarray:
        """Mean noise variance of all networks."""
        return self.network_noises.mean(axis=0)

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted mean over rows, `(target,)`."""
        return (values * self.weights).sum(axis=-1) / self.weights.sum()


def predict_out_of_fold(net: StackedNet, hold_out: HoldOut, ddof: int) -> OutOfFold:
    """Ask all networks about the rows that each of them holds out.

    `ddof` is subtracted from the number of components in the variance of their means.
    """
    head, n_networks = net.criterion_, net.module_.core.n_members
    assert isinstance(head, GaussianHead)

    def compare(member, raw, y):
        """All fields of the result, `(field, target, sample)`; networks have the last fields."""
        mean, variance = head.mean_and_variance(raw)  # (member, target, component, sample)
        variance = mean.new_zeros(()).expand_as(mean) if variance is None else variance
        of_networks = mean.mean(dim=2)
        error = y - of_networks[member]
        others = torch.cat([of_networks[:member], of_networks[member + 1 :]])
        spread = others.var(dim=0) if len(others) > 1 else torch.zeros_like(error)
        epistemic = measure_spread(mean.transpose(0, 1).flatten(1, 2).unsqueeze(0))
        parts = error[None], spread[None], epistemic
        return torch.cat([*parts, measure_spread(mean), variance.mean(dim=2)])

    def measure_spread(means):
        """Variance between components, `(network, target, sample)`; 0 for one component."""
        return means.var(dim=2, correction=min(ddof, means.shape[2] - 1))

    values, weights = hold_out.ask_all_members(net, compare)
    error, spread, epistemic, *of_networks = values.cpu().numpy()
    return OutOfFold(
        error=error,
        network_spreads=np.stack(of_networks[:n_networks]),
        network_noises=np.stack(of_networks[n_networks:]),
        epistemic=epistemic,
        spread=spread,
        weights=weights.cpu().numpy(),
        n_networks=n_networks,
        n_units=hold_out.count_units(),
    )


def estimate_error_ratio(found: OutOfFold) -> np.ndarray:
    """Estimate the mean squared error of all networks together, in predicted variances.

    Only one of M networks did not train on a held-out row. The mean of M networks is closer to
    the target than one of them: its expected squared error is lower by 1 - 1/M of the variance
    between networks. Networks that trained on the row show slightly less of it than on new rows.
    The rows also chose the epoch; with a few hundred of them the error is slightly low as well.
    The error of the mean is at least what M independent errors would give.

    Returns one ratio per target; 1 if the predicted variance is zero everywhere.
    """
    total = found.epistemic + found.aleatoric
    is_known = total.max(axis=-1) > _TINY
    total = np.maximum(total, _TINY)
    error, spread = (found.average(v / total) for v in (found.error**2, found.spread))
    m = found.n_networks
    return np.where(is_known, np.maximum(error - (1 - 1 / m) * spread, error / m), 1.0)


def find_std_factors(found: OutOfFold, *, has_noise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor of all standard deviations, and another one of the noise, per target.

    Their effect is the error ratio, shrunk towards 1 with the weight of `_PRIOR_ROWS` rows. A
    ratio below 1 is averaged with 1 as a precision, the inverse of a variance. A small ratio has a
    small error, so it needs less shrinkage than a large one. Without a noise model there is no
    reason to expect 1, and no shrinkage. The surcharge covers the uncertainty of the ratio itself.

    A ratio below 1 shrinks the noise only, as far as possible: the epistemic part is small on
    held-out rows, which are like the training rows, and decides out of distribution.
    """
    ratio, n = estimate_error_ratio(found), found.n_units
    noise = np.ones_like(ratio)
    if has_noise:
        weight = n / (n + _PRIOR_ROWS)
        high, low = np.maximum(ratio, 1), np.clip(ratio, _TINY, 1)
        ratio = np.where(ratio > 1, 1 + weight * (high - 1), 1 / (1 + weight * (1 / low - 1)))
        total = np.maximum(found.epistemic + found.aleatoric, _TINY)
        share = np.clip(found.average(found.aleatoric / total), _TINY, 1)
        wanted = np.maximum((ratio - (1 - share)) / share, _LEAST_NOISE * ratio)
        noise = np.where(ratio < 1, np.minimum(wanted, 1), 1.0)
        ratio = ratio / (1 - share + share * noise)
    return np.sqrt((1 + _SURCHARGE / n) * ratio), np.sqrt(noise)


def find_least_std(found: OutOfFold) -> np.ndarray:
    """Return the standard deviation to add to the spread without a noise model, per target.

    Without it, a row on which all components agree has a standard deviation of zero.
    """
    return np.sqrt(_LEAST_SHARE * found.average(found.epistemic))


def find_outlier_scale(found: OutOfFold, noise_factor: np.ndarray) -> np.ndarray:
    """Return the noise scale of outliers, per target; 1 for a normal distribution.

    `noise_factor`, `(target,)`, is the second factor of `find_std_factors`.

    The scale maximises the likelihood of the standardised errors. It is 1 if no scale
    gains `_MIN_GAIN`. The density of an error is a mixture over the variances of all networks,
    whose disagreement explains some large errors. The variance between the networks is no part
    of it: it contains the error of the one network, which would hide the tails.
    """
    noises = found.network_noises * noise_factor[:, np.newaxis] ** 2
    errors, variances = found.error**2, np.maximum(found.network_spreads + noises, _TINY)
    ratio = found.average(errors / variances.mean(axis=0))
    squares = errors / (variances * np.maximum(ratio, _TINY)[:, np.newaxis])
    log_stds = 0.5 * np.log(variances)
    candidates = np.array([1.0, *_OUTLIER_SCALES])
    densities = [_log_density(squares, log_stds, scale) for scale in candidates]
    gains = found.n_units * np.array([found.average(d - densities[0]) for d in densities])
    return np.where(gains.max(axis=0) > _MIN_GAIN, candidates[gains.argmax(axis=0)], 1.0)


def _log_density(squares: np.ndarray, log_stds: np.ndarray, scale: float) -> np.ndarray:
    """Log density of errors, up to a constant, if one in `OUTLIER_PERIOD` is an outlier.

    `squares` and `log_stds`, `(network, target, row)`, are the squared error in units of the
    variance of each network, and its standard deviation.
    """
    share = 1 / OUTLIER_PERIOD
    narrow = (1 - share + share * scale**2) ** -0.5
    parts = [
        np.log(weight / std) - log_stds - 0.5 * squares / std**2
        for weight, std in ((1 - share, narrow), (share, narrow * scale))
    ]
    return np.asarray(logsumexp(np.logaddexp(*parts), axis=0))


def calibrate(
    net: StackedNet,
    hold_out: HoldOut | None,
    found: OutOfFold | None,
    *,
    enabled: bool,
    defaults: Mapping[str, np.ndarray],
    y_scale: np.ndarray,
    add_rare_levels: Callable | None = None,
) -> dict[str, Any]:
    """Return the `SCALES`, `_rarity_` and `_least_std_`, and for constant noise `noise_std_`.

    `found` are the predictions for the rows of `hold_out`; both are None without hold-out.
    `defaults` holds the same attributes, for a fit without hold-out or calibration.
    `y_scale`, `(target,)`, is the unit of the scaled targets. `add_rare_levels(net, hold_out,
    found)` adds the variance of rare levels to the variances of held-out rows.
    """
    head = net.criterion_
    assert isinstance(head, GaussianHead)
    has_noise = head.noise is not None
    attributes: dict[str, Any] = dict(defaults)
    if enabled and hold_out is not None and found is not None:
        rows, rarity = found, None
        if add_rare_levels is not None:
            rows, rarity = add_rare_levels(net, hold_out, found)
        std_factor, noise_factor = find_std_factors(rows, has_noise=has_noise)
        if rarity is not None:  # a part of the epistemic variance, so the factor is its factor too
            attributes["_rarity_"] = rarity.scale(std_factor**2)
        attributes |= {"std_factor_": std_factor, "noise_factor_": noise_factor}
        if has_noise:
            attributes["outlier_scale_"] = find_outlier_scale(rows, noise_factor)
        else:
            attributes["_least_std_"] = find_least_std(rows)
    if head.noise == "homoscedastic":
        noise_std = head.noise_std().detach().cpu().double().numpy()
        factor = attributes["std_factor_"] * attributes["noise_factor_"]
        attributes["noise_std_"] = noise_std * factor * y_scale
    return {
        k: float(v[0]) if isinstance(v, np.ndarray) and len(v) == 1 else v
        for k, v in attributes.items()
    }
