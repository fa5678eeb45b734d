"""Calibration of a regressor: what held-out rows say about its predictive distribution.

`predict_out_of_fold` collects predictions for rows that a network did not see. All else is a
function of them: the factor of the standard deviation, and the tails of the distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._predictor import find_tail_scales
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet

# Held-out rows are few: the error of their mean square is that of a Student t. A surcharge of
# 4 / h on the variance kept coverage up on 459 sets of 5 to 60 rows.
_SURCHARGE = 4

# The weight of the prior, in rows that need no factor. On the same sets 20, 30 and 50 were alike.
_PRIOR_ROWS = 30

# Candidates for the degrees of freedom of the tails. Below 2 the variance would not exist.
_TAIL_DF = np.array([40.0, 25, 16, 12, 9, 7, 6, 5, 4.5, 4, 3.5, 3, 2.75, 2.5, 2.25, 2.1])

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
    own_variance: np.ndarray  # total variance that this network predicts
    epistemic: np.ndarray  # variance between the components of all networks
    aleatoric: np.ndarray  # mean noise variance of all networks
    spread: np.ndarray  # variance between the other networks; 0 if they are fewer than two
    weights: np.ndarray  # (row,); rows that pad a fold have weight zero
    n_networks: int
    n_units: float  # effective number of distinct held-out rows (or groups)

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
        """The first five fields of the result, `(field, target, sample)`."""
        mean, variance = head.mean_and_variance(raw)  # (member, target, component, sample)
        variance = mean.new_zeros(()).expand_as(mean) if variance is None else variance
        own, of_networks = mean[member], mean.mean(dim=2)
        others = _drop(of_networks, member)
        error = y - of_networks[member]
        spread = others.var(dim=0) if len(others) > 1 else torch.zeros_like(error)
        all_means = mean.transpose(0, 1).flatten(1, 2)
        return torch.stack(
            [
                error,
                variance[member].mean(dim=1) + _variance(own, ddof),
                _variance(all_means, ddof),
                variance.mean(dim=(0, 2)),
                spread,
            ]
        )

    values, weights = hold_out.ask_all_members(net, compare)
    error, own_variance, epistemic, aleatoric, spread = values.cpu().numpy()
    return OutOfFold(
        error=error,
        own_variance=own_variance,
        epistemic=epistemic,
        aleatoric=aleatoric,
        spread=spread,
        weights=weights.cpu().numpy(),
        n_networks=n_networks,
        n_units=hold_out.count_units(),
    )


def _drop(tensor: torch.Tensor, index: int) -> torch.Tensor:
    return torch.cat([tensor[:index], tensor[index + 1 :]])


def _variance(means: torch.Tensor, ddof: int) -> torch.Tensor:
    """Variance between component means `(target, component, sample)`; 0 for one component."""
    return means.var(dim=1, correction=min(ddof, means.shape[1] - 1))


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


def find_std_factor(found: OutOfFold, *, has_noise: bool) -> np.ndarray:
    """Return the factor of the standard deviation, per target.

    It is the root of the error ratio, which is drawn towards 1 with the weight of `_PRIOR_ROWS`
    rows. Without a noise model there is no reason to expect 1, and so no prior. The surcharge
    covers the uncertainty of the ratio itself.
    """
    ratio, n = estimate_error_ratio(found), found.n_units
    share = n / (n + _PRIOR_ROWS) if has_noise else 1.0
    return np.sqrt((1 + _SURCHARGE / n) * (1 + share * (ratio - 1)))


def find_tail_df(found: OutOfFold) -> np.ndarray:
    """Return the degrees of freedom of the tails, per target; inf for a normal distribution.

    The network that holds a row out predicts a standard deviation for it. The standardised errors,
    scaled to mean square 1, choose the scale mixture with the highest likelihood, or the normal
    distribution if no mixture gains `_MIN_GAIN`. All networks together are no guide here: the
    epistemic variance contains the error of the one network itself, which hides the tails.
    """
    squares = found.error**2 / np.maximum(found.own_variance, _TINY)
    squares = squares / np.maximum(found.average(squares), _TINY)[:, np.newaxis]
    candidates = np.array([np.inf, *_TAIL_DF])
    log_density = [_log_density(squares, find_tail_scales(df)) for df in candidates]
    gain = np.array([found.average(v - log_density[0]) for v in log_density]) * found.n_units
    best = gain.argmax(axis=0)
    return np.where(gain.max(axis=0) > _MIN_GAIN, candidates[best], np.inf)


def _log_density(squares: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Log density of an equal-weight scale mixture of normals, up to a constant."""
    terms = [-0.5 * squares / scale**2 - np.log(scale) for scale in scales]
    return logsumexp(terms, axis=0) - np.log(len(scales))


def calibrate(
    net: StackedNet,
    hold_out: HoldOut | None,
    *,
    enabled: bool,
    ddof: int,
    defaults: Mapping[str, np.ndarray],
    y_scale: np.ndarray,
) -> dict[str, Any]:
    """Return `std_factor_`, `tail_df_` and, for constant noise, `noise_std_`, by name.

    `defaults` holds the first two, `(target,)`, for a fit without hold-out or calibration.
    `y_scale`, `(target,)`, is the unit of the scaled targets.
    """
    head = net.criterion_
    assert isinstance(head, GaussianHead)
    has_noise = head.noise is not None
    attributes = dict(defaults)
    if enabled and hold_out is not None:
        found = predict_out_of_fold(net, hold_out, ddof)
        attributes["std_factor_"] = find_std_factor(found, has_noise=has_noise)
        if has_noise:
            attributes["tail_df_"] = find_tail_df(found)
    if head.noise == "homoscedastic":
        noise_std = head.noise_std().detach().cpu().double().numpy()
        attributes["noise_std_"] = noise_std * attributes["std_factor_"] * y_scale
    return {k: float(v[0]) if len(v) == 1 else v for k, v in attributes.items()}
