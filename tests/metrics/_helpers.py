"""All scorers, and small models with a predictive distribution."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from sk_deltauq.distributions import CategoricalMixture, NormalMixture
from sk_deltauq.metrics import (
    brier_scorer,
    coverage_error_scorer,
    crps_scorer,
    density_nll_scorer,
    ece_scorer,
    interval_score_scorer,
    nll_scorer,
)

REGRESSION_SCORERS = [
    nll_scorer,
    density_nll_scorer,
    crps_scorer,
    interval_score_scorer,
    coverage_error_scorer,
]
CLASSIFICATION_SCORERS = [nll_scorer, density_nll_scorer, brier_scorer, ece_scorer]
ALL_SCORERS = [*REGRESSION_SCORERS, brier_scorer, ece_scorer]


class MixtureRegressor(RegressorMixin, BaseEstimator):
    """Two components either side of a straight line."""

    def __init__(self, std=1.0):
        self.std = std

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X, return_std=False):
        dist = self.predict_dist(X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, X):
        mean = self.line_.predict(X)
        means = np.stack([mean - self.std, mean + self.std])
        return NormalMixture(means, np.full_like(means, self.std))


class MixtureClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes, and a less certain version of it."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_dist(self, X):
        log_proba = self.model_.predict_log_proba(X)
        return CategoricalMixture(np.stack([log_proba, 0.5 * log_proba]))

    def predict_proba(self, X):
        return self.predict_dist(X).proba

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
