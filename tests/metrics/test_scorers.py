"""Scorers against their metrics, closed forms, and invalid models."""

import functools
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sk_deltauq import metrics
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
from tests._helpers import classifier
from tests.metrics._helpers import (
    ALL_SCORERS,
    CLASSIFICATION_SCORERS,
    REGRESSION_SCORERS,
    MixtureClassifier,
    MixtureRegressor,
)


@pytest.mark.parametrize("scorer", REGRESSION_SCORERS)
@pytest.mark.parametrize("model", [GaussianProcessRegressor(alpha=1.0), MixtureRegressor(5.0)])
def test_regression_scorers_find_the_model_in_pipelines_and_searches(regression, scorer, model):
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
def test_classification_scorers_find_the_model_in_pipelines_and_searches(classification, scorer):
    X, y = classification
    scaled = StandardScaler().fit_transform(X)
    expected = scorer(MixtureClassifier().fit(scaled, y), scaled, y)
    pipeline = make_pipeline(StandardScaler(), MixtureClassifier()).fit(X, y)
    assert scorer(pipeline, X, y) == pytest.approx(expected)
    search = GridSearchCV(pipeline, {}, scoring=scorer, cv=3).fit(X, y)
    assert scorer(search, X, y) == pytest.approx(expected)
    assert np.isfinite(search.best_score_)


def test_regression_scorers_equal_their_metrics(regression):
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


def test_classification_scorers_equal_their_metrics(classification):
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


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_search_selects_the_true_noise_variance(regression, n_jobs):
    X, y = regression  # with a noise variance of 400
    model = GaussianProcessRegressor(1e4 * RBF(3.0), optimizer=None)
    scoring = {scorer.__name__: scorer for scorer in REGRESSION_SCORERS}
    search = GridSearchCV(
        model,
        {"alpha": [0.01, 400, 1e6]},
        scoring=scoring,
        refit="nll_scorer",
        n_jobs=n_jobs,
        cv=3,
    ).fit(X, y)
    for name in scoring.keys() - {"coverage_error_scorer"}:
        assert search.cv_results_[f"mean_test_{name}"].argmax() == 1, name


def test_scores_of_several_outputs_are_averaged(regression):
    X, y = regression
    y, model = np.stack([y, 2 * y[::-1]], axis=1), MixtureRegressor(15.0)
    for scorer in REGRESSION_SCORERS:
        found = cross_val_score(model, X, y, scoring=scorer, cv=KFold(3), error_score="raise")
        # The mean over the outputs, each with a model of its own
        of_outputs = [
            [scorer(clone(model).fit(X[train], y[train, i]), X[test], y[test, i]) for i in (0, 1)]
            for train, test in KFold(3).split(X)
        ]
        expected = np.mean(of_outputs, axis=1)
        if scorer is coverage_error_scorer:  # the error of the mean coverage
            assert (found >= expected - 1e-12).all()
            continue
        np.testing.assert_allclose(found, expected)


def test_coverage_error_scorer_averages_the_coverage_of_several_outputs(regression):
    X, y = regression
    model = MixtureRegressor(15.0).fit(X, np.stack([y, 2 * y[::-1]], axis=1))
    bounds = model.predict_dist(X).interval(0.9)
    y = np.stack([bounds[..., 1], bounds[..., 0]], axis=-1).mean(axis=-1)  # all covered
    y[:30, 1] += 1e3
    assert coverage_error_scorer(model, X, y) == pytest.approx(-(0.9 - 0.75))


def test_scorers_accept_column_targets_and_data_frames(regression):
    X, y = regression
    frame, column = pd.DataFrame(X, columns=list("abc")), pd.DataFrame({"y": y})
    for model in (GaussianProcessRegressor(alpha=1.0), MixtureRegressor(5.0)):
        for scorer in REGRESSION_SCORERS:
            expected = scorer(model.fit(X, y), X, y)
            fitted = make_pipeline("passthrough", model).fit(frame, column)
            assert scorer(fitted, frame, column) == pytest.approx(expected)
            assert scorer(fitted, frame, column["y"]) == pytest.approx(expected)


