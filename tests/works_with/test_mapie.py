"""MAPIE: conformal intervals from its own splits and scores around our regressors."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold

from tests.works_with._models import make_regressor

regressors = pytest.importorskip("mapie.regression")
scores = pytest.importorskip("mapie.conformity_scores")


class Output(RegressorMixin, BaseEstimator):
    """A fitted regressor whose `predict` returns another result of a model."""

    def __init__(self, model, function):
        self.model = model
        self.function = function

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.function(self.model, X)

    @property
    def n_features_in_(self):  # MAPIE looks for it in a fitted estimator
        return self.model.n_features_in_


def predict_std(model, X):
    return model.predict(X, return_std=True)[1]


def find_quantile(scores, coverage=0.9):
    """The split conformal quantile: the score of rank ceil(coverage * (n + 1))."""
    return np.sort(scores)[int(np.ceil(coverage * (len(scores) + 1))) - 1]


def test_split_conformal(regression, model):
    d = regression
    mapie = regressors.SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    mean, intervals = mapie.conformalize(d.X_cal, d.y_cal).predict_interval(d.X_test)
    half = find_quantile(np.abs(d.y_cal - model.predict(d.X_cal)))
    np.testing.assert_allclose(mean, model.predict(d.X_test))
    np.testing.assert_allclose(intervals[:, 0, 0], mean - half)
    np.testing.assert_allclose(intervals[:, 1, 0], mean + half)


def test_cross_conformal(regression):
    d = regression
    cv = KFold(3)
    mapie = regressors.CrossConformalRegressor(make_regressor(), confidence_level=0.9, cv=cv)
    mapie.fit_conformalize(d.X_fit, d.y_fit)
    _, intervals = mapie.predict_interval(d.X_test)
    # CV+ by hand: eq. (14) of Barber et al. (2021)
    lower, upper = [], []
    for train, test in cv.split(d.X_fit):
        fitted = make_regressor().fit(d.X_fit[train], d.y_fit[train])
        errors = np.abs(d.y_fit[test] - fitted.predict(d.X_fit[test]))
        mean = fitted.predict(d.X_test)
        lower.append(mean - errors[:, None])  # (held-out row, new row)
        upper.append(mean + errors[:, None])
    rank = int(np.ceil(0.9 * (len(d.X_fit) + 1)))
    lower, upper = (np.sort(np.concatenate(parts), axis=0) for parts in (lower, upper))
    np.testing.assert_allclose(intervals[:, 0, 0], lower[-rank], rtol=1e-5)
    np.testing.assert_allclose(intervals[:, 1, 0], upper[rank - 1], rtol=1e-5)


def test_residuals_normalised_by_our_std_equal_conformalize(regression, model):
    d = regression
    score = scores.ResidualNormalisedScore(Output(model, predict_std), prefit=True)
    mapie = regressors.SplitConformalRegressor(
        model, confidence_level=0.9, conformity_score=score, prefit=True
    ).conformalize(d.X_cal, d.y_cal)
    _, intervals = mapie.predict_interval(d.X_test)
    ours = model.conformalize(d.X_cal, d.y_cal).predict_interval(d.X_test, method="conformal")
    np.testing.assert_allclose(intervals[:, :, 0], ours, rtol=1e-5)


def test_residuals_may_be_normalised_by_our_regressor(regression, model):
    d = regression
    score = scores.ResidualNormalisedScore(make_regressor(), random_state=0)
    mapie = regressors.SplitConformalRegressor(
        model, confidence_level=0.8, conformity_score=score, prefit=True
    ).conformalize(d.X_cal, d.y_cal)
    _, intervals = mapie.predict_interval(d.X_test)
    widths = intervals[:, 1, 0] - intervals[:, 0, 0]
    assert (widths > 0).all()
    assert widths.std() > 0


def test_conformalized_quantiles(regression, model):
    d = regression
    levels = (0.05, 0.95, 0.5)

    def predict_level(level):
        return Output(model, lambda model, X: model.predict_quantiles(X, [level])[:, 0])

    mapie = regressors.ConformalizedQuantileRegressor(
        [predict_level(level) for level in levels], confidence_level=0.9, prefit=True
    ).conformalize(d.X_cal, d.y_cal)
    _, intervals = mapie.predict_interval(d.X_test, symmetric_correction=True)
    lower, upper = model.predict_quantiles(d.X_cal, levels[:2]).T
    margin = find_quantile(np.maximum(lower - d.y_cal, d.y_cal - upper))
    lower, upper = model.predict_quantiles(d.X_test, levels[:2]).T
    np.testing.assert_allclose(intervals[:, 0, 0], lower - margin)
    np.testing.assert_allclose(intervals[:, 1, 0], upper + margin)


def test_mapie_rejects_our_regressors_for_quantile_regression(regression):
    with pytest.raises(ValueError, match="estimator"):
        regressors.ConformalizedQuantileRegressor(make_regressor()).fit(
            regression.X_fit, regression.y_fit
        )
