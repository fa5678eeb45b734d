"""The estimators inside pipelines, searches and meta-estimators of scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sk_deltauq.metrics import crps_scorer, gaussian_nll, nll_scorer
from tests._helpers import (
    assert_finite,
    classifier,
    predict_all,
    regressor,
)


@pytest.fixture(scope="module")
def named(regression_data):
    """A data frame with a text column, and its target."""
    X, y = regression_data
    return pd.DataFrame(X, columns=list("abc")).assign(kind=["u", "v"] * 30), y


def encoder():
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough"
    )


def skip_if_names_are_not_found(frame):
    """Skip if scikit-learn itself does not find the names (1.6 with polars 2)."""
    if not hasattr(StandardScaler().fit(frame), "feature_names_in_"):
        pytest.skip("this scikit-learn does not find the column names of this polars")


# Pipelines


def test_pipeline_passes_return_std_to_predict(make, data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, y)
    found, std = pipeline.predict(X, return_std=True)
    own, own_std = (
        make()
        .fit(StandardScaler().fit_transform(X), y)
        .predict(StandardScaler().fit_transform(X), return_std=True)
    )
    np.testing.assert_array_equal(found, own)
    np.testing.assert_array_equal(std, own_std)


def test_encoder_and_imputer_in_a_pipeline_work_as_the_errors_advise(named):
    X, y = named
    model = make_pipeline(encoder(), SimpleImputer(), regressor()).fit(X, y)
    X = X.copy()
    X.loc[3, "a"] = np.nan
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite([mean, std]).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_of_earlier_steps_gives_feature_names(make, data, container):
    X, y = data
    scaler = StandardScaler().set_output(transform=container)
    library = pd if container == "pandas" else pl
    X = library.DataFrame({f"x{i}": column for i, column in enumerate(X.T)})
    skip_if_names_are_not_found(X)
    pipeline = make_pipeline(scaler, make()).set_output(transform=container).fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns)
    assert_finite(predict_all(pipeline[-1], scaler.transform(X)))
    with pytest.raises(ValueError, match="feature names"):
        pipeline.predict(X[list(X.columns)[::-1]])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_feature_names_are_checked(make, data, library):
    X, y = data
    names = list("abc")[: X.shape[1]]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    skip_if_names_are_not_found(frame)
    model = make().fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    renamed = library.DataFrame(dict(zip(["z", *names[1:]], X.T, strict=True)))
    methods = [model.predict, model.predict_uncertainty, model.predict_dist]
    methods += [model.predict_interval] if make is regressor else [model.predict_proba]
    for method in methods:
        with pytest.raises(ValueError, match="feature names should match"):
            method(frame[names[::-1]])
        with pytest.raises(ValueError, match="feature names should match"):
            method(renamed)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(renamed, y)
    assert_finite(predict_all(model, frame))
    assert not hasattr(make().fit(X, y), "feature_names_in_")


# Model selection


def test_grid_search_with_a_score_of_the_distribution(named):
    X, y = named
    # "tanh", because a net of four rectified units can be dead: the std of `noise=None` is then 0.
    model = make_pipeline(encoder(), regressor(max_iter=2, activation="tanh"))
    grid = [
        {"deltauqregressor__n_anchors": [3, 5]},
        {"deltauqregressor__hidden_layer_sizes": [(4,), (8, 4)]},
        {"deltauqregressor__noise": ["homoscedastic", None]},
    ]
    search = GridSearchCV(
        model, grid, scoring=nll_scorer, cv=2, n_jobs=2, error_score="raise"
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores.shape == (6,)
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 6, "a parameter without effect"
    assert search.best_score_ == scores.max()
    mean, std = search.best_estimator_.predict(X, return_std=True)
    assert np.isfinite([mean, std]).all()
    # Fits without worker processes, which have other numbers of threads, give the same scores.
    alone = GridSearchCV(model, grid, scoring=nll_scorer, cv=2, error_score="raise").fit(X, y)
    np.testing.assert_allclose(alone.cv_results_["mean_test_score"], scores, rtol=1e-5)


def test_cross_validation_scores_the_distribution(regression_data):
    X, y = regression_data
    cv = KFold(3)
    scores = cross_val_score(regressor(), X, y, cv=cv, scoring=nll_scorer, error_score="raise")
    by_hand = [
        -gaussian_nll(
            y[test], *regressor().fit(X[train], y[train]).predict(X[test], return_std=True)
        )
        for train, test in cv.split(X)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-9)
    crps = cross_val_score(regressor(), X, y, cv=cv, scoring=crps_scorer, error_score="raise")
    assert (crps < 0).all()


def test_cross_validation_of_probabilities(classification_data):
    X, y = classification_data
    proba = cross_val_predict(classifier(), X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    scores = cross_val_score(classifier(), X, y, scoring="neg_log_loss", error_score="raise")
    assert np.isfinite(scores).all()


def test_learning_curve(make, data):
    X, y = data
    _, train, test = learning_curve(
        make(),
        X,
        y,
        train_sizes=[0.5, 1.0],
        cv=2,
        shuffle=True,
        random_state=0,
        error_score="raise",
    )
    assert np.isfinite([train, test]).all()
    incremental = learning_curve(
        make(),
        X,
        y,
        cv=2,
        train_sizes=[0.5, 1.0],
        exploit_incremental_learning=True,
        shuffle=True,
        random_state=0,
        error_score="raise",
    )
    assert np.isfinite(incremental[1]).all()


# Ensembles and other meta-estimators


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: VotingRegressor([("one", m), ("other", LinearRegression())]),
        lambda m: BaggingRegressor(m, n_estimators=2, random_state=0),
        lambda m: BaggingRegressor(m, n_estimators=2, max_features=0.5, n_jobs=2, random_state=0),
        lambda m: StackingRegressor([("one", m)], LinearRegression(), cv=2),
        lambda m: TransformedTargetRegressor(m, transformer=StandardScaler()),
        lambda m: TransformedTargetRegressor(m, func=np.log, inverse_func=np.exp),
    ],
    ids=["voting", "bagging", "bagging of features", "stacking", "target scaler", "target log"],
)
def test_meta_regressors_fit_and_predict(regression_data, wrap):
    X, y = regression_data
    model = wrap(regressor(max_iter=40, learning_rate_init=0.02))
    model.fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (60,)
    assert mean_squared_error(y, predicted) < y.var()


def test_a_vote_is_the_mean_of_its_members(regression_data):
    X, y = regression_data
    vote = VotingRegressor([("a", regressor()), ("b", regressor(random_state=1))])
    weights = np.linspace(1, 2, 60)
    predicted = vote.fit(X, y, sample_weight=weights).predict(X)
    members = [
        regressor(random_state=seed).fit(X, y, sample_weight=weights).predict(X) for seed in (0, 1)
    ]
    np.testing.assert_allclose(predicted, np.mean(members, axis=0))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: CalibratedClassifierCV(m, cv=2, method="sigmoid"),
        lambda m: CalibratedClassifierCV(m, cv=2, method="isotonic"),
        lambda m: CalibratedClassifierCV(m, cv=2, ensemble=False),
        lambda m: VotingClassifier([("one", m)], voting="soft"),
        lambda m: BaggingClassifier(m, n_estimators=2, random_state=0),
        lambda m: OneVsRestClassifier(m),
    ],
    ids=["sigmoid", "isotonic", "calibrated once", "voting", "bagging", "one against the rest"],
)
def test_meta_classifiers_fit_and_predict(classification_data, wrap):
    X, y = classification_data
    model = wrap(classifier(max_iter=40, learning_rate_init=0.02)).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (60, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y) > 0.8
    assert set(model.predict(X)) <= set(y)


def test_calibration_with_weights_and_two_classes(classification_data):
    X, y = classification_data
    X, y = X[y != "cedar"], y[y != "cedar"]
    model = CalibratedClassifierCV(classifier(), cv=2).fit(X, y, sample_weight=np.ones(len(y)))
    assert model.predict_proba(X).shape == (len(y), 2)


def test_multi_output_classifier_predicts_several_labels(classification_data):
    X, y = classification_data
    Y = np.column_stack([y == "ash", y == "beech"])
    assert MultiOutputClassifier(classifier()).fit(X, Y).predict(X).shape == (60, 2)


def test_permutation_importance_finds_the_column_that_matters():
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = regressor(max_iter=60, learning_rate_init=0.03).fit(X, X[:, 1])
    found = permutation_importance(model, X, X[:, 1], n_repeats=2, n_jobs=2, random_state=0)
    assert found.importances_mean.argmax() == 1
    assert found.importances_mean[1] > 3 * found.importances_mean[[0, 2]].max()
    error = make_scorer(mean_squared_error, greater_is_better=False)
    again = permutation_importance(model, X, X[:, 1], scoring=error, n_repeats=2, random_state=0)
    assert again.importances_mean.argmax() == 1
