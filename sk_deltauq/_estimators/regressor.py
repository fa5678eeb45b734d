"""The kind "regressor": everything public, computed from means and standard deviations."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Bunch, assert_all_finite, check_scalar, gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sk_deltauq._conformal import ConformityScores, compute_fold_moments
from sk_deltauq._estimators.base import BaseUQ
from sk_deltauq._estimators.parameters import NETWORK_CONSTRAINTS, TARGET_CONSTRAINT
from sk_deltauq._estimators.target_transform import TargetTransform, resolve_target_transform
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._outliers import warn_about_outliers
from sk_deltauq._predictor import compute_moments, spread_components
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._training.calibration import calibrate
from sk_deltauq._training.conformal import score_held_out
from sk_deltauq._training.fit import TrainedNet, prepare_fit, run_fit
from sk_deltauq._training.method import Method
from sk_deltauq._validation import (
    FitData,
    FitPlan,
    Scaler,
    add_validation_rows,
    check_groups,
    check_still_constant,
    check_table,
    check_weights,
    drop_rows_without_weight,
    fit_target_scaler,
    guess_constant_std,
    keep_distinct_rows,
    naming_validation_rows,
    scale_rows,
    scale_to_tensor,
)
from sk_deltauq.distributions import NormalMixture, TransformedMixture

# Rows whose mixtures are held at a time if only their quantiles are wanted.
_BLOCK_ROWS = 8192

# "auto" embeds the inputs from this many rows per feature on. Sinusoidal features are six more
# inputs per feature. With fewer rows they hurt linear functions more than they helped curved ones.
_ROWS_PER_FEATURE_TO_EMBED = 25


class BaseRegressor(MultiOutputMixin, RegressorMixin, BaseUQ):
    """Predictions with uncertainties for one or several real targets."""

    n_outputs_: int
    y_scaler_: Scaler
    target_transform: Any
    target_transform_: TargetTransform | None
    _wanted_transform_: Any
    _constant_std_: np.ndarray  # (output,), in the units of y: zero for a target that varies
    _conformity_: ConformityScores | None  # None without rows held out of training

    def fit(self, X, y, sample_weight=None, *, groups=None, X_val=None, y_val=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers in any units, standardised internally.
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

        The scaling of X and y is fixed by the first call. `learning_rate_init` and `batch_size`
        may change between calls. Delta-UQ draws its anchors from all rows so far, an anchor
        ensemble only from the rows of the first call.

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
        return tuple(found) if len(found) > 1 else found[0]

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
        sets and new rows, not for each row, and not out of distribution. It is at least

        - `coverage` if all networks hold out the same rows (`X_val` in `fit`, or after
          `conformalize`): split conformal prediction.
        - `1 - 2 * (1 - coverage) - min(2 * (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1))` with K
          folds (theorem 4 of [1]_). This is the worst case. In practice the coverage is close to
          `coverage`, or slightly above.

        The networks are not fully independent of their held-out rows, which choose the epoch to
        stop at and have a part in the scaling. So the guarantee of `fit` is exact only up to
        these choices, which matter little in simulations. The guarantee after `conformalize`
        is exact.

        Rows with sample weights count by their weights, and a new row has the mean weight of the
        held-out rows. The guarantee then holds only approximately.

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
        return self._bound_conformal(X, coverage)

    def conformalize(self, X, y, sample_weight=None):
        """Use new rows for the conformal intervals, in place of the rows held out by `fit`.

        Predictions do not change, except `predict_interval(X, method="conformal")`. Its coverage
        guarantee is then exact: none of these rows had a part in the fit. The next call of `fit`
        or `partial_fit` forgets these rows.

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
        X, Y = self._check_targets(X, y, reset=False)
        self._check_outputs(Y, "y")
        weights = check_weights(sample_weight, X)
        means, stds = self._map_fold_moments(X, [None], lambda *moments: moments)
        scores = np.abs(Y - means[:, 0]) / stds[:, 0]  # (row, output)
        self._conformity_ = ConformityScores.collect([(None, scores, weights)])
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

    def _encode(self, X, y, sample_weight, plan: FitPlan) -> FitData:
        """Check the rows, and scale rows and targets."""
        X, Y = self._check_targets(X, y, reset=not plan.resume)
        weights, groups = check_weights(sample_weight, X), check_groups(plan.groups, X)
        # A named transformation is one of the ways out that the warning names.
        if not plan.resume and (self.target_transform is None or self.target_transform == "auto"):
            places = np.flatnonzero(weights > 0)
            warn_about_outliers(Y[places], weights[places], places)
        X, Y, weights, groups = keep_distinct_rows(X, Y, weights, groups, plan)
        if plan.resume:
            self._check_outputs(Y, "y")
            self._check_same_transform()
            Y = self._transform(Y)
            check_still_constant(Y, self.y_scaler_, "y")
        else:
            self.n_outputs_, self._wanted_transform_ = Y.shape[1], self.target_transform
            self.target_transform_ = resolve_target_transform(
                self, X, Y, weights, groups, partial=plan.partial
            )
            Y = self._transform(Y)
            self.y_scaler_ = fit_target_scaler(Y, weights, more_to_come=plan.partial)
        targets = scale_to_tensor(Y, self.y_scaler_)
        data = scale_rows(self, X, targets, weights, None, plan, groups)
        if not (plan.partial and plan.resume):
            self._constant_std_ = guess_constant_std(self.y_scaler_, len(data.x))
        if plan.validation is None:
            return data
        with naming_validation_rows():
            X_val, Y_val = self._check_targets(*plan.validation, reset=False)
        self._check_outputs(Y_val, "y_val")
        targets = scale_to_tensor(self._transform(Y_val), self.y_scaler_)
        return add_validation_rows(data, X_val, targets, None, self.x_scaler_)

    def _check_same_transform(self) -> None:
        """Raise an error if training would continue with another transformation."""
        now, first = self.target_transform, self._wanted_transform_
        if now is not first and now != first:
            raise ValueError(
                "Training cannot continue from the last fit with another target_transform: it is "
                f"{now!r}, and was {first!r}. Set it back, or start afresh: fit with "
                "warm_start=False."
            )

    def _transform(self, Y):
        """Map targets `(row, output)` to the targets that the network learns, before scaling."""
        return Y if self.target_transform_ is None else self.target_transform_.transform(Y)

    def _check_targets(self, X, y, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        """Check rows and targets; return the targets as `(row, target)`."""
        X, y = check_table(self, X, y, reset=reset, multi_output=True, y_numeric=True)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind in "mM":
            raise ValueError(f"y must hold numbers, got dates or times, {y.dtype}.")
        Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        assert_all_finite(Y, input_name="y")  # a None in an array of objects is NaN only now
        return X, Y

    def _check_outputs(self, Y, name: str) -> None:
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"{name} must have {self.n_outputs_} outputs, as in the first fit, got "
                f"{Y.shape[1]}. Call fit with warm_start=False to start afresh."
            )

    def _map_moments(self, X, *names):
        """Map rows to some of mean, epistemic, aleatoric and total, in the units of y.

        Chunk by chunk, so that only the answers are held for all rows.
        """
        if self.target_transform_ is not None:
            names = [name.replace("total", "std") for name in names]
            moments = self._map_blocks(
                X, lambda dist: np.stack([getattr(dist, name) for name in names], axis=-1)
            )
            return list(np.moveaxis(moments, -1, 0))
        X, predictor = self._check_rows(X), self._predictor()
        found = predictor.map_rows(X, lambda x: compute_moments(predictor, x, names))
        return [values[:, 0] if self.n_outputs_ == 1 else values for values in found]

    def _dist(self, X):
        """Return the predictive distribution of checked rows, in the units of y."""
        latent, transform = self._latent_dist(X), self.target_transform_
        return latent if transform is None else TransformedMixture(latent, transform.maps)

    def _latent_dist(self, X):
        """Return the predictive distribution of the transformed target."""
        predictor = self._predictor()
        assert predictor.y_scaler is not None

        def map_chunk(x):
            means, stds, noise = spread_components(predictor, predictor.module(x), x)
            parts = means.transpose(0, 1), stds.transpose(0, 1)  # (row, component, target)
            return parts if noise is None else (*parts, noise)

        means, stds, *noise = predictor.map_rows(X, map_chunk)
        for part, offset in ((means, predictor.y_scaler.mean_), (stds, 0.0)):
            part *= predictor.y_scaler.scale_
            part += offset
            part.flags.writeable = False  # so that the mixture shares it
        last = 0 if self.n_outputs_ == 1 else slice(None)
        means, stds = (np.moveaxis(part, 1, 0)[..., last] for part in (means, stds))
        aleatoric = (noise[0] * predictor.y_scaler.scale_)[:, last] if noise else None
        dist = NormalMixture(means, stds, aleatoric=aleatoric)
        if (stds if aleatoric is None else aleatoric).any():
            return dist
        # Without a noise model some components are point masses: one normal in their place.
        return NormalMixture(
            dist.mean[np.newaxis], dist.std[np.newaxis], aleatoric=np.zeros_like(dist.std)
        )

    def _bound_conformal(self, X, coverage):
        """Compute conformal intervals chunk by chunk."""
        X, scores = self._check_rows(X), self._conformity_
        if scores is None:
            raise ValueError(
                "method='conformal' needs rows that were held out of training, and this model has "
                "none: after early_stopping=False, partial_fit or very few rows, and with "
                "noise=None, which trains on all rows in the end. Fit with early_stopping=True "
                "and a noise model, or call conformalize(X, y) with rows not used to fit."
            )
        scores.check_coverage(coverage)

        def bound(means, stds):
            bounds = scores.bound(means.cpu().numpy(), stds.cpu().numpy(), coverage)
            return (torch.from_numpy(bounds),)

        (bounds,) = self._map_fold_moments(X, [fold.components for fold in scores.folds], bound)
        return bounds[:, 0] if self.n_outputs_ == 1 else bounds

    def _map_fold_moments(self, X, components, function):
        """Apply a function to means and stds `(row, fold, output)`, chunk by chunk."""
        predictor = self._predictor()

        def map_chunk(x):
            return function(*compute_fold_moments(predictor, predictor.module(x), x, components))

        return predictor.map_rows(X, map_chunk)

    def _map_blocks(self, X, function):
        """Apply a function of the distribution in blocks, to bound memory."""
        X = self._check_rows(X)
        return np.concatenate(
            [function(self._dist(X[rows])) for rows in gen_batches(len(X), _BLOCK_ROWS)]
        )


