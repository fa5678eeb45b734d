"""What a regressor says from its predictive distribution: intervals, quantiles, samples."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar, gen_batches
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._conformal import ConformityScores
from sk_deltauq._estimators.base import BaseUQ
from sk_deltauq._estimators.prediction import (
    predict_conformal_bounds,
    predict_mixture,
    score_all_rows,
)
from sk_deltauq._estimators.target_transform import TargetTransform
from sk_deltauq._estimators.targets import check_outputs, check_targets, transform_targets
from sk_deltauq._validation import Scaler, check_weights
from sk_deltauq.distributions import TransformedMixture
from sk_deltauq.distributions._arrays import as_real, make_generator

# Rows whose mixtures are held at a time if only their quantiles are wanted.
_BLOCK_ROWS = 8192


class DistributionRegressor(BaseUQ):
    """A regressor that predicts a distribution for each row."""

    n_outputs_: int
    y_scaler_: Scaler
    target_transform: Any = None  # also of regressors without this parameter
    target_transform_: TargetTransform | None
    _wanted_transform_: Any
    _constant_std_: np.ndarray  # (output,), in the units of y: zero for a target that varies
    _conformity_: ConformityScores | None  # None without rows held out of training

    def predict_dist(self, X):
        """Predict the full distribution of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        dist : NormalMixture or TransformedMixture
            One mixture for each row and output, in the units of `y`. With `target_transform` it
            is a `TransformedMixture`, whose `latent` mixture has the transformed units. Its
            `mean`, `std`, `epistemic` and `aleatoric` agree with `predict` and
            `predict_uncertainty`. With `noise=None` it is one normal distribution with the
            epistemic standard deviation, as in the paper. Delta-UQ smooths the mixture: the more
            the epistemic part exceeds the noise, as out of distribution, the closer it is to the
            normal distribution with this mean and standard deviation. Its density and quantiles
            come from the smooth mixture.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If `X` is sparse.
        ValueError
            If `X` is invalid, for example with other columns than in `fit` or with infinite
            values.
        """
        return self._dist(self._check_rows(X))

    def predict_interval(self, X, coverage=0.9, method="distribution"):
        """Predict an interval for the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Probability that the interval contains the target, between 0 and 1.
        method : {"distribution", "conformal"}, default="distribution"
            "distribution" is the equal-tailed interval of the predictive distribution.
            "conformal" compares the errors on held-out rows with the predicted standard
            deviations. Its coverage does not rely on the predictive distribution (see Notes).

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bound on the last axis, in the units of `y`.

        Raises
        ------
        ValueError
            If a parameter is invalid. For "conformal" also if the model has no held-out rows, or
            fewer than `coverage / (1 - coverage)`: 9 for 0.9, 19 for 0.95, and 99 for 0.99.

        Notes
        -----
        The score of a held-out row is its absolute error divided by the predicted standard
        deviation, both from the networks that did not train on it. "conformal" is the CV+
        interval of these scores [1]_, normalised as in [2]_. Several outputs have one interval
        each, and the coverage is for each output alone.

        Let n be the number of held-out rows. They and the new row must be exchangeable, for
        example independent and from one population. The coverage is an average over training
        sets and new rows, not for each row, and not out of distribution. If the held-out rows had
        no part in the fit, it is at least

        - `coverage` if all networks hold out the same rows (`X_val` in `fit`, or after
          `conformalize`): split conformal prediction.
        - `1 - 2 * (1 - coverage) - min(2 * (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1))` with K
          folds (theorem 4 of [1]_). This is the worst case. In simulations with 3 or 5 folds,
          intervals of 0.9 covered 0.90 to 0.93.

        After `conformalize`, the rows have no part in the fit. The rows that `fit` holds out
        do: they choose the epoch to stop at, calibrate the standard deviations, and have a part
        in the scaling. So `fit` gives no strict guarantee. In simulations with one fold of 12 or
        20 rows, this cost up to 0.026 of the coverage (the standard error is 0.008). From 40
        held-out rows on, no loss was significant.

        With sample weights, each row counts by its weight, and a new row has the mean weight of
        the held-out rows. No guarantee is then exact, not even after `conformalize`.

        With `groups`, folds are whole groups, but the scores count rows. Rows of one group are
        not exchangeable with a row of a new group, so there is no guarantee for new groups. In a
        simulation with 10 very different groups, intervals of 0.9 covered 0.88.

        With `warm_start` on other rows than before, the networks may have trained on rows that
        are now held out. Call `conformalize` with new rows then.

        With `target_transform`, the scores belong to the transformed target. The inverse
        transformation maps the bounds to the units of `y`, which does not change the coverage.

        References
        ----------
        .. [1] Barber, Candès, Ramdas and Tibshirani, "Predictive Inference with the Jackknife+",
           Annals of Statistics 49, 2021.
        .. [2] Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-Free Predictive
           Inference for Regression", JASA 113, 2018.
        """
        if method == "distribution":
            return self._map_blocks(X, lambda dist: dist.interval(coverage))
        if method != "conformal":
            raise ValueError(f"method must be 'distribution' or 'conformal', got {method!r}.")
        X = self._check_rows(X)
        scores = self._conformity_
        predictor = self._predictor(refined=scores is None or scores.new_rows)
        bounds = predict_conformal_bounds(predictor, scores, X, coverage)
        if self.target_transform_ is not None:  # monotone, so the coverage stays
            ends = (self.target_transform_.inverse_transform(bounds[..., i]) for i in range(2))
            bounds = np.stack(list(ends), axis=-1)
        return bounds[:, 0] if self.n_outputs_ == 1 else bounds

    def conformalize(self, X, y, sample_weight=None):
        """Use new rows for the conformal intervals, in place of the rows held out by `fit`.

        Predictions do not change, except `predict_interval(X, method="conformal")`. Its coverage
        guarantee is then exact if all weights are equal: none of these rows had a part in the
        fit. The next call of `fit` or `partial_fit` forgets these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not used to fit, and that new rows will resemble.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero. Only their ratios matter. A new row has the mean
            weight.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the data are invalid. The estimator is then unchanged.
        """
        check_is_fitted(self)
        X, Y = check_targets(self, X, y, reset=False)
        check_outputs(self, Y, "y")
        weights, Y = check_weights(sample_weight, X), transform_targets(self, Y)
        self._conformity_ = score_all_rows(self._predictor(), X, Y, weights)
        return self

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Predict quantiles of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Levels between 0 and 1.

        Returns
        -------
        y_quantiles : ndarray of shape (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            Quantiles on the last axis, in the order of `quantiles` and the units of `y`. They
            never cross.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If `X` is sparse.
        ValueError
            If `X` is invalid, for example with other columns than in `fit` or with infinite
            values. If a level is outside [0, 1] or not a number, or if `quantiles` has more than
            one axis.
        """
        levels = np.atleast_1d(as_real("quantiles", quantiles))
        if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(
                f"quantiles must be levels in [0, 1], one or a 1-D array, got {quantiles!r}."
            )
        return self._map_blocks(X, lambda dist: dist.ppf(levels))

    def sample_y(self, X, n_samples=1, random_state=None):
        """Draw samples of the target from the predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Rows to predict.
        n_samples : int, default=1
            Number of samples for each row.
        random_state : int, RandomState instance or None, default=None
            Seed of the samples.

        Returns
        -------
        y_samples : ndarray of shape (n_samples_X, n_samples) or \
                (n_samples_X, n_outputs, n_samples)
            Samples in the units of `y`, independent for each row.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If `n_samples` is not an integer, `random_state` is neither a seed nor a generator, or
            `X` is sparse.
        ValueError
            If `X` is invalid, for example with other columns than in `fit` or with infinite
            values. If `n_samples` is less than 1, or the seed is negative.
        """
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        rng = make_generator(random_state)
        return self._map_blocks(X, lambda dist: dist.sample(n_samples, random_state=rng))

    def _dist(self, X):
        """Return the predictive distribution of checked rows, in the units of y."""
        latent, transform = predict_mixture(self._predictor(), X), self.target_transform_
        return latent if transform is None else TransformedMixture(latent, transform.maps)

    def _map_blocks(self, X, function):
        """Apply a function of the distribution in blocks, to bound memory."""
        X = self._check_rows(X)
        return np.concatenate(
            [function(self._dist(X[rows])) for rows in gen_batches(len(X), _BLOCK_ROWS)]
        )
