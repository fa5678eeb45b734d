"""Rows, targets and labels of the models that tests store."""

import numpy as np
from sklearn.base import is_classifier

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.exp(X[:, 0] + 0.3 * rng.normal(size=N)) + 1
LABELS = np.array(["ash", "beech", "cedar"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]


def target(model):
    return LABELS if is_classifier(model) else Y
