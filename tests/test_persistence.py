"""`save` and `load`: the same predictions to the last bit, and the same continued training."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expm1, log1p
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, RobustScaler
from skorch.callbacks import EpochTimer

import sk_deltauq
from sk_deltauq import DeltaUQRegressor, baselines, load
from tests._helpers import (
    ONE_PER_METHOD,
    assert_same_predictions,
    mark_long,
    predict_all,
)
from tests._stored_data import LABELS, N, X, Y, target

NAMES = ["DeltaUQRegressor", "DeltaUQClassifier", *baselines.__all__]
SMALL = {"hidden_layer_sizes": (16,), "n_members": 2, "n_masks": 5, "n_draws": 5, "n_anchors": 4}
SMALL |= {"max_iter": 3, "random_state": 0, "early_stopping": True, "validation_fraction": 0.5}


def estimator(name, **params):
    cls = getattr(sk_deltauq, name, None) or getattr(baselines, name)
    known = cls().get_params()
    return cls(**{key: value for key, value in {**SMALL, **params}.items() if key in known})


def all_answers(model, X=X):
    """What every public method says."""
    found, dist = predict_all(model, X), model.predict_dist(X)
    if is_classifier(model):
        return {**found, "dist": dist.logits}
    found["keywords"] = np.concatenate(
        [part.ravel() for part in model.predict(X, True, coverage=0.8, quantiles=[0.3])]
    )
    for name in ("mean", "std", "epistemic", "aleatoric"):
        found[f"dist.{name}"] = getattr(dist, name)
    for name in ("log_pdf", "cdf", "crps"):
        if hasattr(dist, name):
            found[f"dist.{name}"] = getattr(dist, name)(dist.mean + 0.1)
    if model._conformity_ is not None:
        found["conformal"] = model.predict_interval(X, 0.7, method="conformal")
    return found


@pytest.fixture
def stored(tmp_path):
    def roundtrip(model, **params):
        model.save(tmp_path / "model.safetensors")
        return load(tmp_path / "model.safetensors", **params)

    return roundtrip


def plain(value):
    """Fitted attributes in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [plain(v) for v in value]
    if type(value).__module__.startswith(("sk_deltauq", "sklearn")):
        return type(value), plain(value.__getstate__())
    return repr(value)


@pytest.mark.parametrize("name", mark_long(NAMES, ONE_PER_METHOD))
def test_every_estimator_predicts_the_same_after_loading(name, stored):
    model = estimator(name)
    y = target(model)
    model.fit(X, y)
    again = stored(model)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert repr(again) == repr(model)
    assert plain(vars(again)) == plain(vars(model))
    expected = all_answers(model)
    assert_same_predictions(all_answers(again), expected)
    assert_same_predictions(all_answers(stored(again)), expected)
    far = 100 * X[:5]
    assert_same_predictions(predict_all(again, far), predict_all(model, far))


@pytest.mark.parametrize("name", mark_long(NAMES, ONE_PER_METHOD))
def test_every_estimator_continues_training_after_loading(name, stored):
    model = estimator(name, warm_start=True)
    y = target(model)
    again = stored(model.fit(X, y))
    for one in (model, again):
        one.fit(X[:50], y[:50])
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    for one in (model, again):
        one.set_params(early_stopping=False).partial_fit(X[:20], y[:20])
    again = stored(again)
    for one in (model, again):
        one.partial_fit(X[20:40], y[20:40])
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    assert again.loss_curve_ == model.loss_curve_


