"""The parameter `target_transform`: fit monotone maps of the targets, and choose one."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import PowerTransformer, QuantileTransformer

from sk_deltauq._estimators.monotone_maps import (
    IdentityMap,
    LogMap,
    MonotoneMap,
    PiecewiseLinearMap,
    TransformerMap,
    YeoJohnsonMap,
    continue_map,
)
from sk_deltauq._host import draw_seed
from sk_deltauq._training.budget import raise_interrupts
from sk_deltauq._warnings import warn_caller
from sk_deltauq.distributions import TransformedMixture
from sk_deltauq.exceptions import UncertaintyWarning

NAMES = ("log", "log1p", "yeo-johnson", "quantile", "auto")

# The number of targets that stand for all targets when a transformer is fitted.
_SAMPLE = 1000

# Rows between two knots of "quantile": with fewer the density is noise.
_ROWS_PER_KNOT, _FEWEST_KNOTS, _MOST_KNOTS = 20, 5, 100

# Between these powers the Yeo-Johnson transformation has no asymptote. Below 0 it is bounded above
# for positive targets, above 2 it is bounded below for negative ones. Its inverse then explodes
# near the bound, and with it the mean and the standard deviation.
_POWERS = (0.0, 2.0)

# "auto" needs a mean gain of the held-out log density of this many standard errors and nats.
_STANDARD_ERRORS, _GAIN = 2.0, 0.02

# "auto" compares on at least and on at most this many rows.
_FEWEST_ROWS, _MOST_ROWS = 20, 4000

# "auto" fits to each half of the rows, with and without transformation.
_N_HALVES, _N_TRIALS = 2, 4


@dataclass(frozen=True)
class TargetTransform:
    """Fitted monotone maps of the targets, one for each output."""

    names: tuple[str | None, ...]  # (output,), None for an output without transformation
    maps: tuple[MonotoneMap, ...] = field(repr=False)

    def transform(self, Y: np.ndarray) -> np.ndarray:
        """Map targets `(row, output)` to transformed targets."""
        Z = np.stack([g.forward(Y[:, j]) for j, g in enumerate(self.maps)], axis=1)
        bad = ~np.isfinite(Z)
        if bad.any():
            output = int(np.flatnonzero(bad.any(axis=0))[0])
            name = self.names[output]
            if name in _LOGS:
                _check_above(Y[:, output], name, output)
            raise ValueError(
                f"target_transform={name!r} has no value for the target "
                f"{Y[bad[:, output], output][0]} of output {output}. Use 'yeo-johnson' or "
                "'quantile', which take every number."
            )
        return Z

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        """Map transformed targets `(row, output)` to targets."""
        return np.stack([g.inverse(Z[:, j]) for j, g in enumerate(self.maps)], axis=1)

    def hides_outliers(self, output: int) -> bool:
        """Return whether the map of an output goes by ranks, which do not show gross outliers."""
        found: Any = self.maps[output]
        fitted = getattr(getattr(found, "original", None), "transformer", None)
        steps = [step for _, step in getattr(fitted, "steps", [("", fitted)])]
        return isinstance(found, PiecewiseLinearMap) or any(
            isinstance(step, QuantileTransformer) for step in steps
        )


def fit_target_transform(names, Y: np.ndarray, weights: np.ndarray) -> TargetTransform:
    """Fit the maps of all outputs.

    `names` has one entry for each output: a name, a scikit-learn transformer, or None. `Y` is
    `(row, output)`, `weights` are `(row,)`.

    Raises
    ------
    ValueError
        If a target is outside the domain of its transformation, or if a transformer is not
        strictly monotone.
    """
    maps = tuple(_fit_map(name, Y[:, j], weights, j) for j, name in enumerate(names))
    texts = tuple(n if n is None or isinstance(n, str) else repr(n) for n in names)
    return TargetTransform(texts, maps)


_LOGS = {"log": 0, "log1p": 1}


def _fit_map(name, y, weights, output: int) -> MonotoneMap:
    low, high = y.min(), y.max()
    if isinstance(name, str) and name in _LOGS:
        _check_above(y, name, output)
        return continue_map(LogMap(_LOGS[name]), low, high)
    if name is None or low == high:
        return IdentityMap()
    sample = _sample_by_weight(y, weights)
    if np.ptp(sample) == 0:  # all other targets are so rare that the sample has none of them
        sample = np.concatenate([sample, [[low], [high]]])
    if name == "quantile":
        return _fit_quantiles(sample, len(np.unique(y)))
    original = _fit_power(sample) if name == "yeo-johnson" else _fit_user(name, sample, low, high)
    return continue_map(original, low, high)


def _check_above(y, name, output: int) -> None:
    bound = -_LOGS[name]
    if y.min() <= bound:
        others = ("'log1p' (for counts), " if y.min() > -1 else "") + "'yeo-johnson' or 'quantile'"
        raise ValueError(
            f"target_transform={name!r} needs targets above {bound}, but the smallest target of "
            f"output {output} is {y.min()}. Use {others}."
        )


def _sample_by_weight(y, weights):
    """Return quantiles at evenly spaced levels, which stand for all targets.

    Copies of a row and a row with the weight of the copies give the same sample. Transformers of
    scikit-learn take no weights, and need not see more rows.
    """
    order = np.argsort(y)
    levels = np.cumsum(weights[order])
    n_points = max(_SAMPLE // len(y), 1) * len(y) if len(y) < _SAMPLE else _SAMPLE
    wanted = (np.arange(n_points) + 0.5) / n_points * levels[-1]
    return y[order][np.minimum(np.searchsorted(levels, wanted), len(y) - 1)][:, np.newaxis]


def _fit_power(sample) -> YeoJohnsonMap:
    # Relative to its size the target has no unit, so the unit of y changes nothing.
    scale = float(np.sqrt(np.square(sample / np.abs(sample).max()).mean()) * np.abs(sample).max())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        fitted = PowerTransformer(method="yeo-johnson", standardize=False).fit(sample / scale)
    return YeoJohnsonMap(float(np.clip(fitted.lambdas_[0], *_POWERS)), scale)


def _fit_quantiles(sample, n_distinct: int) -> PiecewiseLinearMap:
    """Map some quantiles to normal scores, with straight lines between and beyond them."""
    n_knots = int(np.clip(n_distinct // _ROWS_PER_KNOT, _FEWEST_KNOTS, _MOST_KNOTS))
    fitted: Any = QuantileTransformer(n_quantiles=n_knots).fit(sample)
    # The extremes of n normal values have about these levels.
    edge = 0.5 / max(n_distinct, 2)
    levels = np.clip(fitted.references_, edge, 1 - edge)
    y, which = np.unique(fitted.quantiles_[:, 0], return_inverse=True)
    levels = np.bincount(which, levels) / np.bincount(which)  # equal quantiles are one knot
    if len(y) < 2:
        y, levels = sample.min() + np.array([0.0, np.ptp(sample)]), np.array([edge, 1 - edge])
    return PiecewiseLinearMap(y, ndtri(levels))


def _fit_user(transformer, sample, low, high) -> TransformerMap:
    """Fit a copy of a transformer, and check that it is strictly monotone and has an inverse."""
    if isinstance(transformer, type):
        raise ValueError(
            "target_transform must be a name, a transformer or None, got the class "
            f"{transformer.__name__}. Make an object of it: {transformer.__name__}()."
        )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the checks below say it with more words
        copied: Any = clone(transformer, safe=False)
        fitted = copied.fit(sample)
    increasing = TransformerMap(fitted, 1, 1.0)
    ends = increasing.forward(np.array([low, high]))
    spread = float(ends[1] - ends[0])
    found = TransformerMap(fitted, 1 if spread > 0 else -1, abs(spread))
    y = np.unique(
        np.concatenate([np.linspace(low, high, 201), np.unique(sample)[:: 1 + len(sample) // 200]])
    )
    z = found.forward(y)
    problem = None
    if not np.isfinite(z).all():
        problem = f"it maps the target {y[~np.isfinite(z)][0]} to {z[~np.isfinite(z)][0]}"
    elif not (np.diff(z) > 0).all():
        at = int(np.flatnonzero(np.diff(z) <= 0)[0])
        problem = f"it does not tell {y[at]} from {y[at + 1]}, or turns round between them"
    elif not np.allclose(found.inverse(z), y, rtol=1e-6, atol=1e-6 * (high - low)):
        problem = "its inverse_transform does not give the targets back"
    elif not (np.diff(found.inverse(np.linspace(z[0], z[-1], 201))) > 0).all():
        problem = "its inverse_transform is not strictly monotone, so there is no density"
    if problem:
        raise ValueError(
            f"target_transform must be strictly monotone and continuous between the smallest and "
            f"the largest target, but {transformer!r} is not: {problem}. Use another transformer, "
            f"or one of {', '.join(map(repr, NAMES))}."
        )
    return found


def resolve_target_transform(
    estimator, X, Y, weights, groups, *, partial: bool
) -> TargetTransform | None:
    """Return what the parameter `target_transform` asks for, fitted; None without any."""
    names = [estimator.target_transform] * Y.shape[1]
    if isinstance(names[0], str) and names[0] == "auto":
        names = choose_names(estimator, X, Y, weights, groups, partial=partial)
    if all(name is None for name in names):
        return None
    return fit_target_transform(names, Y, weights)


def choose_names(estimator, X, Y, weights, groups, *, partial: bool) -> list[str | None]:
    """Choose "log", "yeo-johnson" or no transformation for each output, by held-out likelihood.

    Copies of `estimator` are fitted to each half of the rows, with and without transformation.
    Their log densities of the other half are compared row by row, in the units of the target.
    If `max_time` ends first, the rows compared so far decide.
    """
    n_outputs = Y.shape[1]
    if estimator.get_params(deep=False).get("noise", "") is None:
        raise ValueError(
            "target_transform='auto' compares densities, which noise=None does not have. Choose "
            f"one of {', '.join(map(repr, NAMES[:-1]))} or None, or a noise model."
        )
    candidates = [
        None if low == high else "log" if low > 0 else "yeo-johnson"
        for low, high in zip(Y.min(axis=0), Y.max(axis=0), strict=True)
    ]
    if partial or len(Y) < _FEWEST_ROWS:
        warn_caller(
            "target_transform='auto' compares held-out rows of a fit with at least "
            f"{_FEWEST_ROWS} rows, and there are none here. The target is not transformed. Name a "
            "transformation if you need one.",
            UncertaintyWarning,
        )
        return [None] * n_outputs
    if not any(candidates):
        return candidates
    gain, weights, compared = _measure_gain(estimator, X, Y, weights, groups, candidates)
    names: list[str | None] = [None] * n_outputs
    if compared.any():
        is_better = _is_clearly_positive(gain[compared], weights[compared])
        names = [name if yes else None for name, yes in zip(candidates, is_better, strict=True)]
    if not compared.all():
        chosen = ", ".join(repr(name) for name in names)
        warn_caller(
            f"max_time={estimator.max_time:g} ended the trials of target_transform='auto' after "
            f"{compared.sum()} of {len(compared)} rows were compared. The choice is {chosen} "
            "(None is no transformation). Raise max_time, or name a transformation.",
            UncertaintyWarning,
        )
    return names


def _is_clearly_positive(gain, weights):
    """Return for each output whether the mean of `gain`, `(row, output)`, is clearly positive."""
    mean = np.average(gain, axis=0, weights=weights)  # (output,)
    error = np.sqrt(np.square(weights[:, None] * (gain - mean)).sum(axis=0)) / weights.sum()
    return mean > np.maximum(_STANDARD_ERRORS * error, _GAIN)


def _measure_gain(estimator, X, Y, weights, groups, candidates):
    """Measure by how much the candidates raise the log density of held-out rows.

    Return the gain `(row, output)`, the weights of the rows, and which rows were compared before
    `max_time` was over.
    """
    seed = draw_seed(estimator.random_state)
    if len(Y) > _MOST_ROWS:
        some = np.random.default_rng(seed).choice(len(Y), _MOST_ROWS, replace=False)
        X, Y, weights = X[some], Y[some], weights[some]
        groups = None if groups is None else groups[some]
    model = _make_trial_model(estimator, seed)
    splitter = KFold(_N_HALVES, shuffle=True, random_state=seed % 2**32)
    # One group is left if all others have weights of zero, or no row in the sample.
    if groups is not None and len(np.unique(groups)) > 1:
        splitter = GroupKFold(_N_HALVES)
    gain, compared = np.zeros(Y.shape), np.zeros(len(Y), dtype=bool)
    clock = _TrialClock(getattr(estimator, "max_time", None))
    # Nothing is fitted yet that a Ctrl-C could keep, so it ends the fit, not only a trial.
    with warnings.catch_warnings(), raise_interrupts():
        warnings.simplefilter("ignore")  # the halves are no models for the user
        for train, test in splitter.split(X, groups=groups):
            known: dict[str, Any] = {"sample_weight": weights[train]}
            if groups is not None and len(np.unique(groups[train])) > 1:
                known["groups"] = groups[train]
            for sign, names in ((-1, [None] * Y.shape[1]), (1, candidates)):
                if not clock.allow(model):
                    return gain, weights, compared
                fitted = fit_target_transform(names, Y[train], weights[train])
                target = fitted.transform(Y[train])
                model.fit(X[train], target if target.shape[1] > 1 else target[:, 0], **known)
                dist = TransformedMixture(model.predict_dist(X[test]), fitted.maps)
                y = Y[test] if Y.shape[1] > 1 else Y[test, 0]
                gain[test] += sign * dist.log_pdf(y).reshape(len(test), -1)
            compared[test] = True
    return gain, weights, compared


def _make_trial_model(estimator, seed: int) -> Any:
    """Return a copy of an estimator that "auto" can fit to half of the rows."""
    model: Any = clone(estimator)
    model.set_params(target_transform=None, random_state=seed, warm_start=False, verbose=False)
    model.set_params(categorical_features=None)  # the rows are encoded
    params = model.get_params(deep=False)
    if "early_stopping" in params:  # True needs more rows than a half may have
        model.set_params(early_stopping="auto")
    if params.get("net_params"):  # callbacks are for the model of the user, once
        kept = {k: v for k, v in params["net_params"].items() if k.split("__")[0] != "callbacks"}
        model.set_params(net_params=kept)
    return model


class _TrialClock:
    """Divides `max_time` among the trials of "auto"."""

    def __init__(self, max_time: float | None):
        self._end = None if max_time is None else time.monotonic() + max_time
        self._n_left = _N_TRIALS

    def allow(self, model) -> bool:
        """Give a model its part of the time that is left; return whether there is any.

        Equal parts keep the comparison fair. What one trial does not use goes to the later ones.
        """
        if self._end is None:
            return True
        left = self._end - time.monotonic()
        if left <= 0:
            return False
        model.set_params(max_time=left / self._n_left)
        self._n_left -= 1
        return True
