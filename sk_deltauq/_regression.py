"""Everything public of a regressor, computed from its components: means and stds."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import torch
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Bunch, assert_all_finite, check_scalar, gen_batches
from sklearn.utils.validation import column_or_1d

from sk_deltauq._base import BaseUQ
from sk_deltauq._validation import check_still_constant, fit_target_scaler, scaled_tensor
from sk_deltauq.distributions import NormalMixture

# Rows whose mixtures are held at a time where only quantiles of them are wanted.
_BLOCK_ROWS = 8192


class RegressorUQ(MultiOutputMixin, RegressorMixin, BaseUQ):
    """Predictions with uncertainties for one or several real targets.

    `_components` of a subclass returns means and stds, both `(component, sample, target)`, in
    units of the scaled target. A method whose components do not know their means for certain
    returns the stds of these means as a third part.
    """

    _target_checks = {"multi_output": True, "y_numeric": True}

    # Subtracted from the number of components in the variance of their means: 1 is eq. 6 of the
    # Delta-UQ paper, 0 the variance of the mixture, which the papers of other methods take.
    _ddof = 1

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, in any units (they are standardised inside).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, in any units.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero; only their ratios count. A row of weight zero is
            as good as absent.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, the data or a weight is not valid, or if training diverges. The
            estimator is then as it was before, or not fitted.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X, y, sample_weight=None):
        """Go on with one epoch over the given rows, without early stopping.

        `learning_rate_init` and `batch_size` may change between calls. The scales of X and y are
        those of the first call. The anchors of Delta-UQ are a random sample of all rows that came
        so far; those of an anchor ensemble are rows of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to train on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero; only their ratios within one call count.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, the data or a weight is not valid, if `early_stopping` is True, or if
            training diverges. The estimator is then as it was before.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X, return_std=False):
        """Predict the mean of the target and, on request, its standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        return_std : bool, default=False
            Whether to return the total standard deviation as well: that of a new observation of
            the target, epistemic and aleatoric.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Mean of the predictive distribution, in the units of `y`.
        y_std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard deviation, in the units of `y`. Only if `return_std` is True.
        """
        if not return_std:
            return self._map_moments(X, "mean")[0]
        return tuple(self._map_moments(X, "mean", "total"))

    def predict_uncertainty(self, X):
        """Tell the parts of the uncertainty apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        parts : Bunch
            Standard deviations in the units of `y`, each of the shape of `y`:

            - `epistemic`: spread of the components' means, with `n_components - 1` in the
              denominator for Delta-UQ (eq. 6 of its paper) and `n_components` for other methods;
              what more data would reduce.
            - `aleatoric`: root of the mean noise variance; what no data would reduce.
            - `total`: root of the sum of both variances, as `predict(X, return_std=True)`.
        """
        names = "epistemic", "aleatoric", "total"
        return Bunch(**dict(zip(names, self._map_moments(X, *names), strict=True)))

    def predict_dist(self, X):
        """Predict the whole distribution of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        dist : NormalMixture
            One mixture a row and output, in the units of `y`. Its `mean`, `std`, `epistemic` and
            `aleatoric` are those of `predict` and `predict_uncertainty`. With `noise=None` there
            is no noise to mix over: one normal with the epistemic std (the paper's choice).
        """
        return self._dist(self._check_rows(X))

    def predict_interval(self, X, coverage=0.9):
        """Predict a central interval for the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Probability that the interval holds the target, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper end, in the units of `y`, on the last axis.
        """
        return self._map_blocks(X, lambda dist: dist.interval(coverage))

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
            Quantiles in the units of `y`, on the last axis, in the order of `quantiles`. They
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
            Number of draws a row.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        y_samples : ndarray of shape (n_samples_X, n_samples) or \
                (n_samples_X, n_outputs, n_samples)
            Independent draws for each row, in the units of `y`.
        """
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        is_legacy = isinstance(random_state, np.random.RandomState)
        rng = random_state if is_legacy else np.random.default_rng(random_state)
        return self._map_blocks(X, lambda dist: dist.sample(n_samples, random_state=rng))

    def _encode_target(self, y, weights, plan):
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind in "mM":
            raise ValueError(f"y must hold numbers, got dates or times, {y.dtype}.")
        Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        assert_all_finite(Y, input_name="y")  # a None in an array of objects is NaN only now
        if not plan.resume:
            self.n_outputs_ = Y.shape[1]
            self.y_scaler_ = fit_target_scaler(Y, weights, more_to_come=plan.partial)
        elif Y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have {self.n_outputs_} outputs, as in the first fit, got {Y.shape[1]}. "
                "Call fit with warm_start=False to start afresh."
            )
        else:
            check_still_constant(Y, self.y_scaler_, "y")
        return scaled_tensor(Y, self.y_scaler_), weights, None

    def _map_moments(self, X, *names):
        """`names` out of mean, epistemic, aleatoric and total (stds), in the units of y.

        All of it chunk by chunk, so that no more than the answers is ever held for all rows.
        """
        X = self._check_rows(X)
        settings = {
            "ddof": self._ddof,
            "std_factors": self._std_factors(),
            "scale": self.y_scaler_.scale_,
            "offset": self.y_scaler_.mean_,
        }

        def of_rows(x):
            # The mean alone needs no distance from the training rows.
            factors = None if names == ("mean",) else self._row_factors(x)
            return _moments_in_units_of_y(self._components(x), factors, names, **settings)

        found = self._map_rows(X, of_rows)
        return [values[:, 0] for values in found] if self.n_outputs_ == 1 else found

    def _std_factors(self) -> np.ndarray:
        """What the components' spread and stds are multiplied by: one factor, or one a target."""
        return np.ones(1)

    def _row_factors(self, x):
        """What the total std of scaled rows is multiplied by, `(row,)`, or None for nothing.

        The noise stays what it is: what is added is epistemic.
        """
        return None

    def _dist(self, X):
        """The predictive distribution of checked rows."""
        settings = {"ddof": self._ddof, "std_factors": self._std_factors()}

        def of_rows(x):
            return _mixture_parameters(self._components(x), self._row_factors(x), **settings)

        # (sample, component, target), and (sample, target) for the noise
        means, stds, *noise_std = self._map_rows(X, of_rows)
        for part, offset in ((means, self.y_scaler_.mean_), (stds, 0.0)):
            part *= self.y_scaler_.scale_
            part += offset
            part.flags.writeable = False  # so that the mixture shares it
        last = 0 if self.n_outputs_ == 1 else slice(None)
        means, stds = (np.moveaxis(part, 1, 0)[..., last] for part in (means, stds))
        aleatoric = (noise_std[0] * self.y_scaler_.scale_)[:, last] if noise_std else None
        dist = NormalMixture(means, stds, aleatoric=aleatoric)
        if (stds if aleatoric is None else aleatoric).any():
            return dist
        # No noise model: some of what would be mixed are point masses.
        return NormalMixture(
            dist.mean[np.newaxis], dist.std[np.newaxis], aleatoric=np.zeros_like(dist.std)
        )

    def _map_blocks(self, X, function):
        """Apply a function of the distribution block by block, to bound memory."""
        X = self._check_rows(X)
        return np.concatenate(
            [function(self._dist(X[rows])) for rows in gen_batches(len(X), _BLOCK_ROWS)]
        )


