"""External methods that a reader would try first, around scikit-learn, NGBoost and MAPIE.

Like the estimators of `sk_deltauq` they have `predict(X, return_std=True)` and `predict_dist(X)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq import NormalMixture


class _Normal(ABC, RegressorMixin, BaseEstimator):
    """One normal distribution per row; a subclass has its `_mean_and_std`."""

    @abstractmethod
    def _mean_and_std(self, X) -> tuple[Any, Any]: ...

    def predict(self, X, return_std=False):
        mean, std = self._mean_and_std(X)
        return (mean, std) if return_std else mean

    def predict_dist(self, X):
        mean, std = self._mean_and_std(X)
        return NormalMixture(mean[np.newaxis], std[np.newaxis])


class MarginalGaussian(_Normal):
    """The normal distribution of the training targets, the same for every row: zero skill."""

    def fit(self, X, y):
        self.mean_, self.noise_std_ = y.mean(), y.std(ddof=1)
        return self

    def _mean_and_std(self, X):
        return np.full(len(X), self.mean_), np.full(len(X), self.noise_std_)


@dataclass(eq=False, repr=False)
class ConstantNoise(_Normal):
    """A point predictor with one noise level, the root mean square of its held-out errors.

    Each of five folds of the training rows is held out once, so that every row contributes to the
    noise level. The predictor is then fitted to all rows.
    """

    estimator: Any
    random_state: int | None = None  # seed of the folds

    def fit(self, X, y):
        folds = KFold(n_splits=5, shuffle=True, random_state=self.random_state)
        errors = y - cross_val_predict(self.estimator, X, y, cv=folds)
        self.noise_std_ = np.sqrt(np.mean(errors**2))
        model: Any = clone(self.estimator)
        self.estimator_ = model.fit(X, y)
        return self

    def _mean_and_std(self, X):
        mean = self.estimator_.predict(X)
        return mean, np.full_like(mean, self.noise_std_)


@dataclass(eq=False, repr=False)
class BaggedNoise(RegressorMixin, BaseEstimator):
    """Bagged predictors with one noise level, the root mean square of their out-of-bag errors.

    The prediction is a mixture with one normal distribution per predictor. The error of a row is
    the error of the mean of the predictors that did not see the row. These are not all predictors,
    so the noise level is rather too large.
    """

    estimator: Any
    n_estimators: int = 5  # number of bootstrap samples
    random_state: int | None = None  # seed of the bootstrap samples and of the predictors

    def fit(self, X, y):
        self.bagging_ = BaggingRegressor(
            self.estimator, self.n_estimators, random_state=self.random_state
        ).fit(X, y)
        total, count = np.zeros(len(y)), np.zeros(len(y))
        bags = self.bagging_.estimators_samples_
        for member, seen in zip(self.bagging_.estimators_, bags, strict=True):
            out = np.setdiff1d(np.arange(len(y)), seen)
            total[out] += member.predict(X[out])
            count[out] += 1
        held_out = count > 0
        errors = y[held_out] - total[held_out] / count[held_out]
        self.noise_std_ = np.sqrt(np.mean(errors**2))
        return self

    def predict(self, X, return_std=False):
        dist = self.predict_dist(X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, X):
        means = np.stack([member.predict(X) for member in self.bagging_.estimators_])
        return NormalMixture(means, np.full_like(means, self.noise_std_))


@dataclass(eq=False, repr=False)
class JackknifePlus(_Normal):
    """MAPIE's jackknife+ after bootstrap around a point predictor.

    It gives intervals, not a distribution. The standard deviation belongs to the normal
    distribution around the predicted point whose interval is equally wide.
    """

    estimator: Any
    n_estimators: int = 30  # number of bootstrap samples; MAPIE's default
    coverage: float = 0.9  # of the interval from which the standard deviation is computed
    random_state: int | None = None  # seed of the bootstrap samples

    def fit(self, X, y):
        # Optional
        from mapie.regression import JackknifeAfterBootstrapRegressor

        self.mapie_ = JackknifeAfterBootstrapRegressor(
            self.estimator,
            confidence_level=self.coverage,
            resampling=self.n_estimators,
            random_state=self.random_state,
        )
        self.mapie_.fit_conformalize(X, y)
        return self

    def _mean_and_std(self, X):
        points, intervals = self.mapie_.predict_interval(X)
        lower, upper = intervals[:, :, 0].T
        return points, (upper - lower) / (2 * norm.ppf((1 + self.coverage) / 2))


@dataclass(eq=False, repr=False)
class GaussianProcess(_Normal):
    """scikit-learn's Gaussian process on standardised rows and targets, with white noise.

    The kernel is an RBF with one length scale per feature. All hyperparameters maximise the
    marginal likelihood, with one start.
    """

    random_state: int | None = None  # unused: the fit has no randomness without restarts

    def fit(self, X, y):
        length_scales: Any = np.full(X.shape[1], 3.0)
        kernel = ConstantKernel() * RBF(length_scales, (1e-2, 1e4)) + WhiteKernel(
            0.1, noise_level_bounds=(1e-8, 10)
        )
        gp = GaussianProcessRegressor(kernel, normalize_y=True)
        self.model_ = make_pipeline(StandardScaler(), gp).fit(X, y)
        return self

    def _mean_and_std(self, X):
        # The kernel includes the white noise, so the std describes a new observation.
        return self.model_.predict(X, return_std=True)


@dataclass(eq=False, repr=False)
class NGBoost(_Normal):
    """NGBoost's normal distribution, stopped by its likelihood on 10 % of the training rows."""

    n_estimators: int = 2000  # maximum number of boosting steps
    learning_rate: float = 0.01
    validation_fraction: float = 0.1  # of the training rows, held out
    # Boosting stops after this number of steps without an improvement; the best step is kept.
    early_stopping_rounds: int = 50
    random_state: int | None = None  # seed of the held-out rows and of the trees

    def fit(self, X, y):
        # Optional, and slow to import
        from ngboost import NGBRegressor
        from ngboost.learners import default_tree_learner

        X, X_held, y, y_held = train_test_split(
            X, y, test_size=self.validation_fraction, random_state=self.random_state
        )
        # By default its trees draw from NumPy's global generator.
        tree: Any = clone(default_tree_learner)
        tree.set_params(random_state=self.random_state)
        self.ngb_ = NGBRegressor(
            Base=tree,
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
            verbose=False,
        )
        self.ngb_.fit(X, y, X_held, y_held, early_stopping_rounds=self.early_stopping_rounds)
        # By default NGBoost also predicts with the steps after the best one.
        self.n_steps_ = int(self.ngb_.best_val_loss_itr or 0) + 1
        return self

    def _mean_and_std(self, X):
        found = self.ngb_.pred_dist(X, max_iter=self.n_steps_)
        return found.params["loc"], found.params["scale"]


def make_scaled_mlp(hidden_layer_sizes, batch_size, random_state):
    """Return scikit-learn's MLP with the epochs and patience of Delta-UQ, between scalers.

    It does not average its weights, so its steps are smaller than Delta-UQ's steps.
    """
    mlp = MLPRegressor(
        hidden_layer_sizes=hidden_layer_sizes,
        learning_rate_init=3e-3,
        batch_size=batch_size,
        early_stopping=True,
        n_iter_no_change=30,
        max_iter=400,
        random_state=random_state,
    )
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), mlp), transformer=StandardScaler()
    )
