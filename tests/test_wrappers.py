"""`unwrap`, and the errors of wrappers that cannot return a standard deviation."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

import sk_deltauq
from sk_deltauq import DeltaUQRegressor, unwrap
from sk_deltauq.baselines import DeepEnsembleRegressor
from tests._helpers import assert_same_predictions, classifier, predict_all, regressor


def test_unwrap_returns_a_bare_estimator_and_its_rows(make, data):
    X, y = data
    model = make().fit(X, y)
    assert unwrap(model, X) == (model, X)


@pytest.mark.parametrize(
    "wrap",
    [
        make_pipeline,
        FrozenEstimator,
        lambda model: make_pipeline("passthrough", model),
        lambda model: make_pipeline(FunctionTransformer(), make_pipeline(model)),
        lambda model: GridSearchCV(model, {}, cv=2),
        lambda model: RandomizedSearchCV(make_pipeline(model), {}, n_iter=1, cv=2),
        lambda model: make_pipeline(GridSearchCV(make_pipeline(model), {}, cv=2)),
    ],
    ids=["pipeline", "frozen", "passthrough", "nested", "search", "random search", "deep"],
)
def test_wrapped_models_predict_the_same_as_bare_estimators(make, data, wrap):
    X, y = data
    if wrap is FrozenEstimator:
        wrapped = FrozenEstimator(make().fit(X, y))
    else:
        wrapped = wrap(make()).fit(X, y)
    model, rows = unwrap(wrapped, X)
    assert type(model) is type(make())
    assert_same_predictions(predict_all(model, rows), predict_all(make().fit(X, y), X))


def test_rows_are_transformed_by_all_earlier_steps(regression_data):
    X, y = regression_data
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=["u", "v"] * 30)
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough"
    )
    pipeline = make_pipeline(columns, make_pipeline(MinMaxScaler(), regressor())).fit(frame, y)
    _, rows = unwrap(pipeline, frame)
    by_hand = np.column_stack([np.tile(np.eye(2), (30, 1)), X])
    np.testing.assert_allclose(rows, MinMaxScaler().fit_transform(by_hand))


def test_threshold_classifiers_keep_the_uncertainty(classification_data):
    X, y = classification_data
    X, y = X[y != "cedar"], y[y != "cedar"]
    bare = classifier().fit(X, y)
    fixed = FixedThresholdClassifier(classifier(), threshold=0.3, pos_label="ash").fit(X, y)
    tuned = TunedThresholdClassifierCV(FrozenEstimator(bare), cv="prefit", refit=False).fit(X, y)
    for model in (fixed, tuned):
        assert_same_predictions(predict_all(*unwrap(model, X)), predict_all(bare, X))


def test_conformalize_reaches_the_model_in_the_pipeline(regression_data):
    X, y = regression_data
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X[:30], y[:30])
    model, rows = unwrap(pipeline, X[30:])
    model.conformalize(rows, y[30:])
    again, rows = unwrap(pipeline, X[30:])
    interval = again.predict_interval(rows, method="conformal")
    covered = (interval[:, 0] <= y[30:]) & (y[30:] <= interval[:, 1])
    assert covered.sum() == 28  # the 28th of 30 scores bounds the interval: ceil(0.9 * 31)


def test_out_of_fold_intervals(regression_data):
    """The recipe of the how-to guide, against a loop without scikit-learn's tools."""
    X, y = regression_data
    pipeline = make_pipeline(MinMaxScaler(), regressor())
    folds = cross_validate(pipeline, X, y, cv=KFold(3), return_estimator=True, return_indices=True)
    found = np.empty((60, 2))
    for fitted, test in zip(folds["estimator"], folds["indices"]["test"], strict=True):
        model, rows = unwrap(fitted, X[test])
        found[test] = model.predict_interval(rows)
    for start in (0, 20, 40):
        test = np.arange(start, start + 20)
        train = np.setdiff1d(np.arange(60), test)
        scaler = MinMaxScaler().fit(X[train])
        model = regressor().fit(scaler.transform(X[train]), y[train])
        expected = model.predict_interval(scaler.transform(X[test]))
        np.testing.assert_allclose(found[test], expected)


# Errors


@pytest.mark.parametrize(
    "model",
    [
        regressor(),
        make_pipeline(StandardScaler(), regressor()),
        GridSearchCV(regressor(), {}),
        make_pipeline(GridSearchCV(regressor(), {})),
        FrozenEstimator(regressor()),
        FixedThresholdClassifier(classifier()),
        TransformedTargetRegressor(regressor()),
        RandomForestRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_unfitted_models_are_rejected(regression_data, model):
    error = TypeError if isinstance(model, TransformedTargetRegressor) else NotFittedError
    with pytest.raises(error):
        unwrap(model, regression_data[0])


def test_models_of_other_packages_are_rejected(regression_data):
    X, y = regression_data
    forest = RandomForestRegressor(2)
    for model, words in [
        (make_pipeline(StandardScaler(), forest), r"got Pipeline > RandomForest.*the last step"),
        (GridSearchCV(make_pipeline(forest), {}, cv=2), r"got GridSearchCV > Pipeline > Random"),
        (GridSearchCV(regressor(), {}, cv=2, refit=False), r"got GridSearchCV\. .*refit=True"),
        (VotingRegressor([("a", regressor())]), r"VotingRegressor has several models: unwrap one"),
        (make_pipeline(StandardScaler()), r"got Pipeline > StandardScaler"),
        (Pipeline([("a", "passthrough")]), r"got Pipeline > str"),
    ]:
        with pytest.raises(TypeError, match=words):
            unwrap(model.fit(X, y), X)
    with pytest.raises(TypeError, match="got NoneType"):
        unwrap(None, X)


@pytest.mark.parametrize("wrap", [lambda m: m, make_pipeline], ids=["bare", "in a pipeline"])
@pytest.mark.parametrize("keywords", [{"return_std": True}, {"coverage": 0.9}], ids=str)
@pytest.mark.parametrize("Model", [DeltaUQRegressor, DeepEnsembleRegressor])
def test_transformed_target_regressors_cannot_return_a_std(regression_data, wrap, keywords, Model):
    X, y = regression_data
    model = Model((8,), max_iter=2, early_stopping=False)
    transformed = wrap(TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp))
    transformed.fit(X, y)
    assert transformed.predict(X).shape == (60,)
    with pytest.raises(AttributeError, match=r"ndim.*target_transform='log'"):
        transformed.predict(X, **keywords)
    with pytest.raises(TypeError, match=r"must not be .*target_transform='log'"):
        unwrap(transformed, X)


def test_target_transform_replaces_transformed_target_regressors(regression_data):
    X, y = regression_data
    model = clone(regressor()).set_params(target_transform="log", noise="homoscedastic")
    mean, std = make_pipeline(StandardScaler(), model).fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (60,)
    assert (std > 0).all()


def test_predictions_are_tuples(regression_data):
    X, y = regression_data
    found = regressor().fit(X, y).predict(X, return_std=True, coverage=0.9, quantiles=[0.5])
    assert isinstance(found, tuple)
    assert [part.shape for part in found] == [(60,), (60,), (60, 2), (60, 1)]
    assert not hasattr(found, "ndim")
    assert not hasattr(found, "shape")
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), found[:4]):
        for one, other in zip(copied, found, strict=True):
            np.testing.assert_array_equal(one, other)
    message = r"has no attribute 'shape'\. Unpack the tuple, .*\.$"
    with pytest.raises(AttributeError, match=message):
        _ = found.shape


def test_unwrap_is_public():
    assert sk_deltauq.unwrap is unwrap
