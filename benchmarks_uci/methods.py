"""What is compared: names, and factories of estimators with `predict(X, return_std=True)`.

The settings are the same for every set: nothing is tuned on the rows that a split tests on.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq import DeltaUQRegressor, NormalMixture


class _Normal(RegressorMixin, BaseEstimator):
    """One normal distribution a row, its std `noise_std_` everywhere."""

    def predict(self, X, return_std=False):
        mean = self._predict_mean(X)
        return (mean, np.full_like(mean, self.noise_std_)) if return_std else mean

    def predict_dist(self, X):
        mean, std = self.predict(X, return_std=True)
        return NormalMixture(mean[np.newaxis], std[np.newaxis])


class MarginalGaussian(_Normal):
    """The normal distribution of the training targets, whatever the row: zero skill."""

    def fit(self, X, y):
        self.mean_, self.noise_std_ = y.mean(), y.std(ddof=1)
        return self

    def _predict_mean(self, X):
        return np.full(len(X), self.mean_)


class ConstantNoise(_Normal):
    """A point predictor with one noise level, the root mean square of its held-out errors.

    Five folds of the training rows are held out in turn, so that every row has a say in the noise
    level; the predictor is then fitted to all of them.

    Parameters
    ----------
    estimator : estimator
        Regressor whose `predict` gives the mean.
    random_state : int
        Seed of the folds.
    """

    def __init__(self, estimator, random_state=None):
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X, y):
        folds = KFold(n_splits=5, shuffle=True, random_state=self.random_state)
        errors = y - cross_val_predict(self.estimator, X, y, cv=folds)
        self.noise_std_ = np.sqrt(np.mean(errors**2))
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def _predict_mean(self, X):
        return self.estimator_.predict(X)


def _marginal(random_state):
    return MarginalGaussian()


def _mlp(random_state):
    """Widths and step size of DeltaUQ; scaling and early stopping, which it also has inside."""
    mlp = MLPRegressor(
        hidden_layer_sizes=(50, 50),
        learning_rate_init=3e-3,
        batch_size=32,
        early_stopping=True,
        n_iter_no_change=20,
        max_iter=400,
        random_state=random_state,
    )
    scaled = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), mlp), transformer=StandardScaler()
    )
    return ConstantNoise(scaled, random_state=random_state)


def _deltauq(random_state):
    return DeltaUQRegressor(random_state=random_state)


def _deltauq_5(random_state):
    return DeltaUQRegressor(n_members=5, random_state=random_state)


METHODS = {"marginal": _marginal, "mlp": _mlp, "deltauq": _deltauq, "deltauq-5": _deltauq_5}


def make(name: str, random_state: int):
    """A new estimator, by a key of `METHODS`."""
    return METHODS[name](random_state)
