"""Estimators with known predictions."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch


class TwoOutputs(RegressorMixin, BaseEstimator):
    """Predict both features as means, with standard deviations 1 and 2."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        mean = np.asarray(X)[:, :2]
        return (mean, np.broadcast_to([1.0, 2.0], mean.shape)) if return_std else mean

    def predict_uncertainty(self, X):
        std = self.predict(X, return_std=True)[1]
        return Bunch(epistemic=0.6 * std, aleatoric=0.8 * std, total=std)


class FirstFeature(RegressorMixin, BaseEstimator):
    """Predict the first feature, times the second as standard deviation, by keywords."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False, *, coverage=None, quantiles=None):
        X = np.asarray(X, dtype=float)
        found = [X[:, 0]]
        if return_std:
            found.append(X[:, 1])
        if coverage is not None:  # not symmetric, to tell it from a normal interval
            found.append(np.stack([X[:, 0] - X[:, 1], X[:, 0] + 3 * X[:, 1]], axis=1))
        if quantiles is not None:
            found.append(X[:, :1] + np.asarray(quantiles))
        return tuple(found) if len(found) > 1 else found[0]


class Probabilities(ClassifierMixin, BaseEstimator):
    """Take the features as the probabilities of the classes."""

    def __init__(self, labels=("no", "yes")):
        self.labels = labels

    def fit(self, X, y=None):
        self.classes_ = np.asarray(self.labels)
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return self.classes_[np.asarray(X).argmax(axis=1)]
