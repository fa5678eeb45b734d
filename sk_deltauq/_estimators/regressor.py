"""The kind "regressor": everything public, computed from means and standard deviations."""

from __future__ import annotations

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._estimators.distribution_regressor import DistributionRegressor
from sk_deltauq._estimators.expected_score import (
    compute_root_mean_square,
    warn_without_hold_out,
)
from sk_deltauq._estimators.gradients import check_gradients, compute_gradients
from sk_deltauq._estimators.prediction_tuple import PredictionTuple
from sk_deltauq._estimators.torch_modules import RegressorModule
from sk_deltauq._predictor import compute_moments


class BaseRegressor(MultiOutputMixin, RegressorMixin, DistributionRegressor):
    """Predictions with uncertainties for one or several real targets."""

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
        from all rows so far, an anchor ensemble only from the rows of the first call. With
        `anchors="neighbours"`, the first call learns the metric, so it needs a few hundred rows.
        After `fit`, the calibration, if any, stays as it was and becomes wrong: the first call
        warns.

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

        Warns
        -----
        UncertaintyWarning
            In the first call after `fit`.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(
        self,
        X,
        return_std=False,
        *,
        return_mean_grad=False,
        return_std_grad=False,
        coverage=None,
        quantiles=None,
    ):
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
        return_mean_grad : bool, default=False
            Whether to also return the gradient of the mean with respect to the features, as
            scikit-optimize asks for it. `X` must then have one row.
        return_std_grad : bool, default=False
            Whether to also return the gradient of the standard deviation. It needs `return_std`
            and `return_mean_grad`.
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
        mean_grad : ndarray of shape (n_features,)
            Gradient of the mean at the row. Only with `return_mean_grad=True`.
        std_grad : ndarray of shape (n_features,)
            Gradient of the standard deviation at the row. Only with `return_std_grad=True`.
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bound on the last axis. Only with `coverage`.
        y_quantiles : ndarray of shape (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            Quantiles on the last axis. Only with `quantiles`.

            The result is `y_mean` alone, or a tuple of all requested arrays in this order.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If `X` is sparse.
        ValueError
            If the rows or the keywords are invalid. For gradients also if `X` has several rows,
            or if the model has several outputs, categories, missing values or a
            `target_transform`. Use `to_torch` then.
        """
        names = ("mean", "total") if return_std else ("mean",)
        found = self._map_moments(X, *names)
        if return_mean_grad or return_std_grad:
            asked = {"mean_grad": return_mean_grad, "std_grad": return_std_grad}
            row = check_gradients(self, self._check_rows(X), return_std=return_std, **asked)
            found += compute_gradients(self._predictor(), row, std_grad=return_std_grad)
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
        names = "epistemic", "aleatoric", "total"
        return Bunch(**dict(zip(names, self._map_moments(X, *names), strict=True)))

    def expected_score(self, X, metric="rmse"):
        """Predict the error on rows without targets.

        It is the error that the predictive distributions imply. Under a shift of the rows it
        grows with the predicted standard deviations, while the error on held-out rows stays as it
        was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict. Their targets are not needed.
        metric : {"rmse", "mae"}, default="rmse"
            Root mean squared error or mean absolute error of `predict(X)`.

        Returns
        -------
        error : float or ndarray of shape (n_outputs,)
            Expected error in the units of `y`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If `metric` is unknown, or `X` is invalid.

        Warns
        -----
        UncertaintyWarning
            If no rows were held out of training, so that nothing corrected the standard
            deviations.

        Notes
        -----
        "rmse" is the root of the mean predicted variance (of `predict(X, return_std=True)`), and
        "mae" is the mean of the expected distance of a new target from the predicted mean. Both
        are right on average as far as the predictive distributions are. They cannot see that the
        targets of usual rows have changed. Far from the training rows, the distance-based
        inflation ends at the standard deviation of the training targets, and errors can be larger.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sk_deltauq import DeltaUQRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X, y)
        >>> model.expected_score(3 * X) > model.expected_score(X)
        True
        """
        if metric not in ("rmse", "mae"):
            raise ValueError(f"metric must be 'rmse' or 'mae', got {metric!r}.")
        if metric == "rmse":
            (std,) = self._map_moments(X, "total")
            found = compute_root_mean_square(std)
        else:
            found = self._map_blocks(X, lambda dist: dist.mean_deviation).mean(axis=0)
        warn_without_hold_out(self)
        return float(found) if self.n_outputs_ == 1 else found

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
        NotFittedError
            If the estimator is not fitted.
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