REGRESSORS = [
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


# Without the texts of the values: some have an address, which differs between test processes.
@pytest.mark.parametrize("params", REGRESSORS, ids=lambda params: "-".join(params))
def test_options_of_regressors(params, stored):
    model = estimator("DeltaUQRegressor", **params).fit(X, Y)
    again = stored(model)
    assert_same_predictions(all_answers(again), all_answers(model))
    for name, value in model.get_params(deep=False).items():
        if name != "random_state":
            assert plain(getattr(again, name)) == plain(value), name
    for one in (model, again):
        one.set_params(early_stopping=False).partial_fit(X[:20], Y[:20])
    assert_same_predictions(predict_all(again, X), predict_all(model, X))


CODES = np.unique(LABELS, return_inverse=True)[1]
CLASSES = {
    "text": LABELS,
    "objects": LABELS.astype(object),
    "whole numbers": CODES - 1,
    "uint8": CODES.astype(np.uint8),
    "float": CODES.astype(float),
    "bool": CODES > 0,
}


@pytest.mark.parametrize("y", CLASSES.values(), ids=CLASSES)
def test_class_labels_keep_their_type(y, stored):
    model = estimator("DeltaUQClassifier", calibration="spread").fit(X, y)
    again = stored(model)
    assert plain(again.classes_) == plain(model.classes_)
    assert_same_predictions(all_answers(again), all_answers(model))


@pytest.mark.parametrize("weights", ["balanced", {"ash": 2, "beech": 1.5, "cedar": 1}])
def test_class_weights(weights, stored):
    model = estimator("DeltaUQClassifier", class_weight=weights).fit(X, LABELS)
    again = stored(model)
    assert again.class_weight == weights
    assert_same_predictions(all_answers(again), all_answers(model))


def test_class_weights_of_numbers(stored):
    weights = {np.int64(0): 1, 1: np.float64(2.0), 2: 0.5}
    again = stored(estimator("DeltaUQClassifier", class_weight=weights).fit(X, CODES))
    assert repr(again.class_weight) == repr(weights)


@pytest.mark.parametrize("name", [n for n in NAMES if "Regressor" in n and "PBP" not in n])
def test_several_outputs(name, stored):
    model = estimator(name, target_transform="yeo-johnson", noise="homoscedastic")
    model.fit(X, np.column_stack([Y, -Y, np.ones(N)]))  # the last one is constant
    assert_same_predictions(all_answers(stored(model)), all_answers(model))


def test_names_weights_groups_and_own_rows_to_hold_out(stored):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    weights, groups = np.arange(1, N + 1), np.arange(N) % 12
    model = estimator("DeltaUQRegressor").fit(table, Y, sample_weight=weights, groups=groups)
    again = stored(model)
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_same_predictions(all_answers(again, table), all_answers(model, table))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"a": "z"}))
    model.fit(X[:40], Y[:40], X_val=X[40:], y_val=Y[40:])
    assert_same_predictions(all_answers(stored(model)), all_answers(model))


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
def test_tables_with_categories_and_gaps(name, stored):
    model = estimator(
        name, categorical_features="from_dtype", missing_values="indicator", early_stopping="auto"
    )
    again = stored(model.fit(TABLE, target(model)))
    assert_same_predictions(all_answers(again, TABLE), all_answers(model, TABLE))
    new = TABLE.assign(town="Lima")
    assert_same_predictions(all_answers(again, new), all_answers(model, new))
    names = again.encoder_.get_feature_names_out().tolist()
    assert names == model.encoder_.get_feature_names_out().tolist()
    assert {"size", "missingindicator_size", "town_Rome", "kind_b"} <= {*names}


def test_conformal_intervals_of_new_rows(stored):
    model = estimator("DeltaUQRegressor").fit(X[:40], Y[:40]).conformalize(X[40:], Y[40:])
    again = stored(model)
    assert_same_predictions(all_answers(again), all_answers(model))
    assert again._conformity_.n_rows == 20


@pytest.mark.parametrize("name", ["DeltaUQRegressor", "MCDropoutClassifier"])
def test_a_model_that_has_only_seen_partial_fit(name, stored):
    model = estimator(name, early_stopping=False)
    model.partial_fit(X[:30], target(model)[:30])
    assert_same_predictions(all_answers(stored(model)), all_answers(model))


def test_the_chosen_dropout_rate(stored):
    model = estimator("MCDropoutRegressor", dropout="auto").fit(X, Y)
    again = stored(model)
    assert again.dropout_ == model.dropout_
    assert_same_predictions(all_answers(again), all_answers(model))


def test_requests_for_metadata(stored):
    with sk_deltauq_routing():
        model = estimator("DeltaUQRegressor").set_fit_request(sample_weight=True, groups="block")
        again = stored(model.fit(X, Y))
        requests = again.get_metadata_routing().fit.requests
        assert requests["sample_weight"] is True
        assert requests["groups"] == "block"
        assert clone(again).get_metadata_routing().fit.requests == requests


