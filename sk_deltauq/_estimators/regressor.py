"""The kind "regressor": everything public, computed from means and standard deviations."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Bunch, check_scalar, gen_batches
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._conformal import ConformityScores
from sk_deltauq._estimators.base import BaseUQ
from sk_deltauq._estimators.prediction import (
    predict_conformal_bounds,
    predict_mixture,
    score_all_rows,
)
from sk_deltauq._estimators.prediction_tuple import PredictionTuple
from sk_deltauq._estimators.target_transform import TargetTransform
from sk_deltauq._estimators.targets import check_outputs, check_targets, transform_targets
from sk_deltauq._estimators.torch_modules import RegressorModule
from sk_deltauq._predictor import compute_moments
from sk_deltauq._validation import Scaler, check_weights
from sk_deltauq.distributions import TransformedMixture

# Rows whose mixtures are held at a time if only their quantiles are wanted.
_BLOCK_ROWS = 8192


class BaseRegressor(MultiOutputMixin, RegressorMixin, BaseUQ):
    """Predictions with uncertainties for one or several real targets."""

    n_outputs_: int
    y_scaler_: Scaler
    target_transform: Any = None  # a subclass may have it as a parameter
    target_transform_: TargetTransform | None
    _wanted_transform_: Any
    _constant_std_: np.ndarray  # (output,), in the units of y: zero for a target that varies
    _conformity_: ConformityScores | None  # None without rows held out of training

    def fit(self, X, y, sample_weight=None, *, groups=None, X_val=None, y_val=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: an array of numbers in any units, or a data frame (pandas, polars or
            pyarrow) with numbers and categories. Inputs are encoded and standardised internally.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, in any units.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero. Only their ratios matter. Rows of weight zero are
            ignored.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as a patient or a batch. Rows of a group are held out together,
            so the uncertainty holds for new groups. Keyword only.
        X_val : array-like of shape (n_val_samples, n_features), default=None
            Rows to hold out in place of folds, such as the latest rows of a time series. All
            networks then train on all rows of `X`. Keyword only.
        y_val : array-like of shape (n_val_samples,) or (n_val_samples, n_outputs), default=None
            Targets of `X_val`.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid (the estimator is then unchanged), or if
            training diverges (the estimator is then not fitted, or unchanged with `warm_start`).

        Warns
        -----
        UncertaintyWarning
            If the uncertainty may be wrong: few rows, no hold-out, near copies among the rows,
            gross outliers among the targets.
        ConvergenceWarning
            If training ended before it converged: at `max_iter`, at `max_time`, or by Ctrl-C.
        """
        return self._fit(X, y, sample_weight, groups, X_val, y_val)

    def partial_fit(self, X, y, sample_weight=None):
        """Train for one epoch on the given rows, without early stopping.

        The first call fixes the scaling of X and y, and the encoding of categories.
        `learning_rate_init` and `batch_size` may change between calls. Delta-UQ draws its anchors
        from all rows so far, an anchor ensemble only from the rows of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to train on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero. Only their ratios within one call matter.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, if `early_stopping` is True, or if training
            diverges. The estimator is then unchanged (or not fitted, in a first call).
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X, return_std=False, *, coverage=None, quantiles=None):
        """Predict the mean of the target and, on request, std, interval and quantiles.

        Pipelines and searches of scikit-learn pass on the keywords of `predict` only, so the
        keywords are the way to intervals and quantiles there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        return_std : bool, default=False
            Whether to also return the total standard deviation (epistemic and aleatoric) of a
            new observation of the target.
        coverage : float, default=None
            Probability of the interval to return too, as `predict_interval` returns it. None
            returns no interval.
        quantiles : array-like of shape (n_quantiles,), default=None
            Levels of the quantiles to return too, as `predict_quantiles` returns them. None
            returns no quantiles.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Mean of the predictive distribution, in the units of `y`.
        y_std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard deviation, in the units of `y`. Only with `return_std=True`.
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bound on the last axis. Only with `coverage`.
        y_quantiles : ndarray of shape (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            Quantiles on the last axis. Only with `quantiles`.

            The result is `y_mean` alone, or a tuple of all requested arrays in this order.
        """
        names = ("mean", "total") if return_std else ("mean",)
        found = self._map_moments(X, *names)
        if coverage is not None:
            found.append(self.predict_interval(X, coverage))
        if quantiles is not None:
            found.append(self.predict_quantiles(X, quantiles))
        return PredictionTuple(found) if len(found) > 1 else found[0]

    def predict_uncertainty(self, X):
        """Predict the epistemic, aleatoric and total uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        parts : Bunch
            Standard deviations in the units of `y`, each with the shape of the predicted mean:

            - `epistemic`: standard deviation of the means of the components, which more data
              would reduce. The divisor is `n_components - 1` for Delta-UQ (eq. 6 of its paper)
              and `n_components` for other methods.
            - `aleatoric`: square root of the mean noise variance, which more data would not
              reduce.
            - `total`: square root of the sum of both variances, as in
              `predict(X, return_std=True)`.

            With `target_transform`, the two variances of the transformed target divide the total
            variance in the units of `y` in their ratio.
        """
        names = "epistemic", "aleatoric", "total"
        return Bunch(**dict(zip(names, self._map_moments(X, *names), strict=True)))

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
        bounds = predict_conformal_bounds(self._predictor(), self._conformity_, X, coverage)
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
        """
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
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
        """
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        is_legacy = isinstance(random_state, np.random.RandomState)
        rng = random_state if is_legacy else np.random.default_rng(random_state)
        return self._map_blocks(X, lambda dist: dist.sample(n_samples, random_state=rng))

    def to_torch(self, latent=False):
        """Return the regressor as a torch module.

        Parameters
        ----------
        latent : bool, default=False
            Whether a model with `target_transform` predicts the transformed target, as
            `predict_dist(X).latent` does. Without `target_transform` it changes nothing.

        Returns
        -------
        module : torch.nn.Module
            Independent copy that maps a tensor of shape (..., n_features) to a named tuple of
            tensors. With several outputs, all have a further last axis for them.

            - `mean` and `std`, of shape (...): as `predict(X, return_std=True)`.
            - `epistemic` and `aleatoric`, of shape (...): as `predict_uncertainty`.
            - `component_means` and `component_stds`, of shape (n, ...): components of
              `predict_dist`. Mixed with equal weights, they have `mean` and `std`. With
              `noise=None`, `predict_dist` has one normal distribution in their place.
            - `functions`, of shape (`n_components_`, ...): the mean according to each component.
              Over the components, their mean is `mean`, and their standard deviation (divisor
              `n_components_`) is the epistemic part without distance-based inflation. Unlike the
              means of the mixture they are not smoothed, so they show how rows vary together.

        Raises
        ------
        ValueError
            If the model has a `target_transform`, and `latent` is False.

        Notes
        -----
        The rows have the units and columns of `X` in `fit`. With categories or missing values they
        are `encoder_.transform(X)`. Results have the dtype of the rows, and gradients with respect
        to them. The networks compute in float32, as in `predict`, and the rest in float64.
        `module.double()` makes the networks compute in float64 too, and `module.float()` makes the
        scaling of the rows compute in float32 too. All rows are computed at once: split large
        tables. Parameters need no gradient until `module.requires_grad_()`.

        Examples
        --------
        >>> import torch
        >>> from sklearn.datasets import load_diabetes
        >>> from sk_deltauq import DeltaUQRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> module = DeltaUQRegressor(max_iter=50, random_state=0).fit(X, y).to_torch()
        >>> rows = torch.tensor(X[:2], requires_grad=True)
        >>> found = module(rows)
        >>> found.mean.shape, found.std.shape
        (torch.Size([2]), torch.Size([2]))
        >>> torch.autograd.grad(found.std.sum(), rows)[0].shape
        torch.Size([2, 10])
        """
        check_is_fitted(self)
        if self.target_transform_ is not None and not latent:
            raise ValueError(
                f"to_torch() cannot undo target_transform={self.target_transform!r} in torch. Use "
                "to_torch(latent=True), whose results have the units of the transformed target, "
                "and target_transform_.inverse_transform for quantiles, or fit with "
                "target_transform=None."
            )
        return RegressorModule(self._predictor())

    def _map_moments(self, X, *names):
        """Map rows to some of mean, epistemic, aleatoric and total, in the units of y.

        Chunk by chunk, so that only the answers are held for all rows.
        """
        self._check_fitted()
        if self.target_transform_ is not None:
            names = [name.replace("total", "std") for name in names]
            moments = self._map_blocks(
                X, lambda dist: np.stack([getattr(dist, name) for name in names], axis=-1)
            )
            return list(np.moveaxis(moments, -1, 0))
        X, predictor = self._check_rows(X), self._predictor()
        found = predictor.map_rows(
            X, lambda x: compute_moments(predictor, predictor.module(x), x, names)
        )
        return [values[:, 0] if self.n_outputs_ == 1 else values for values in found]

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
