"""scikit-activeml: our estimators choose the rows whose targets are worth measuring."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.works_with._models import make_regressor

pool = pytest.importorskip("skactiveml.pool")
wrappers = pytest.importorskip("skactiveml.regressor")
classifiers = pytest.importorskip("skactiveml.classifier")


@pytest.fixture
def partly_labelled(regression):
    """Only 40 of the first 60 rows have a target; the others have NaN."""
    X, y = regression.X_fit[:60], regression.y_fit[:60].copy()
    y[40:] = np.nan
    return X, y


def test_target_distribution(partly_labelled):
    X, y = partly_labelled
    wrapped = wrappers.SklearnNormalRegressor(make_regressor()).fit(X, y)
    dist = wrapped.predict_target_distribution(X)
    mean, std = make_regressor().fit(X[:40], y[:40]).predict(X, return_std=True)
    np.testing.assert_allclose(dist.mean(), mean)
    np.testing.assert_allclose(dist.std(), std)


def test_queries_of_a_regressor(partly_labelled):
    X, y = partly_labelled
    wrapped = wrappers.SklearnNormalRegressor(make_regressor(max_iter=5))
    greedy = pool.GreedySamplingTarget(random_state=0).query(X, y, reg=wrapped, batch_size=2)
    reduction = pool.ExpectedModelVarianceReduction(random_state=0).query(
        X, y, reg=wrapped, candidates=[41, 42]
    )
    assert set(greedy) <= set(range(40, 60))
    assert set(reduction) <= {41, 42}


def test_queries_of_a_classifier(classification):
    d = classification
    y = d.y_fit.astype(float)
    y[::2] = np.nan
    wrapped = classifiers.SklearnClassifier(
        type(d.model)(**d.model.get_params()), classes=[0, 1, 2]
    )
    chosen = pool.UncertaintySampling(method="least_confident", random_state=0).query(
        d.X_fit, y, clf=wrapped, batch_size=3
    )
    fitted = clone(d.model).fit(d.X_fit[1::2], d.y_fit[1::2])
    confidence = fitted.predict_proba(d.X_fit[::2]).max(axis=1)
    assert set(chosen) == {2 * i for i in np.argsort(confidence)[:3]}
