import functools
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import brier_score_loss, log_loss
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
    gaussian_crps,
    gaussian_nll,
    interval_score,
    interval_score_scorer,
    mean_width,
    nll,
    nll_scorer,
    ood_auroc,
    quantile_calibration_error,
)

REGRESSION_SCORERS = [
    nll_scorer,
    density_nll_scorer,
    crps_scorer,
    interval_score_scorer,
    coverage_error_scorer,
]
CLASSIFICATION_SCORERS = [nll_scorer, density_nll_scorer, brier_scorer, ece_scorer]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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


# Metrics of regression


@pytest.mark.parametrize("shape", [(50,), (50, 2)])
def test_nll_against_scipy(rng, shape):
    y, mean, std = rng.normal(size=shape), rng.normal(size=shape), rng.uniform(0.5, 2, size=shape)
    weight = rng.uniform(size=50)
    scores = -stats.norm(mean, std).logpdf(y).reshape(50, -1).mean(axis=1)
    assert gaussian_nll(y, mean, std) == pytest.approx(scores.mean())
    expected = (weight * scores).sum() / weight.sum()
    assert gaussian_nll(y, mean, std, sample_weight=weight) == pytest.approx(expected)
    dist = NormalMixture(mean[None], std[None])
    assert nll(y, dist, sample_weight=weight) == pytest.approx(expected)


def test_gaussian_crps_against_closed_form(rng):
    y, mean, std = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.5, 2, size=50)
    z, normal = (y - mean) / std, stats.norm
    scores = std * (z * (2 * normal.cdf(z) - 1) + 2 * normal.pdf(z) - 1 / np.sqrt(np.pi))
    assert gaussian_crps(y, mean, std) == pytest.approx(scores.mean())
    assert crps(y, NormalMixture([mean], [std])) == pytest.approx(scores.mean())
    assert gaussian_crps(y, mean, np.zeros(50)) == pytest.approx(np.abs(y - mean).mean())


def test_interval_score_is_its_definition():
    y, lower, upper = [0.0, 3.0, -2.0], [-1.0, 0.0, 0.0], [1.0, 2.0, 1.0]
    expected = (2 + (2 + 2 / 0.2 * 1) + (1 + 2 / 0.2 * 2)) / 3
    assert interval_score(y, lower, upper, coverage=0.8) == pytest.approx(expected)


def test_interval_score_prefers_the_true_quantiles(rng):
    y = rng.normal(size=20_000)

    def score(width):
        return interval_score(y, np.full_like(y, -width), np.full_like(y, width), 0.9)

    assert score(1.645) < min(score(1.4), score(1.9))