def sk_deltauq_routing():
    from sklearn import config_context

    return config_context(enable_metadata_routing=True)


# Objects of the user


class Net(torch.nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(
            torch.nn.Linear(n_in, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(),
            torch.nn.Dropout(0.1), torch.nn.Linear(8, n_out),
        )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["DeltaUQRegressor", "DeltaUQClassifier", "DeepEnsembleRegressor"]
)
def test_load_takes_the_module_of_the_user(name, stored, tmp_path):
    model = estimator(name, module=Net, embedding="sinusoidal")
    y = target(model)
    again = stored(model.fit(X, y), module=Net)
    assert again.module is Net
    assert_same_predictions(all_answers(again), all_answers(model))
    for one in (model, again):
        one.set_params(early_stopping=False).partial_fit(X, y)
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    with pytest.raises(ValueError, match=r"module=<class .*Net'>.*load\(path, module=\.\.\.\)"):
        load(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="pass the module of the fit"):
        load(tmp_path / "model.safetensors", module=torch.nn.Linear)


def test_load_takes_the_callbacks_of_the_user(stored, tmp_path):
    net_params = {"callbacks": [("timer", EpochTimer())], "optimizer": torch.optim.AdamW}
    model = estimator("DeltaUQRegressor", net_params=net_params).fit(X, Y)
    again = stored(model, net_params=net_params)
    assert again.net_params is net_params
    assert_same_predictions(all_answers(again), all_answers(model))
    for one in (model, again):
        one.set_params(early_stopping=False).partial_fit(X, Y)
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    assert_same_predictions(all_answers(stored(model, net_params=None)), all_answers(model))
    with pytest.raises(ValueError, match=r"has net_params=.*EpochTimer.*load\(path, net_params="):
        load(tmp_path / "model.safetensors")


def test_a_parameter_that_is_not_needed_is_refused(stored):
    model = estimator("DeltaUQRegressor").fit(X, Y)
    with pytest.raises(ValueError, match=r"got module, .* not need. Call load\(path\)\."):
        stored(model, module=Net)
    model = estimator("DeltaUQRegressor", module=Net).fit(X, Y)
    with pytest.raises(ValueError, match=r"got max_iter, .* Call load\(path, module=\.\.\.\)"):
        stored(model, module=Net, max_iter=3)


class Cube(TransformerMixin, BaseEstimator):
    def fit(self, y):
        return self

    def transform(self, y):
        return np.cbrt(y)

    def inverse_transform(self, z):
        return z**3


@pytest.mark.parametrize(
    ("transform", "found"),
    [
        (Cube(), r"target_transform is an object of <class '.*Cube'>"),
        (FunctionTransformer(lambda y: y + 1, lambda z: z - 1), r"target_transform\.func is"),
    ],
)
def test_a_transformer_of_the_user_is_refused(transform, found, tmp_path):
    model = estimator("DeltaUQRegressor", target_transform=transform).fit(X, Y)
    with pytest.raises(ValueError, match=f"cannot hold this DeltaUQRegressor: {found}.*joblib"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_module_that_is_not_the_one_of_the_fit_is_refused(tmp_path):
    model = estimator("DeltaUQRegressor", module=Net).fit(X, Y)
    model.set_params(module=torch.nn.Linear)
    with pytest.raises(ValueError, match=r"_trained_\..*Set module and net_params back"):
        model.save(tmp_path / "model")


def test_other_attributes(stored, tmp_path):
    model = estimator("DeltaUQRegressor").fit(X, Y)
    model.note = {"by": "me", "rows": (N, 3)}
    assert stored(model).note == model.note
    model.note = object()
    with pytest.raises(ValueError, match=r"note is an object of .* Set note to another value"):
        model.save(tmp_path / "other")


class Own(DeltaUQRegressor):
    pass


def test_a_class_of_the_user_is_refused(tmp_path):
    with pytest.raises(ValueError, match="and Own is a class of your own"):
        Own(max_iter=2).fit(X, Y).save(tmp_path / "model")


def test_only_a_fitted_model_is_saved(tmp_path):
    with pytest.raises(NotFittedError):
        DeltaUQRegressor().save(tmp_path / "model")
