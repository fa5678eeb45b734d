import functools
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sk_deltauq import metrics
from sk_deltauq.distributions import CategoricalMixture, NormalMixture
from sk_deltauq.metrics import (
    brier_score,
    brier_scorer,
    coverage,
    coverage_error_scorer,
    crps,
    crps_scorer,
    density_nll_scorer,
    ece_scorer,
    expected_calibration_error,
    gaussian_nll,
    interval_score,
    interval_score_scorer,
    nll,
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


@pytest.fixture(scope="module")
def regression():
    return make_regression(60, 3, noise=20, random_state=0)


@pytest.fixture(scope="module")
def classification():
    X, y = make_classification(
        90, 4, n_informative=3, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0
    )
    return X, np.array(["late", "early", "never"])[y]  # the order is not that of the positions


@pytest.mark.parametrize("scorer", REGRESSION_SCORERS)
@pytest.mark.parametrize("model", [GaussianProcessRegressor(alpha=1.0), MixtureRegressor(5.0)])
def test_regression_scorers_see_through_pipelines_and_searches(regression, scorer, model):
    X, y = regression
    scaled = StandardScaler().fit_transform(X)
    expected = scorer(model.fit(scaled, y), scaled, y)
    assert type(expected) is float
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    assert scorer(pipeline, X, y) == pytest.approx(expected)
    assert scorer(make_pipeline(make_pipeline(model)).fit(scaled, y), scaled, y) == expected
    search = GridSearchCV(pipeline, {}, scoring=scorer, cv=2).fit(X, y)
    assert scorer(search, X, y) == pytest.approx(expected)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("scorer", CLASSIFICATION_SCORERS)
def test_classification_scorers_see_through_pipelines_and_searches(classification, scorer):
    X, y = classification
    scaled = StandardScaler().fit_transform(X)
    expected = scorer(MixtureClassifier().fit(scaled, y), scaled, y)
    pipeline = make_pipeline(StandardScaler(), MixtureClassifier()).fit(X, y)
    assert scorer(pipeline, X, y) == pytest.approx(expected)
    search = GridSearchCV(pipeline, {}, scoring=scorer, cv=3).fit(X, y)
    assert scorer(search, X, y) == pytest.approx(expected)
    assert np.isfinite(search.best_score_)


def test_regression_scorers_are_their_metrics(regression):
    X, y = regression
    model, weight = MixtureRegressor(15.0).fit(X, y), np.arange(60)
    dist = model.predict_dist(X)
    lower, upper = dist.interval(0.9).T
    for scorer, expected in [
        (nll_scorer, gaussian_nll(y, dist.mean, dist.std, sample_weight=weight)),
        (density_nll_scorer, nll(y, dist, sample_weight=weight)),
        (crps_scorer, crps(y, dist, sample_weight=weight)),
        (interval_score_scorer, interval_score(y, lower, upper, sample_weight=weight)),
        (coverage_error_scorer, abs(coverage(y, lower, upper, sample_weight=weight) - 0.9)),
    ]:
        assert scorer(model, X, y, sample_weight=weight) == pytest.approx(-expected)


def test_classification_scorers_are_their_metrics(classification):
    X, y = classification
    model, weight = MixtureClassifier().fit(X, y), np.arange(90)
    proba, options = model.predict_proba(X), {"labels": model.classes_, "sample_weight": weight}
    for scorer, expected in [
        (nll_scorer, log_loss(y, proba, **options)),
        (density_nll_scorer, log_loss(y, proba, **options)),
        (brier_scorer, brier_score(y, proba, **options)),
        (ece_scorer, expected_calibration_error(y, proba, **options)),
    ]:
        assert scorer(model, X, y, sample_weight=weight) == pytest.approx(-expected)


def test_search_in_two_processes_finds_the_noise(regression):
    X, y = regression  # with a noise variance of 400
    model = GaussianProcessRegressor(1e4 * RBF(3.0), optimizer=None)
    scoring = {scorer.__name__: scorer for scorer in REGRESSION_SCORERS}
    search = GridSearchCV(
        model, {"alpha": [0.01, 400, 1e6]}, scoring=scoring, refit="nll_scorer", n_jobs=2, cv=3
    ).fit(X, y)
    for name in scoring.keys() - {"coverage_error_scorer"}:
        assert search.cv_results_[f"mean_test_{name}"].argmax() == 1, name


def test_cross_validation_with_several_outputs(regression):
    X, y = regression
    y = np.stack([y, -2 * y], axis=1)
    for model in (GaussianProcessRegressor(alpha=1.0), MixtureRegressor(5.0)):
        for scorer in REGRESSION_SCORERS:
            scores = cross_val_score(model, X, y, scoring=scorer, cv=3, error_score="raise")
            assert np.isfinite(scores).all()


def test_column_targets_and_data_frames(regression):
    X, y = regression
    frame, column = pd.DataFrame(X, columns=list("abc")), pd.DataFrame({"y": y})
    for model in (GaussianProcessRegressor(alpha=1.0), MixtureRegressor(5.0)):
        for scorer in REGRESSION_SCORERS:
            expected = scorer(model.fit(X, y), X, y)
            fitted = make_pipeline("passthrough", model).fit(frame, column)
            assert scorer(fitted, frame, column) == pytest.approx(expected)
            assert scorer(fitted, frame, column["y"]) == pytest.approx(expected)


def test_scikit_learns_own_bayesian_regressors(regression):
    X, y = regression
    for scorer in REGRESSION_SCORERS:
        assert np.isfinite(cross_val_score(BayesianRidge(), X, y, scoring=scorer)).all()


def test_other_coverages(regression):
    X, y = regression
    model = MixtureRegressor(15.0).fit(X, y)
    lower, upper = model.predict_dist(X).interval(0.5).T
    half = functools.partial(interval_score_scorer, coverage=0.5)
    assert half(model, X, y) == pytest.approx(-interval_score(y, lower, upper, coverage=0.5))
    assert pickle.loads(pickle.dumps(half))(model, X, y) == half(model, X, y)


@pytest.mark.parametrize("scorer", REGRESSION_SCORERS)
def test_regression_scorers_refuse(regression, classification, scorer):
    X, y = regression
    for model in (
        LinearRegression(),
        make_pipeline(StandardScaler(), LinearRegression()),
        TransformedTargetRegressor(BayesianRidge()),
        GridSearchCV(BayesianRidge(), {}, refit=False),
        StandardScaler(),
    ):
        with pytest.raises(TypeError, match=r"return_std=True.*, got \w+\."):
            scorer(model.fit(X, y), X, y)
    if scorer not in CLASSIFICATION_SCORERS:
        X, y = classification
        with pytest.raises(TypeError, match="needs a regressor, got MixtureClassifier"):
            scorer(MixtureClassifier().fit(X, y), X, y)


def test_classification_scorers_refuse(regression, classification):
    X, y = classification
    for scorer in (nll_scorer, brier_scorer, ece_scorer):
        with pytest.raises(TypeError, match="predict_proba, got LinearSVC"):
            scorer(LinearSVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match="got GaussianNB"):
        density_nll_scorer(GaussianNB().fit(X, y), X, y)
    X, y = regression
    for scorer in (brier_scorer, ece_scorer):
        with pytest.raises(TypeError, match="predict_proba, got LinearRegression"):
            scorer(LinearRegression().fit(X, y), X, y)


def test_names_are_complete():
    here = [
        name
        for name, function in inspect.getmembers(metrics, inspect.isfunction)
        if function.__module__.startswith(metrics.__name__)
    ]
    assert sorted(metrics.__all__) == here
    for name in here:
        if name.endswith("_scorer"):
            assert pickle.loads(pickle.dumps(getattr(metrics, name))) is getattr(metrics, name)


def test_coverage_error_scorer_checks_like_the_metric(regression):
    X, y = regression
    model = BayesianRidge().fit(X, y)
    for wrong in (y[:1], np.full(len(y), np.nan)):
        with pytest.raises(ValueError, match=r"shape|NaN"):
            coverage_error_scorer(model, X, wrong)


def test_nll_scorer_of_a_single_class_is_certain():
    X, y = np.arange(6.0).reshape(3, 2), ["only"] * 3
    assert nll_scorer(GaussianNB().fit(X, y), X, y) == 0
