"""Metadata requests, copies and names of scorers in searches of scikit-learn."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

from sk_deltauq.metrics import (
    crps_scorer,
    nll_scorer,
)
from tests.metrics._helpers import ALL_SCORERS, REGRESSION_SCORERS, MixtureRegressor


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
def test_scorers_in_a_dictionary_keep_their_own_requests(regression):
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
def test_copies_of_a_scorer_keep_its_request(regression):
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


def test_request_needs_metadata_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        nll_scorer.set_score_request(sample_weight=True)


@pytest.mark.parametrize("scorer", ALL_SCORERS, ids=repr)
def test_scorers_keep_their_name_in_copies_and_searches(scorer):
    assert repr(scorer) == scorer.__name__
    assert repr(pickle.loads(pickle.dumps(scorer))) == scorer.__name__
    search = GridSearchCV(BayesianRidge(), {}, scoring=scorer)
    assert repr(clone(search).scoring) == scorer.__name__
    assert f"scoring={scorer.__name__}" in repr(search)
    parameters = list(inspect.signature(scorer).parameters)
    assert parameters[:4] == ["estimator", "X", "y", "sample_weight"]
    assert scorer.__doc__.startswith(("Minus the", "Log-likelihood"))


def test_scorers_work_in_permutation_importance(regression):
    X, y = regression
    scoring = {"crps": crps_scorer, "nll": nll_scorer, "r2": "r2"}
    weight = np.linspace(1, 2, 60)
    found = permutation_importance(
        MixtureRegressor(15.0).fit(X, y), X, y, scoring=scoring, sample_weight=weight, n_repeats=1
    )
    assert all((found[name].importances_mean > 0).all() for name in scoring)
