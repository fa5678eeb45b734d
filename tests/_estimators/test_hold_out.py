"""Held-out rows of a fit: groups, validation rows of the user, and the warnings."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import norm
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sk_deltauq
from sk_deltauq import baselines
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_group_folds
from sk_deltauq.exceptions import UncertaintyWarning
from tests._estimators.tiny_estimators import (
    CALLER,
    ESTIMATORS,
    TINY,
    catch_warnings,
    having,
    make_factory,
    make_rows,
)
from tests._helpers import (
    ONE_PER_KIND,
    assert_same_predictions,
    mark_long,
    predict_all,
)

GROUPS = np.arange(60) // 4


@pytest.fixture(params=mark_long(ESTIMATORS, ONE_PER_KIND), ids=lambda cls: cls.__name__)
def make(request):
    return make_factory(request.param)


@pytest.fixture
def data(make, regression_data, classification_data):
    return classification_data if make.is_classifier else regression_data


@pytest.fixture
def split(data):
    """`X, y` to train on, and `X_val, y_val` as keywords."""
    X, y = data
    return (X[:40], y[:40]), {"X_val": X[40:], "y_val": y[40:]}


def score_by_hand(model, X, y):
    """Mean log-likelihood of rows under a model with one network, in scaled units."""
    if is_classifier(model):
        mixing = model._calibration_.mixing
        proba = model.predict_proba(X) - mixing.weight * mixing.frequencies
        proba = proba[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        return np.log(proba / (1 - mixing.weight)).mean()
    dist = model.predict_dist(X)
    ddof, n = 0, len(dist.means)
    if hasattr(model, "_trained_"):  # the means are spread as their standard deviation asks
        ddof = min(model._trained_.method.ddof, n - 1)
    means = dist.mean + (dist.means - dist.mean) * np.sqrt((n - ddof) / n)
    density = norm.pdf(y, means, dist.stds).mean(axis=0)
    return np.log(density * model.y_scaler_.scale_).mean()


# Validation rows of the user


def test_x_val_is_held_out(make, split):
    (X, y), held_out = split
    model = make()
    if is_classifier(model):
        model.set_params(calibration=None)  # the scores do not know the temperature
    model.fit(X, y, **held_out)
    assert getattr(model, "n_networks_", 1) == 1
    assert model.validation_scores_.shape == (len(model.loss_curve_),)
    assert model.best_validation_score_ == model.validation_scores_.max()
    expected = score_by_hand(model, held_out["X_val"], held_out["y_val"])
    assert model.best_validation_score_ == pytest.approx(expected, rel=1e-4)


def test_no_network_trains_on_x_val(make, split):
    """The losses are the losses without a hold-out, epoch by epoch."""
    (X, y), held_out = split
    model = make().fit(X, y, **held_out)
    without = make(early_stopping=False).fit(X, y)
    n = min(len(model.loss_curve_), len(without.loss_curve_))
    np.testing.assert_array_equal(model.loss_curve_[:n], without.loss_curve_[:n])
    # The scales are the scales of the training rows too.
    np.testing.assert_allclose(model.x_scaler_.mean_, X.mean(axis=0), rtol=1e-12)
    other = make().fit(X, y, X_val=held_out["X_val"] + 5, y_val=held_out["y_val"])
    assert not np.array_equal(other.validation_scores_, model.validation_scores_)


def test_x_val_is_used_with_any_early_stopping(make, split):
    (X, y), held_out = split
    found = [make(early_stopping=e).fit(X, y, **held_out) for e in ("auto", True, False)]
    for model in found[1:]:
        assert_same_predictions(predict_all(found[0], X), predict_all(model, X))


@having("n_members")
def test_all_members_hold_out_x_val(make, split):
    (X, y), held_out = split
    model, alone = (make(n_members=n).fit(X, y, **held_out) for n in (3, 1))
    assert model.n_networks_ == 3
    assert model.validation_scores_.shape == (len(model.loss_curve_), 3)
    np.testing.assert_allclose(model.validation_scores_[:, 0], alone.validation_scores_, rtol=1e-3)


def test_validation_rows_may_be_frames_with_the_columns_of_x(make, split):
    (X, y), held_out = split
    columns = ["a", "b", "c"][: X.shape[1]]
    frames = {"X_val": pd.DataFrame(held_out["X_val"], columns=columns)}
    frames["y_val"] = pd.Series(held_out["y_val"])
    model = make().fit(pd.DataFrame(X, columns=columns), y, **frames)
    plain = make().fit(X, y, **held_out)
    np.testing.assert_array_equal(model.validation_scores_, plain.validation_scores_)
    with pytest.raises(ValueError, match="feature names"):
        make().fit(
            pd.DataFrame(X, columns=columns),
            y,
            X_val=frames["X_val"].rename(columns={"a": "z"}),
            y_val=frames["y_val"],
        )


def test_training_rows_among_the_validation_rows_cause_a_warning(make, data):
    X, y = data
    (warning,) = catch_warnings(make().fit, X[:40], y[:40], X_val=X[35:], y_val=y[35:])
    assert "5 of 25 validation rows are also training rows" in str(warning.message)
    assert warning.filename == CALLER
    # Equal features with other targets are no copies.
    other = np.roll(y[40:], 1) if make.is_classifier else y[35:] + 1
    X_val = X[40:] if make.is_classifier else X[35:]
    assert not catch_warnings(make().fit, X[:40], y[:40], X_val=X_val, y_val=other)


def test_targets_of_several_outputs(regression_data):
    X, y = regression_data
    Y = np.column_stack([y, -y])
    model = sk_deltauq.DeltaUQRegressor(**TINY_REGRESSOR)
    model.fit(X[:40], Y[:40], X_val=X[40:], y_val=Y[40:])
    assert model.validation_scores_.ndim == 1
    with pytest.raises(ValueError, match=r"y_val must have 2 outputs, .* got 1"):
        model.fit(X[:40], Y[:40], X_val=X[40:], y_val=y[40:])


TINY_REGRESSOR = {k: v for k, v in TINY.items() if k not in ("n_masks", "n_draws", "dropout")}


MISTAKES = {
    "only X_val": ({"y_val": None}, "X_val and y_val must be given together"),
    "only y_val": ({"X_val": None}, "X_val and y_val must be given together"),
    "groups too": ({"groups": GROUPS[:40]}, "groups and X_val both say which rows to hold out"),
    "lengths": ({"y_val": np.ones(3)}, r"X_val and y_val cannot be used: .*inconsistent .*20, 3"),
    "no rows": ({"X_val": np.empty((0, 9)), "y_val": []}, "X_val and y_val cannot be used: "),
    "text": ({"X_val": np.full((20, 9), "a")}, "X_val and y_val cannot be used: "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_raise_errors_and_do_not_change_the_estimator(make, split, mistake):
    (X, y), held_out = split
    changes, message = MISTAKES[mistake]
    changes = {k: v[:, : X.shape[1]] if np.ndim(v) == 2 else v for k, v in changes.items()}
    for model in (make(), make().fit(X, y)):
        before = vars(model).copy()
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **{**held_out, **changes})
        assert vars(model) == before


def test_values_that_networks_cannot_use_are_named(make, split):
    (X, y), held_out = split
    bad = held_out["X_val"].copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"X_val and y_val cannot be used: .*infinity"):
        make().fit(X, y, **{**held_out, "X_val": bad})
    with pytest.raises(
        ValueError, match=rf"X_val and y_val cannot .* expecting {X.shape[1]} feat"
    ):
        make().fit(X, y, **{**held_out, "X_val": bad[:, :1]})
    if make.is_classifier:
        labels = held_out["y_val"].astype(object)
        labels[2] = "oak"
        with pytest.raises(ValueError, match=r"y_val has labels \['oak'\] that are not among"):
            make().fit(X, y, **{**held_out, "y_val": labels})
    else:
        two = np.column_stack([held_out["y_val"]] * 2)
        with pytest.raises(ValueError, match=r"y_val must have 1 outputs, .* got 2"):
            make().fit(X, y, **{**held_out, "y_val": two})


# Groups


def test_groups_may_have_any_type(make, data):
    X, y = data
    model = make().fit(X, y, groups=GROUPS)
    names = np.array([f"g{number:02}" for number in range(15)])
    objects = pd.Series(names[GROUPS], dtype=object, index=np.arange(60) + 7)
    for groups in (GROUPS.tolist(), names[GROUPS], objects, GROUPS[:, None], GROUPS / 2):
        assert_same_predictions(
            predict_all(model, X), predict_all(make().fit(X, y, groups=groups), X)
        )
    alone = make().fit(X, y)
    assert not np.array_equal(predict_all(alone, X)["std"], predict_all(model, X)["std"])


def test_a_network_is_scored_on_whole_groups(regression_data):
    """Groups of one to ten rows: padding must not count."""
    X, y = regression_data
    sizes = [1, 1, 1, 2, 3, 3, 4, 5, 10, 10, 10, 10]
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(12), sizes))
    settings = {"n_members": 2, "calibrate": False, "max_iter": 9, "random_state": 0}
    model = baselines.DeepEnsembleRegressor(**settings).fit(X, y, groups=groups)
    assert model.n_networks_ == 5
    rng = numpy_rng(model.seed_, Stream.FOLDS)
    parts = assign_group_folds(rng, groups, 5, 5)
    dist = model.predict_dist(X)  # one component per network
    log_density = norm.logpdf(y, dist.means, dist.stds) + np.log(model.y_scaler_.scale_)
    for network, (rows, counts) in enumerate(zip(parts.held_out, parts.counts, strict=True)):
        expected = log_density[network, np.isin(groups, groups[rows])].mean()
        assert model.best_validation_score_[network] == pytest.approx(expected, rel=1e-4)
        assert len(set(rows)) == counts.sum()


def test_pbp_is_scored_on_whole_groups(regression_data):
    X, y = regression_data
    groups = np.repeat(np.arange(6), [1, 3, 6, 10, 20, 20])
    model = baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=4, random_state=0)
    model.fit(X, y, groups=groups)
    parts = assign_group_folds(numpy_rng(model.seed_, Stream.FOLDS), groups, 3, 1)
    rows = np.isin(groups, groups[parts.held_out[0]])
    assert 0 < rows.sum() < 60
    expected = score_by_hand(model, X[rows], y[rows])
    assert model.best_validation_score_ == pytest.approx(expected, rel=1e-4)


def test_groups_of_rows_without_weight_do_not_count(make, data):
    X, y = data
    weights = (GROUPS > 2).astype(float)
    weighted = make().fit(X, y, sample_weight=weights, groups=GROUPS)
    without = make().fit(X[12:], y[12:], groups=GROUPS[12:])
    assert_same_predictions(predict_all(weighted, X), predict_all(without, X))


def test_a_warm_start_may_have_groups(make, data):
    X, y = data
    model = make(warm_start=True)
    model.fit(X, y, groups=GROUPS)
    networks, scores = getattr(model, "n_networks_", 1), np.shape(model.best_validation_score_)
    best = np.array(model.best_validation_score_)
    model.fit(X, y, groups=GROUPS)
    assert (np.array(model.best_validation_score_) >= best).all()
    model.fit(X, y)
    assert getattr(model, "n_networks_", 1) == networks
    assert np.shape(model.best_validation_score_) == scores
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert np.shape(model.best_validation_score_) == scores


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:59], r"groups must hold one value for each of the 60 rows .* shape \(59,\)"),
        (np.ones((60, 2)), r"groups must hold one value for each .* shape \(60, 2\)"),
        ("patient", r"groups must hold one value for each .* shape \(\)"),
        ([None, *GROUPS[1:]], "groups must name a group for each row, but some values are miss"),
        (np.r_[np.nan, GROUPS[1:]], "groups must name a group for each row"),
        (pd.Series([pd.NA, *GROUPS[1:]]), "groups must name a group for each row"),
        (np.full(60, 7), r"groups must hold at least two different values, got only \[7\]\."),
        (pd.Series(["a", *GROUPS[1:]], dtype=object), "groups must hold values of one type"),
    ],
)
def test_invalid_groups_raise_errors_and_do_not_change_the_estimator(make, data, groups, message):
    X, y = data
    for model in (make(), make().fit(X, y)):
        before = vars(model).copy()
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, groups=groups)
        assert vars(model) == before


def test_early_stopping_true_needs_as_many_groups_as_folds(make, data):
    X, y = data
    with pytest.raises(ValueError, match=r"10 folds .* got n_groups=6\."):
        make(early_stopping=True).fit(X, y, groups=np.arange(60) % 6)


# Metadata routing


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_groups_pass_through_a_pipeline(make, data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), make().set_fit_request(groups=True))
    pipeline.fit(X, y, groups=GROUPS)
    alone = make().fit(StandardScaler().fit_transform(X), y, groups=GROUPS)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(pipeline[:-1].transform(X)))
    np.testing.assert_array_equal(pipeline[-1].validation_scores_, alone.validation_scores_)


@pytest.mark.usefixtures("routing")
def test_groups_pass_through_a_search_to_splits_and_fits(make, data):
    X, y = data
    estimator = make().set_fit_request(groups=True)
    grid = {"hidden_layer_sizes": [(8,), (6,)]}
    search = GridSearchCV(estimator, grid, cv=GroupKFold(2)).fit(X, y, groups=GROUPS)
    expected = make(**search.best_params_).fit(X, y, groups=GROUPS)
    assert_same_predictions(predict_all(search.best_estimator_, X), predict_all(expected, X))
    found = cross_validate(
        estimator, X, y, cv=GroupKFold(2), params={"groups": GROUPS}, return_estimator=True
    )
    (train, _), _ = GroupKFold(2).split(X, y, GROUPS)
    first = make().fit(X[train], y[train], groups=GROUPS[train])
    np.testing.assert_array_equal(
        found["estimator"][0].validation_scores_, first.validation_scores_
    )


@pytest.mark.usefixtures("routing")
def test_validation_rows_pass_through_a_pipeline_that_transforms_them(make, split):
    (X, y), held_out = split
    estimator = make().set_fit_request(X_val=True, y_val=True)
    scaler = StandardScaler()
    pipeline = make_pipeline(scaler, estimator, transform_input=["X_val"]).fit(X, y, **held_out)
    X_val = scaler.transform(held_out["X_val"])
    alone = make().fit(scaler.transform(X), y, X_val=X_val, y_val=held_out["y_val"])
    np.testing.assert_array_equal(pipeline[-1].validation_scores_, alone.validation_scores_)


# Warnings


def test_ordinary_rows_cause_no_warning(make):
    X, y = make_rows(make, 100)
    assert not catch_warnings(make().fit, X, y)
    assert not catch_warnings(make().fit, X, y, groups=np.arange(100) // 2)
    assert not catch_warnings(make().fit, X[:80], y[:80], X_val=X[80:], y_val=y[80:])


@pytest.mark.parametrize(
    ("n", "params", "keywords", "message"),
    [
        (6, {}, {}, "can hold out only"),
        (60, {"early_stopping": False}, {}, "holds out no rows with early_stopping=False"),
        (60, {}, {"groups": np.arange(60) % 4}, r"can hold out only [124] groups? of rows"),
        (60, {}, {"X_val": True}, "can hold out only 3 rows"),
    ],
)
def test_a_poor_hold_out_causes_a_warning_at_the_line_of_the_caller(
    make, n, params, keywords, message
):
    X, y = make_rows(make, n)
    if "X_val" in keywords:
        keywords = {"X_val": X[:3] + 0.1, "y_val": y[:3]}
    model = make(**params)
    (warning,) = catch_warnings(model.fit, X, y, **keywords)
    assert type(model).__name__ in str(warning.message)
    with pytest.warns(UncertaintyWarning, match=message) as caught:
        clone(model).fit(X, y, **keywords)
    line = inspect.currentframe().f_lineno - 1
    found = [(w.filename, w.lineno) for w in caught if w.category is UncertaintyWarning]
    assert found == [(__file__, line)]


def test_only_the_first_call_of_partial_fit_warns(make):
    X, y = make_rows(make, 100)
    model = make()
    (warning,) = catch_warnings(model.partial_fit, X, y)
    assert "holds out no rows in partial_fit" in str(warning.message)
    assert warning.filename == CALLER
    assert not catch_warnings(model.partial_fit, X, y)
    fitted = make().fit(X, y)
    caught = catch_warnings(fitted.partial_fit, X, y)
    if not isinstance(fitted, baselines.PBPRegressor):  # which has no calibration
        (warning,) = caught
        assert "The calibration of the last fit, if any, stays" in str(warning.message)
        assert warning.filename == CALLER
        caught = catch_warnings(fitted.partial_fit, X, y)
    assert not caught


def test_validation_rows_in_other_units_cause_a_warning(make, data):
    """As in a pipeline that does not transform them."""
    X, y = data
    (warning,) = catch_warnings(make().fit, X[:40], y[:40], X_val=100 + X[40:], y_val=y[40:])
    assert "Most validation rows lie far outside the training rows" in str(warning.message)
    assert not catch_warnings(make().fit, X[:40], y[:40], X_val=X[40:], y_val=y[40:])