def test_scores_of_bayesian_ridge_equal_normal_closed_forms(regression):
    X, y = regression
    mean, std = BayesianRidge().fit(X, y).predict(X, return_std=True)
    z, dist = (y - mean) / std, norm(mean, std)
    low, high = dist.interval(0.9)
    missed = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    nll = -dist.logpdf(y).mean()
    expected = {
        nll_scorer: nll,
        density_nll_scorer: nll,
        crps_scorer: np.mean(
            std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
        ),
        interval_score_scorer: np.mean(high - low + missed * 2 / 0.1),
        coverage_error_scorer: abs(np.mean(missed == 0) - 0.9),
    }
    assert expected.keys() == set(REGRESSION_SCORERS)
    for scorer, value in expected.items():
        assert scorer(BayesianRidge().fit(X, y), X, y) == pytest.approx(-value)


def test_with_options_changes_the_coverage(regression):
    X, y = regression
    model = MixtureRegressor(15.0).fit(X, y)
    lower, upper = model.predict_dist(X).interval(0.5).T
    expected = pytest.approx(-interval_score(y, lower, upper, coverage=0.5))
    half = interval_score_scorer.with_options(coverage=0.5)
    assert half(model, X, y) == expected
    assert half(model, X, y) != interval_score_scorer(model, X, y)
    assert repr(half) == "interval_score_scorer.with_options(coverage=0.5)"
    assert functools.partial(interval_score_scorer, coverage=0.5)(model, X, y) == expected
    assert pickle.loads(pickle.dumps(half))(model, X, y) == half(model, X, y)
    scores, others = (
        cross_val_score(model, X, y, scoring=scorer, cv=2)
        for scorer in (half, interval_score_scorer)
    )
    assert (scores != others).all()
    with pytest.raises(TypeError, match=r"no option 'alpha'\. Its options are \['coverage'\]"):
        interval_score_scorer.with_options(alpha=0.5)
    with pytest.raises(TypeError, match=r"no option 'sample_weight'\. Its options are \[\]"):
        nll_scorer.with_options(sample_weight=None)


@pytest.mark.parametrize("scorer", REGRESSION_SCORERS)
def test_regression_scorers_reject_models_without_uncertainty(regression, classification, scorer):
    X, y = regression
    for model in (
        LinearRegression(),
        make_pipeline(StandardScaler(), LinearRegression()),
        TransformedTargetRegressor(BayesianRidge()),
        GridSearchCV(BayesianRidge(), {}, refit=False),
        StandardScaler(),
    ):
        with pytest.raises(TypeError, match=r"return_std=True.*, got \w+\.") as caught:
            scorer(model.fit(X, y), X, y)
        is_transformed = isinstance(model, TransformedTargetRegressor)
        assert ("target_transform parameter" in str(caught.value)) == is_transformed
    if scorer not in CLASSIFICATION_SCORERS:
        X, y = classification
        with pytest.raises(TypeError, match="needs a regressor, got MixtureClassifier"):
            scorer(MixtureClassifier().fit(X, y), X, y)


def test_classification_scorers_reject_models_without_probabilities(regression, classification):
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


def test_all_public_names_are_exported():
    here = [
        name
        for name, value in inspect.getmembers(metrics, callable)
        if value.__module__.startswith(metrics.__name__)
    ]
    assert sorted(metrics.__all__) == here
    for scorer in ALL_SCORERS:
        assert scorer is getattr(metrics, scorer.__name__)


def test_coverage_error_scorer_rejects_invalid_targets(regression):
    X, y = regression
    model = BayesianRidge().fit(X, y)
    for wrong, message in [
        (y[:1], "must have the shape of y_true"),
        (np.full(len(y), np.nan), "y_true must not contain NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            coverage_error_scorer(model, X, wrong)


def test_nll_scorer_of_a_single_class_is_zero():
    X, y = np.arange(6.0).reshape(3, 2), ["only"] * 3
    assert nll_scorer(GaussianNB().fit(X, y), X, y) == 0


@pytest.mark.parametrize("scorer", CLASSIFICATION_SCORERS, ids=lambda scorer: scorer.__name__)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "must not be negative"),
        ([0.0, 0.0], "not 0 throughout"),
        ([1.0], "must have shape"),
    ],
)
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "a"]])
def test_classification_scorers_reject_invalid_weights(scorer, weights, message, labels):
    X = [[0.0], [1.0]]
    model = classifier(max_iter=1).fit(X, labels)
    with pytest.raises(ValueError, match=f"sample_weight .*{message}"):
        scorer(model, X, labels, sample_weight=weights)