class NetworkRegressor(BaseRegressor):
    """A regressor whose networks predict normal densities; a subclass names the method."""

    std_factor_: float | np.ndarray
    outlier_scale_: float | np.ndarray
    net_: Any  # a `StackedNet`
    _trained_: TrainedNet

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NETWORK_CONSTRAINTS,
        **TARGET_CONSTRAINT,
        "noise": [StrOptions({"heteroscedastic", "homoscedastic"}), None],
        "nll_beta": [Interval(Real, 0, 1, closed="both")],
        "calibrate": ["boolean"],
    }

    @abstractmethod
    def _method(self, plan: FitPlan) -> Method:
        """Return the method, made from the current parameters."""

    def _set_up(self, X, y, sample_weight, plan: FitPlan):
        data, params = self._encode(X, y, sample_weight, plan), self.get_params(deep=False)
        method = self._method(plan)
        # The loss of a variational network is a bound on the evidence, without such weights.
        noise, nll_beta = params["noise"], params.get("nll_beta", 0.0)
        make_head = partial(GaussianHead, self.n_outputs_, noise, nll_beta)
        embedding = params["embedding"]
        if embedding == "auto":
            has_rows = len(data.x) >= _ROWS_PER_FEATURE_TO_EMBED * data.x.shape[1]
            # A user's module gets the rows as its author expects them.
            embedding = "alternating" if has_rows and params.get("module") is None else None
        previous, name = self._trained_ if plan.resume else None, type(self).__name__
        fit = prepare_fit(params, name, method, make_head, embedding, data, plan, previous)
        names = "std_factor_", "outlier_scale_"
        defaults = {name: np.ones(self.n_outputs_) for name in names}
        if plan.partial and plan.resume:  # keep what the last fit found
            defaults = {name: np.atleast_1d(getattr(self, name)) for name in names}
        find_scales = partial(
            calibrate,
            enabled=params["calibrate"],
            ddof=method.ddof,
            defaults=defaults,
            y_scale=self.y_scaler_.scale_,
        )

        def calibrate_and_score(net, hold_out):
            scales = find_scales(net, hold_out)
            predictor = self._make_predictor(fit.start, scales)
            return {**scales, "_conformity_": score_held_out(net, hold_out, predictor)}

        return partial(run_fit, fit, calibrate_and_score)

    def _predictor(self):
        names = "std_factor_", "outlier_scale_"
        return self._make_predictor(self._trained_, {n: getattr(self, n) for n in names})

    def _make_predictor(self, trained: TrainedNet, scales):
        return trained.predictor(
            x_scaler=self.x_scaler_,
            y_scaler=self.y_scaler_,
            std_factor=np.atleast_1d(scales["std_factor_"]),
            outlier_scale=np.atleast_1d(scales["outlier_scale_"]),
            added_std=self._constant_std_ / self.y_scaler_.scale_,
        )
