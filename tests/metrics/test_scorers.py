import functools
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.inspection import permutation_importance
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
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
from tests._helpers import classifier

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


@pytest.fixture(scope="module")
def regression():
    return make_regression(60, 3, noise=20, random_state=0)


@pytest.fixture(scope="module")
def classification():
    X, y = make_classification(
        90, 4, n_informative=3, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0
    )
    return X, np.array(["late", "early", "never"])[y]  # not in alphabetical order


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


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_search_finds_the_noise(regression, n_jobs):
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
def test_regression_scorers_refuse(regression, classification, scorer):
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
        for name, value in inspect.getmembers(metrics, callable)
        if value.__module__.startswith(metrics.__name__)
    ]
    assert sorted(metrics.__all__) == here
    for scorer in ALL_SCORERS:
        assert scorer is getattr(metrics, scorer.__name__)


def test_coverage_error_scorer_checks_like_the_metric(regression):
    X, y = regression
    model = BayesianRidge().fit(X, y)
    for wrong in (y[:1], np.full(len(y), np.nan)):
        with pytest.raises(ValueError, match=r"shape|NaN"):
            coverage_error_scorer(model, X, wrong)


def test_nll_scorer_of_a_single_class_is_certain():
    X, y = np.arange(6.0).reshape(3, 2), ["only"] * 3
    assert nll_scorer(GaussianNB().fit(X, y), X, y) == 0


# As scorers of scikit-learn


class WeightedMixture(MixtureRegressor):
    """A regressor whose fit takes weights, too."""

    def fit(self, X, y, sample_weight=None):
        self.line_ = LinearRegression().fit(X, y, sample_weight)
        return self


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scorer", REGRESSION_SCORERS)
def test_weights_reach_the_scorers_of_a_search(regression, scorer):
    X, y = regression
    cv, weight = KFold(3), np.random.default_rng(0).integers(1, 4, size=60)
    found = {}
    for in_fit, in_score in [(True, True), (True, False), (False, True)]:
        model = WeightedMixture(15.0).set_fit_request(sample_weight=in_fit)
        scoring = scorer.set_score_request(sample_weight=in_score)
        search = GridSearchCV(model, {}, scoring=scoring, cv=cv, refit=False, n_jobs=2)
        search.fit(X, y, sample_weight=weight)
        # The second route: repeat each row as often as its weight says.
        expected = []
        for train, test in cv.split(X):
            train = np.repeat(train, weight[train]) if in_fit else train
            test = np.repeat(test, weight[test]) if in_score else test
            by_hand = MixtureRegressor(15.0).fit(X[train], y[train])
            expected.append(scorer(by_hand, X[test], y[test]))
        found[in_fit, in_score] = search.cv_results_["mean_test_score"][0]
        assert found[in_fit, in_score] == pytest.approx(np.mean(expected))
    assert len(set(found.values())) > 1


@pytest.mark.usefixtures("routing")
def test_scorers_of_one_dictionary_have_their_own_requests(regression):
    X, y = regression
    weight = np.random.default_rng(0).integers(1, 4, size=60)
    scoring = {
        "weighted": crps_scorer.set_score_request(sample_weight=True),
        "equal": crps_scorer.set_score_request(sample_weight=False),
        "renamed": crps_scorer.set_score_request(sample_weight="importance"),
        "r2": get_scorer("r2").set_score_request(sample_weight=True),
    }
    params = {"sample_weight": weight, "importance": np.ones(60)}
    found = cross_validate(MixtureRegressor(15.0), X, y, scoring=scoring, params=params, cv=3)
    np.testing.assert_array_equal(found["test_equal"], found["test_renamed"])
    assert (found["test_equal"] != found["test_weighted"]).all()
    for name, params in [("weighted", {"sample_weight": weight}), ("equal", None)]:
        one = scoring[name]
        alone = cross_val_score(MixtureRegressor(15.0), X, y, scoring=one, params=params, cv=3)
        np.testing.assert_array_equal(found[f"test_{name}"], alone)


@pytest.mark.usefixtures("routing")
def test_a_request_changes_a_copy_and_travels(regression):
    X, y = regression
    requested = nll_scorer.set_score_request(sample_weight=True)
    for copied in (
        pickle.loads(pickle.dumps(requested)),
        clone(GridSearchCV(BayesianRidge(), {}, scoring=requested)).scoring,
        requested.with_options(),
    ):
        assert copied.get_metadata_routing().score.requests["sample_weight"] is True
    assert nll_scorer.get_metadata_routing().score.requests.get("sample_weight") is None
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(
            BayesianRidge().set_fit_request(sample_weight=True),
            X,
            y,
            scoring=nll_scorer,
            params={"sample_weight": np.ones(60)},
        )


def test_a_request_needs_metadata_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        nll_scorer.set_score_request(sample_weight=True)


@pytest.mark.parametrize("scorer", ALL_SCORERS, ids=repr)
def test_scorers_have_names_and_copies_like_scikit_learns_scorers(scorer):
    assert repr(scorer) == scorer.__name__
    assert repr(pickle.loads(pickle.dumps(scorer))) == scorer.__name__
    search = GridSearchCV(BayesianRidge(), {}, scoring=scorer)
    assert repr(clone(search).scoring) == scorer.__name__
    assert f"scoring={scorer.__name__}" in repr(search)
    parameters = list(inspect.signature(scorer).parameters)
    assert parameters[:4] == ["estimator", "X", "y", "sample_weight"]
    assert scorer.__doc__.startswith(("Minus the", "Log-likelihood"))


def test_scorers_find_what_to_permute(regression):
    X, y = regression
    scoring = {"crps": crps_scorer, "nll": nll_scorer, "r2": "r2"}
    weight = np.linspace(1, 2, 60)
    found = permutation_importance(
        MixtureRegressor(15.0).fit(X, y), X, y, scoring=scoring, sample_weight=weight, n_repeats=1
    )
    assert all((found[name].importances_mean > 0).all() for name in scoring)


@pytest.mark.parametrize("scorer", CLASSIFICATION_SCORERS, ids=lambda scorer: scorer.__name__)
@pytest.mark.parametrize("weights", [[1.0, -1.0], [0.0, 0.0], [1.0]])
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "a"]])
def test_bad_weights_are_refused_by_all_scorers_of_classes(scorer, weights, labels):
    X = [[0.0], [1.0]]
    model = classifier(max_iter=1).fit(X, labels)
    with pytest.raises(ValueError, match="sample_weight"):
        scorer(model, X, labels, sample_weight=weights)