def test_coverage_and_width():
    y, lower, upper = [[0.0, 3.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [1.0, 4.0]]
    assert coverage(y, lower, upper) == 0.75
    assert coverage(y, lower, upper, sample_weight=[1, 0]) == 0.5
    assert mean_width(lower, upper) == 2
    assert mean_width(lower, upper, sample_weight=[1, 3]) == pytest.approx((1.5 + 3 * 2.5) / 4)


def test_calibration_error_of_the_true_distribution_is_small(rng):
    dist = NormalMixture(rng.normal(size=(5, 20_000)), rng.uniform(0.5, 1, size=(5, 20_000)))
    y = dist.sample(1, random_state=1)[:, 0]
    assert quantile_calibration_error(y, dist) < 0.006


def test_calibration_error_of_half_the_width(rng):
    y = rng.normal(size=(40_000, 2))
    levels = np.linspace(0.1, 0.9, 9)
    observed = stats.norm.cdf(stats.norm.ppf(levels) / 2)
    dist = NormalMixture(np.zeros((1, 40_000, 2)), np.full((1, 40_000, 2), 0.5))
    error = quantile_calibration_error(y, dist, quantiles=levels)
    assert error == pytest.approx(np.abs(observed - levels).mean(), abs=0.006)


@pytest.mark.parametrize("std", [0.0, 0.3])
def test_calibration_error_counts_values_up_to_the_quantile(rng, std):
    # Multiples of 1 / n_components, and values equal to point masses, are the delicate ones.
    means, levels = rng.normal(size=(20, 200)), np.arange(1, 20) / 20
    dist = NormalMixture(means, np.full_like(means, std))
    y = np.where(rng.uniform(size=200) < 0.5, means[3], rng.normal(size=200))
    weight = rng.uniform(size=200)
    observed = np.average(y[:, None] <= dist.ppf(levels), axis=0, weights=weight)
    error = quantile_calibration_error(y, dist, sample_weight=weight)
    assert error == pytest.approx(np.abs(observed - levels).mean())


def test_ood_auroc_is_a_probability(rng):
    inside, outside = rng.normal(size=40), rng.normal(1, size=30)
    expected = (outside[:, None] > inside).mean()
    assert ood_auroc(inside, outside) == pytest.approx(expected)


# Metrics of classification


def test_nll_and_brier_against_sklearn(rng):
    y = rng.integers(3, size=50)
    dist = CategoricalMixture(rng.normal(size=(4, 50, 3)))
    weight = rng.uniform(size=50)
    expected = log_loss(y, dist.proba, sample_weight=weight)
    assert nll(y, dist, sample_weight=weight) == pytest.approx(expected)

    score = brier_score(y, dist.proba, sample_weight=weight)
    one_hot = (y[:, None] == np.arange(3)).astype(float)
    rows = [sum((p - t) ** 2) for p, t in zip(dist.proba, one_hot, strict=True)]
    assert score == pytest.approx(np.average(rows, weights=weight))

    two = CategoricalMixture(rng.normal(size=(4, 50, 2))).proba
    half = brier_score_loss(y > 0, two[:, 1])
    assert brier_score(y > 0, two) == pytest.approx(2 * half)


def test_labels_name_the_columns():
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    dist = CategoricalMixture(np.log(proba)[None])
    y, labels = ["b", "a"], ["b", "c", "a"]
    assert nll(y, dist, labels=labels) == pytest.approx(-np.log([0.7, 0.3]).mean())
    assert brier_score(y, proba, labels=labels) == pytest.approx(
        (0.09 + 0.04 + 0.01 + 0.01 + 0.36 + 0.49) / 2
    )
    assert expected_calibration_error(y, proba, labels=labels) == pytest.approx((0.3 + 0.6) / 2)
    assert nll([1], CategoricalMixture([[[0.3]]]), labels=[1]) == 0  # a single class


def test_calibration_error_against_a_loop(rng):
    y, weight = rng.integers(3, size=200), rng.uniform(size=200)
    proba = CategoricalMixture(2 * rng.normal(size=(1, 200, 3))).proba
    proba[:5] = np.eye(3)[[0, 1, 2, 0, 1]]  # certain rows belong to the last bin
    confidence, correct = proba.max(axis=1), proba.argmax(axis=1) == y
    expected = 0
    for low in np.arange(10) / 10:
        inside = (low < confidence) & (confidence <= low + 0.1)
        if inside.any():
            gap = np.average((confidence - correct)[inside], weights=weight[inside])
            expected += abs(gap) * weight[inside].sum() / weight.sum()
    actual = expected_calibration_error(y, proba, n_bins=10, sample_weight=weight)
    assert actual == pytest.approx(expected)


def test_calibration_error_of_true_probabilities_is_small():
    dist = CategoricalMixture(np.random.default_rng(0).normal(size=(1, 20_000, 4)))
    y = dist.sample(1, random_state=0)[:, 0]
    assert expected_calibration_error(y, dist.proba) < 0.015


# What goes in


def test_containers_and_precisions(rng):
    y, mean, std = rng.normal(size=(3, 20)).astype(np.float32)
    std = np.exp(std)
    expected = gaussian_nll(*(a.astype(float) for a in (y, mean, std)))
    index = np.arange(20)[::-1]
    for convert in (np.asarray, list, lambda a: pd.Series(a, index=index), pd.array):
        score = gaussian_nll(convert(y), mean, convert(std), sample_weight=convert(np.ones(20)))
        assert score == pytest.approx(expected, rel=1e-12)
        assert type(score) is float
        assert type(nll(convert(y), NormalMixture([mean], [std]))) is float


def test_weight_zero_drops_a_row(rng):
    y, mean, std = rng.normal(size=10), rng.normal(size=10), rng.uniform(1, 2, size=10)
    dist, keep = NormalMixture([mean], [std]), np.arange(10) > 3
    for metric in (nll, crps, quantile_calibration_error):
        whole = metric(y, dist, sample_weight=keep)
        assert whole == pytest.approx(metric(y[keep], dist[keep]))


ROWS = np.array([1.0, 2.0, 3.0])
THREE = NormalMixture(np.zeros((1, 3)), np.ones((1, 3)))
PROBA = np.full((3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_nll(ROWS, ROWS[:, None], ROWS), "mean must have the shape of y_true"),
        (lambda: gaussian_nll(ROWS, ROWS, ROWS[:2]), "std must have the shape of y_true"),
        (lambda: gaussian_nll(ROWS, ROWS, [1, 0, 1]), "std must be positive, got a minimum of 0"),
        (lambda: gaussian_nll(ROWS, ROWS, [1, -1, 1]), "std must be positive"),
        (lambda: gaussian_crps(ROWS, ROWS, -ROWS), "stds must not be negative"),
        (lambda: gaussian_nll([np.nan, 1, 2], ROWS, ROWS), "y_true contains NaN"),
        (lambda: gaussian_nll([], [], []), "0 sample"),
        (lambda: nll(ROWS[:, None], THREE), "y must have the shape of the distribution"),
        (lambda: nll(ROWS, THREE, labels=[1]), "labels must be None"),
        (lambda: crps(ROWS[:2], THREE), "y must have the shape of the distribution"),
        (lambda: crps([0, 1, np.nan], THREE), "y_true contains NaN"),
        (lambda: interval_score(ROWS, ROWS, ROWS, coverage=90), "strictly between 0 and 1"),
        (lambda: interval_score(ROWS, ROWS, ROWS - 1), "lower must not exceed upper"),
        (lambda: coverage(ROWS, ROWS[:2], ROWS), "lower must have the shape of y_true"),
        (lambda: mean_width(ROWS, ROWS[:2]), "upper must have the shape of lower"),
        (lambda: quantile_calibration_error(ROWS, THREE, quantiles=[0, 0.5]), "quantiles must be"),
        (lambda: quantile_calibration_error(ROWS, THREE, quantiles=[np.nan]), "quantiles contain"),
        (lambda: brier_score([0, 1, 1], PROBA), "labels must name the 3 columns"),
        (lambda: brier_score([0, 1, 2], PROBA, labels=[0, 1, 3]), "y_true must contain labels"),
        (lambda: brier_score(["a", "b", "c"], PROBA, labels=[0, 1, 2]), "y_true must contain"),
        (lambda: brier_score([0, 1, 2], 2 * PROBA), "must be probabilities"),
        (lambda: brier_score([0, 1, 2, 2], PROBA), "as many rows, got 4 and 3"),
        (lambda: brier_score([0, 1, 2], np.nan * PROBA), "y_proba contains NaN"),
        (lambda: expected_calibration_error([0, 1, 2], PROBA, n_bins=0), "n_bins must be"),
        (lambda: nll(ROWS, THREE, sample_weight=[1, 1]), "sample_weight must have shape"),
        (lambda: nll(ROWS, THREE, sample_weight=[1, 1, -1]), "sample_weight must not be negative"),
        (lambda: nll(ROWS, THREE, sample_weight=[0, 0, 0]), "not 0 throughout"),
        (lambda: ood_auroc([np.nan], [1.0]), "in_scores contains NaN"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Scorers


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


def test_one_sided_intervals_are_covered_by_their_finite_end():
    y, upper = np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 1.5)
    lower = np.full(4, -np.inf)
    assert coverage(y, lower, upper) == 0.5
    assert mean_width(lower, upper) == np.inf
    with pytest.raises(ValueError, match="lower must not contain NaN"):
        coverage(y, np.full(4, np.nan), upper)