def _moments(components, *, ddof):
    """Mean, epistemic and aleatoric variance `(sample, target)` (eq. 6, law of total variance).

    Relative to the first component float32 is exact enough, and several times faster than float64.
    """
    means, stds, *mean_stds = components
    shifts = means - means[0]
    centre = shifts.mean(dim=0)
    epistemic_var = (shifts - centre).square().sum(dim=0) / max(len(means) - ddof, 1)
    if mean_stds:
        epistemic_var = epistemic_var + mean_stds[0].square().mean(dim=0)
    return means[0].double() + centre, epistemic_var, stds.square().mean(dim=0)


def _moments_in_units_of_y(components, row_factors, names, *, ddof, std_factors, scale, offset):
    """Those of the mean and the stds that `names` says, `(sample, target)`, in float64."""
    mean, *variances = _moments(components, ddof=ddof)
    factors, scale, offset = (
        torch.tensor(values, device=mean.device) for values in (std_factors, scale, offset)
    )
    epistemic, aleatoric = (variance.double() * factors**2 for variance in variances)
    if row_factors is not None:
        epistemic += (epistemic + aleatoric) * (row_factors.double()[:, None] ** 2 - 1)
    found = {"epistemic": epistemic, "aleatoric": aleatoric, "total": epistemic + aleatoric}
    return [
        mean * scale + offset if name == "mean" else found[name].sqrt() * scale for name in names
    ]


def _mixture_parameters(components, row_factors, *, ddof, std_factors):
    """Means and stds `(sample, component, target)` of the predictive mixture.

    Where the stds are not the noise alone, because the components' means have stds of their own
    or because the rows have factors, a third part is that of the noise, `(sample, target)`.

    Eq. 6 divides by K - 1. Spreading the means by sqrt(K / (K - 1)) about their centre makes this
    the variance of the mixture itself, so that its density and quantiles agree with the std. The
    factors of the std spread them likewise.
    """
    means, stds, *mean_stds = (part.double() for part in components)
    factors, n_components = torch.tensor(std_factors, device=means.device), len(means)
    spread = factors * (n_components / max(n_components - ddof, 1)) ** 0.5
    centre = means.mean(dim=0)
    shifts = (means - centre) * spread
    stds, *mean_stds = (part * factors for part in (stds, *mean_stds))
    noise = []
    if mean_stds or row_factors is not None:
        noise = [stds.square().mean(dim=0).sqrt()]
    if mean_stds:
        stds = torch.hypot(stds, mean_stds[0])
    if row_factors is not None:
        shifts, stds = (part * row_factors.double()[:, None] for part in (shifts, stds))
    return (centre + shifts).transpose(0, 1), stds.transpose(0, 1), *noise
