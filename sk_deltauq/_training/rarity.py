"""How much variance rare and unseen levels of categories add to the epistemic part.

An unseen level is a random one, so its variance is the variance `t` between the levels. With m
training rows and the noise variance s, the variance that is left is `t / (1 + m t / s)`, the
posterior variance of a random intercept. The trained network shows the spread between its levels,
and the errors of held-out rows say how far this is right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._rarity import MOST_ROWS, Levels, RareLevels
from sk_deltauq._training.calibration import OutOfFold, estimate_error_ratio
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet

# The spread between levels is measured with this many levels, training rows and components.
_N_LEVELS, _N_PROBES, _N_COMPONENTS = 16, 32, 8

# Squares of float32 rounding errors in units of the scaled targets.
_TINY = 1e-13

# Weight of the measured spread, in held-out rows whose errors come from rare levels alone.
_PRIOR_ROWS = 10


def measure_level_spread(net: StackedNet, levels: Levels, counts, x: torch.Tensor) -> np.ndarray:
    """Measure the variance between levels in the trained network, `(level, target)`.

    It is the variance of the predicted mean over the common levels of the group, averaged over
    some of the scaled training rows `x`, `(row, feature)`. A level outside of groups has the mean
    squared effect of such levels.
    """
    probes = x[np.linspace(0, len(x) - 1, min(len(x), _N_PROBES)).astype(int)]
    head = net.criterion_
    assert isinstance(head, GaussianHead)
    spread = np.zeros((len(levels.groups), head.n_targets))
    for number in range(-1, levels.n_groups):
        group = np.flatnonzero(levels.groups == number)
        chosen = _choose_levels(group, counts)
        if number >= 0:
            variants = [(group, [level]) for level in chosen]
            found = _predict_variants(net, levels, probes, variants)
            spread[group] = found.var(axis=0, ddof=1).mean(axis=-1)
        elif len(group):
            variants = [([level], on) for level in chosen for on in ([level], [])]
            found = _predict_variants(net, levels, probes, variants)
            spread[group] = np.square(found[::2] - found[1::2]).mean(axis=(0, -1))
    return spread


def _choose_levels(group: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the most frequent levels: common ones, or three if fewer are common."""
    order = group[np.argsort(-counts[group], kind="stable")]
    n_common = int((counts[order] > MOST_ROWS).sum())
    return order[: min(max(n_common, 3), _N_LEVELS)]


@torch.inference_mode()
def _predict_variants(net: StackedNet, levels: Levels, probes: torch.Tensor, variants):
    """Predict rows with some levels switched off and then others on.

    `variants` are pairs of such levels. Returns means `(variant, target, row)`.
    """
    head, network = net.criterion_, net.module_.eval()
    assert isinstance(head, GaussianHead)
    rows = probes.repeat(len(variants), 1, 1)  # (variant, row, feature)
    for row, (off, on) in zip(rows, variants, strict=True):
        for chosen, values in ((off, levels.off), (on, levels.on)):
            for level in chosen:
                row[:, levels.columns[level]] = float(values[level])
    raw = network.components(rows.flatten(0, 1).T, limit=_N_COMPONENTS)
    mean, _ = head.mean_and_variance(raw)  # (member, target, component, variant * row)
    mean = mean.mean(dim=(0, 2)).unflatten(-1, rows.shape[:2]).transpose(0, 1)
    return mean.double().cpu().numpy()


def add_rare_levels(
    net: StackedNet, hold_out: HoldOut, found: OutOfFold, levels: Levels, x: torch.Tensor
) -> tuple[OutOfFold, RareLevels]:
    """Estimate the variance of rare levels, and add it to the variances of the held-out rows.

    `x` are the scaled training rows, `(row, feature)`. A network that holds rows out knows its
    levels from fewer rows than `x` has.
    """
    counts = levels.count_rows(x)
    spread = measure_level_spread(net, levels, counts, x)
    noise = np.maximum(found.average(found.aleatoric), _TINY)
    first = [np.flatnonzero(levels.groups == number)[0] for number in range(levels.n_groups)]

    def make_rare_levels(counts):
        known = 1 + counts[:, np.newaxis] * spread / noise  # (level, target)
        is_rare = counts[:, np.newaxis] <= MOST_ROWS
        return RareLevels(levels, np.where(is_rare, spread / known, 0.0), spread[first])

    folds = hold_out.iterate_folds()
    added = [make_rare_levels(levels.count_rows(trained))(rows) for trained, rows in folds]
    added = torch.cat(added).T.cpu().numpy()  # (target, row)
    factor = estimate_factor(found, added)
    added = factor[:, np.newaxis] * added
    found = replace(
        found, epistemic=found.epistemic + added, network_spreads=found.network_spreads + added
    )
    return found, make_rare_levels(counts).scale(factor)


def estimate_factor(found: OutOfFold, added: np.ndarray) -> np.ndarray:
    """Return the factor of the added variance, `(target,)`, by the method of moments.

    The squared errors should exceed the variances that the networks predict by the added variance
    `(target, row)`. The predicted variances are first scaled to the errors of the other rows. Each
    row counts by the share of the added variance, squared. The prior is a factor of 1.
    """
    others = replace(found, weights=found.weights * (added == 0).all(axis=0))
    ratio = estimate_error_ratio(others) if others.weights.any() else np.ones(len(added))
    base = np.maximum(ratio[:, np.newaxis] * (found.epistemic + found.aleatoric), _TINY)
    # As in `estimate_error_ratio`: averaging over networks reduces the error.
    errors = found.error**2 - (1 - 1 / found.n_networks) * found.spread
    share = added / (base + added)
    rows = found.weights / found.weights.mean()
    excess = (rows * share * (errors - base) / (base + added)).sum(axis=1)
    return np.maximum(excess + _PRIOR_ROWS, 0) / ((rows * share**2).sum(axis=1) + _PRIOR_ROWS)
