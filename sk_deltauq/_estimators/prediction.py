"""What a regressor predicts for many rows, in the units of the (transformed) target."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from sk_deltauq._conformal import ConformityScores, compute_fold_moments
from sk_deltauq._predictor import Predictor, spread_components
from sk_deltauq.distributions import NormalMixture


class PredictorCache:
    """The last predictor of each estimator, as long as the fitted attributes stay.

    A predictor holds tensors that are computed once. For one row, to make it again takes as long
    as the networks. The cache is apart from the estimators: `predict` must not change them, and
    their copies and pickles need no predictor. It keeps no estimator alive.
    """

    def __init__(self):
        self._found: WeakKeyDictionary[Any, tuple] = WeakKeyDictionary()

    def find(
        self, estimator, sources: tuple, numbers: tuple, make: Callable[[], Predictor]
    ) -> Predictor:
        """Return the predictor of an estimator, made anew if anything has changed.

        `sources` are objects, compared by identity. `numbers` are floats and arrays, compared by
        value, because they may change in place.
        """
        values = [np.asarray(number).tobytes() for number in numbers]
        known = self._found.get(estimator)
        if known is not None:
            predictor, old_sources, old_values = known
            if old_values == values and all(map(operator.is_, sources, old_sources)):
                return predictor
        predictor = make()
        self._found[estimator] = predictor, sources, values
        return predictor


PREDICTORS = PredictorCache()


def predict_mixture(predictor: Predictor, X: np.ndarray) -> NormalMixture:
    """Predict the distribution of the target of each row `(row, feature)`."""
    assert predictor.y_scaler is not None
    scale, offset = predictor.y_scaler.scale_, predictor.y_scaler.mean_

    def map_chunk(x):
        means, stds, noise = spread_components(predictor, predictor.module(x), x)
        parts = means.transpose(0, 1), stds.transpose(0, 1)  # (row, component, target)
        return parts if noise is None else (*parts, noise)

    means, stds, *noise = predictor.map_rows(X, map_chunk)
    for part, shift in ((means, offset), (stds, 0.0)):
        part *= scale
        part += shift
        part.flags.writeable = False  # so that the mixture shares it
    last = 0 if len(scale) == 1 else slice(None)
    means, stds = (np.moveaxis(part, 1, 0)[..., last] for part in (means, stds))
    aleatoric = (noise[0] * scale)[:, last] if noise else None
    dist = NormalMixture(means, stds, aleatoric=aleatoric)
    if (stds if aleatoric is None else aleatoric).any():
        return dist
    # Without a noise model some components are point masses: one normal in their place.
    return NormalMixture(
        dist.mean[np.newaxis], dist.std[np.newaxis], aleatoric=np.zeros_like(dist.std)
    )


def predict_conformal_bounds(
    predictor: Predictor, scores: ConformityScores | None, X: np.ndarray, coverage: float
) -> np.ndarray:
    """Compute conformal intervals `(row, target, 2)`, chunk by chunk."""
    if scores is None:
        raise ValueError(
            "method='conformal' needs rows that were held out of training, and this model has "
            "none: after early_stopping=False, partial_fit or very few rows, and with noise=None, "
            "which trains on all rows in the end. Fit with early_stopping=True and a noise model, "
            "or call conformalize(X, y) with rows not used to fit."
        )
    scores.check_coverage(coverage)

    def bound(means, stds):
        return (torch.from_numpy(scores.bound(means.cpu().numpy(), stds.cpu().numpy(), coverage)),)

    components = [fold.components for fold in scores.folds]
    return _map_fold_moments(predictor, X, components, bound)[0]


def score_all_rows(
    predictor: Predictor, X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> ConformityScores | None:
    """Score rows `(row, feature)` with targets `(row, target)` by all components together."""
    means, stds = _map_fold_moments(predictor, X, [None], lambda *moments: moments)
    scores = np.abs(Y - means[:, 0]) / stds[:, 0]  # (row, target)
    return ConformityScores.collect([(None, scores, weights)], new_rows=True)


def _map_fold_moments(predictor: Predictor, X: np.ndarray, components, function):
    """Apply a function to means and stds `(row, fold, target)`, chunk by chunk."""

    def map_chunk(x):
        return function(*compute_fold_moments(predictor, predictor.module(x), x, components))

    return predictor.map_rows(X, map_chunk)
