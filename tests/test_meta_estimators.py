"""The estimators inside what scikit-learn builds around estimators, and on their way elsewhere."""

import pickle
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
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

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from sk_deltauq.metrics import crps_scorer, gaussian_nll, nll_scorer
from tests._helpers import (
    assert_finite,
    assert_same_predictions,
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


def skip_if_names_are_unseen(frame):
    """Skip where scikit-learn itself does not see the names (1.6 and polars 2)."""
    if not hasattr(StandardScaler().fit(frame), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the column names of this polars")


# Pipelines


def test_a_pipeline_hands_return_std_through(make, data):
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


def test_the_way_out_that_the_errors_name_works(named):
    X, y = named
    model = make_pipeline(encoder(), SimpleImputer(), regressor()).fit(X, y)
    X = X.copy()
    X.loc[3, "a"] = np.nan
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite([mean, std]).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_of_the_steps_before_gives_feature_names(make, data, container):
    X, y = data
    scaler = StandardScaler().set_output(transform=container)
    library = pd if container == "pandas" else pl
    X = library.DataFrame({f"x{i}": column for i, column in enumerate(X.T)})
    skip_if_names_are_unseen(X)
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
    skip_if_names_are_unseen(frame)
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


# Selection


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
    # The model is the same in this process and in a worker with any number of threads.
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


# Ensembles and wrappers


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
def test_regressors_around_ours(regression_data, wrap):
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
def test_classifiers_around_ours(classification_data, wrap):
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


def test_several_labels_through_one_classifier_each(classification_data):
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


# On the way elsewhere


SETTINGS = [
    {"n_members": 2, "embedding": "periodic", "early_stopping": True},
    {"module": torch.nn.Linear},
    {"net_params": {"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.1}},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_predictions_are_the_same_after_pickle_and_joblib(make, data, params, tmp_path):
    X, y = data
    model = make(**params).fit(X, y)
    expected = predict_all(model, X)
    joblib.dump(model, tmp_path / "model")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")]
    copies.append(joblib.load(tmp_path / "model", mmap_mode="r"))
    for copy in copies:
        assert_same_predictions(predict_all(copy, X), expected)
    model.set_params(early_stopping=False).partial_fit(X, y)
    copies[0].set_params(early_stopping=False).partial_fit(X, y)
    assert_same_predictions(predict_all(copies[0], X), predict_all(model, X))


def test_fits_in_other_processes_are_the_same_model(make, data):
    X, y = data
    models = [make(**params) for params in SETTINGS]
    there = Parallel(n_jobs=2)(delayed(_fit)(clone(m), X, y) for m in models)
    for model, fitted in zip(models, there, strict=True):
        found = predict_all(fitted, X)
        for method, value in predict_all(model.fit(X, y), X).items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[method], value, rtol=1e-5, atol=1e-6)


def _fit(model, X, y):
    return model.fit(X, y)


def test_a_fitted_model_predicts_in_other_processes(make, data):
    X, y = data
    model = make(n_members=2).fit(X, y)
    halves = Parallel(n_jobs=2)(
        delayed(type(model).predict)(model, X[rows], return_std=True)
        for rows in (slice(0, 30), slice(30, 60))
    )
    expected = model.predict(X, return_std=True)
    for found, value in zip(zip(*halves, strict=True), expected, strict=True):
        if value.dtype.kind == "f":
            np.testing.assert_allclose(np.concatenate(found), value, rtol=1e-5)
        else:
            np.testing.assert_array_equal(np.concatenate(found), value)


def test_the_pickle_does_not_carry_or_gather_the_data():
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    for cls in (DeltaUQRegressor, DeltaUQClassifier):
        y = X[:, 0] if cls is DeltaUQRegressor else X[:, 0] > 0
        model = cls((8,), max_iter=1, batch_size=1000, random_state=0)
        model.fit(X, y)
        size = len(pickle.dumps(model))
        assert size < X.nbytes / 5  # up to 2,000 rows for outlier scores, and held-out scores
        for _ in range(3):
            model.fit(X[:1000], y[:1000])  # one network too
        assert len(pickle.dumps(model)) < size + 2000
        for _ in range(3):
            model.partial_fit(X[:500], y[:500])
        assert len(pickle.dumps(model)) < size + 4000


# Beside the program


@pytest.mark.parametrize("early_stopping", [False, True])
def test_nothing_is_printed_and_no_file_is_left(
    make, data, early_stopping, capfd, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    X, y = data
    model = make(early_stopping=early_stopping).fit(X, y)
    predict_all(model, X)
    model.set_params(early_stopping=False).partial_fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_new_process_prints_nothing_and_leaves_no_file(tmp_path):
    code = """
        import warnings
        warnings.simplefilter("error")
        import numpy as np
        from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
        from sk_deltauq.exceptions import UncertaintyWarning

        warnings.simplefilter("ignore", UncertaintyWarning)  # about early_stopping=False
        rng = np.random.default_rng(0)
        X = rng.normal(size=(220, 3)).astype("float32")
        w = np.ones(220, dtype="float32")
        for array in (X, w):
            array.flags.writeable = False
        common = {"tol": 1e9, "n_iter_no_change": 2, "hidden_layer_sizes": (8,), "n_anchors": 4}
        for early_stopping in (False, True, "auto"):
            settings = {**common, "early_stopping": early_stopping, "n_members": 2}
            model = DeltaUQRegressor(**settings).fit(X, X[:, 0], sample_weight=w)
            model.predict(X, return_std=True), model.predict_interval(X), model.sample_y(X)
            model = DeltaUQClassifier(**settings).fit(X, X[:, 0] > 0, sample_weight=w)
            model.predict_proba(X), model.predict_uncertainty(X)
        DeltaUQRegressor(**common).fit(X, X[:, 0])
        DeltaUQRegressor(**common).partial_fit(X, X[:, 0]).partial_fit(X, X[:, 0])
    """
    child = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
