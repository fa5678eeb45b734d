"""`save` and `load`: identical predictions, and identical continued training."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expm1, log1p
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, RobustScaler

from tests._helpers import ONE_PER_METHOD, assert_same_predictions, mark_long, predict_all
from tests._persistence_data import (
    LABELS,
    NAMES,
    N,
    X,
    Y,
    estimator,
    predict_everything,
    save_and_load,
    target,
    to_comparable,
)


@pytest.mark.parametrize("name", mark_long(NAMES, ONE_PER_METHOD))
def test_every_estimator_predicts_the_same_after_loading(name, tmp_path):
    model = estimator(name)
    y = target(model)
    model.fit(X, y)
    loaded = save_and_load(model, tmp_path)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert repr(loaded) == repr(model)
    assert to_comparable(vars(loaded)) == to_comparable(vars(model))
    expected = predict_everything(model)
    assert_same_predictions(predict_everything(loaded), expected)
    assert_same_predictions(predict_everything(save_and_load(loaded, tmp_path)), expected)
    far = 100 * X[:5]
    assert_same_predictions(predict_all(loaded, far), predict_all(model, far))


@pytest.mark.parametrize("name", mark_long(NAMES, ONE_PER_METHOD))
def test_every_estimator_continues_training_after_loading(name, tmp_path):
    model = estimator(name, warm_start=True)
    y = target(model)
    loaded = save_and_load(model.fit(X, y), tmp_path)
    for one in (model, loaded):
        one.fit(X[:50], y[:50])
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
    for one in (model, loaded):
        one.set_params(early_stopping=False).partial_fit(X[:20], y[:20])
    loaded = save_and_load(loaded, tmp_path)
    for one in (model, loaded):
        one.partial_fit(X[20:40], y[20:40])
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
    assert loaded.loss_curve_ == model.loss_curve_


REGRESSOR_OPTIONS = [
    *({"noise": noise} for noise in ("heteroscedastic", "homoscedastic", None)),
    *({"embedding": kind} for kind in ("alternating", "sinusoidal", "periodic", "fourier", None)),
    *({"target_transform": kind} for kind in ("log", "log1p", "yeo-johnson", "quantile", "auto")),
    {"target_transform": PowerTransformer()},
    {"target_transform": RobustScaler()},
    {"target_transform": FunctionTransformer(log1p, expm1)},
    {"target_transform": make_pipeline(RobustScaler(), FunctionTransformer(np.arcsinh, np.sinh))},
    *({"activation": kind} for kind in ("gelu", "silu", "tanh")),
    *({"hidden_layer_sizes": sizes} for sizes in ([8, 9], np.array([8]), 8)),
    {"alpha": np.float64(0.1), "n_members": np.int64(3), "validation_fraction": 0.5},
    {"random_state": np.random.RandomState(3), "calibrate": False, "widening": 0.0},
    {"early_stopping": False},
    {"net_params": {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.5}},
    {"max_time": 3600.0, "n_members": 1, "learning_rate": "constant"},
]


# The ids have no values: some have an address, which differs between test processes.
@pytest.mark.parametrize("params", REGRESSOR_OPTIONS, ids=lambda params: "-".join(params))
def test_regressors_with_other_options_predict_the_same(params, tmp_path):
    model = estimator("DeltaUQRegressor", **params).fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(predict_everything(loaded), predict_everything(model))
    for name, value in model.get_params(deep=False).items():
        if name != "random_state":
            assert to_comparable(getattr(loaded, name)) == to_comparable(value), name
    for one in (model, loaded):
        one.set_params(early_stopping=False).partial_fit(X[:20], Y[:20])
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))


CODES = np.unique(LABELS, return_inverse=True)[1]
CLASS_LABELS = {
    "text": LABELS,
    "objects": LABELS.astype(object),
    "integers": CODES - 1,
    "uint8": CODES.astype(np.uint8),
    "float": CODES.astype(float),
    "bool": CODES > 0,
}


@pytest.mark.parametrize("y", CLASS_LABELS.values(), ids=CLASS_LABELS)
def test_class_labels_keep_their_type(y, tmp_path):
    model = estimator("DeltaUQClassifier", calibration="spread").fit(X, y)
    loaded = save_and_load(model, tmp_path)
    assert to_comparable(loaded.classes_) == to_comparable(model.classes_)
    assert_same_predictions(predict_everything(loaded), predict_everything(model))


@pytest.mark.parametrize("weights", ["balanced", {"ash": 2, "beech": 1.5, "cedar": 1}])
def test_class_weights_are_stored(weights, tmp_path):
    model = estimator("DeltaUQClassifier", class_weight=weights).fit(X, LABELS)
    loaded = save_and_load(model, tmp_path)
    assert loaded.class_weight == weights
    assert_same_predictions(predict_everything(loaded), predict_everything(model))


def test_class_weights_keep_the_types_of_numbers(tmp_path):
    weights = {np.int64(0): 1, 1: np.float64(2.0), 2: 0.5}
    loaded = save_and_load(
        estimator("DeltaUQClassifier", class_weight=weights).fit(X, CODES), tmp_path
    )
    assert repr(loaded.class_weight) == repr(weights)


@pytest.mark.parametrize("name", [n for n in NAMES if "Regressor" in n and "PBP" not in n])
def test_several_outputs(name, tmp_path):
    model = estimator(name, target_transform="yeo-johnson", noise="homoscedastic")
    model.fit(X, np.column_stack([Y, -Y, np.ones(N)]))  # the last one is constant
    assert_same_predictions(
        predict_everything(save_and_load(model, tmp_path)), predict_everything(model)
    )


def test_fits_with_names_weights_groups_and_validation_rows(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    weights, groups = np.arange(1, N + 1), np.arange(N) % 12
    model = estimator("DeltaUQRegressor").fit(table, Y, sample_weight=weights, groups=groups)
    loaded = save_and_load(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_same_predictions(predict_everything(loaded, table), predict_everything(model, table))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table.rename(columns={"a": "z"}))
    model.fit(X[:40], Y[:40], X_val=X[40:], y_val=Y[40:])
    assert_same_predictions(
        predict_everything(save_and_load(model, tmp_path)), predict_everything(model)
    )


TABLE = pd.DataFrame(
    {
        "size": np.where(np.arange(N) % 7 == 0, np.nan, X[:, 0]),
        "town": np.array(["Rome", "Oslo", None, "Bonn"], dtype=object)[np.arange(N) % 4],
        "kind": pd.Categorical.from_codes(np.arange(N) % 3, ["a", "b", "c"]),
        "open": np.arange(N) % 2 == 0,
        "count": pd.array([None if i % 9 == 0 else i for i in range(N)], dtype="Int64"),
    }
)


@pytest.mark.parametrize("name", ["DeltaUQRegressor", "DeltaUQClassifier", "PBPRegressor"])
def test_tables_with_categories_and_missing_values(name, tmp_path):
    model = estimator(
        name, categorical_features="from_dtype", missing_values="indicator", early_stopping="auto"
    )
    loaded = save_and_load(model.fit(TABLE, target(model)), tmp_path)
    assert_same_predictions(predict_everything(loaded, TABLE), predict_everything(model, TABLE))
    new = TABLE.assign(town="Lima")
    assert_same_predictions(predict_everything(loaded, new), predict_everything(model, new))
    names = loaded.encoder_.get_feature_names_out().tolist()
    assert names == model.encoder_.get_feature_names_out().tolist()
    assert {"size", "missingindicator_size", "town_Rome", "kind_b"} <= {*names}


def test_conformal_intervals_after_conformalize(tmp_path):
    model = estimator("DeltaUQRegressor").fit(X[:40], Y[:40]).conformalize(X[40:], Y[40:])
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(predict_everything(loaded), predict_everything(model))
    assert loaded._conformity_.n_rows == 20


@pytest.mark.parametrize("name", ["DeltaUQRegressor", "MCDropoutClassifier"])
def test_models_that_are_trained_by_partial_fit_only(name, tmp_path):
    model = estimator(name, early_stopping=False)
    model.partial_fit(X[:30], target(model)[:30])
    assert_same_predictions(
        predict_everything(save_and_load(model, tmp_path)), predict_everything(model)
    )


def test_the_dropout_rate_that_auto_chooses(tmp_path):
    model = estimator("MCDropoutRegressor", dropout="auto").fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert loaded.dropout_ == model.dropout_
    assert_same_predictions(predict_everything(loaded), predict_everything(model))


def test_metadata_requests(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = estimator("DeltaUQRegressor").set_fit_request(sample_weight=True, groups="block")
        loaded = save_and_load(model.fit(X, Y), tmp_path)
        requests = loaded.get_metadata_routing().fit.requests
        assert requests["sample_weight"] is True
        assert requests["groups"] == "block"
        assert clone(loaded).get_metadata_routing().fit.requests == requests
