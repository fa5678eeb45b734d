"""Parameters: errors about invalid values, `get_params` and `clone`, effects of values."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError
from skorch.callbacks import EarlyStopping, EpochScoring

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from tests._helpers import assert_finite, assert_same_predictions, predict_all, regressor

CLASSES = {"regressor": DeltaUQRegressor, "classifier": DeltaUQClassifier}


# Invalid values

INVALID = {
    "hidden_layer_sizes": ["abc", 2.5, 0, -1, None],
    "activation": ["softplus", None, 1],
    "anchors": ["nearest", None, 1],
    "n_anchors": [0, -1, 2.5, "5", None],
    "n_neighbors": [0, -1, 2.5, None],
    "neighbor_search": ["brute", None, True],
    "anchor_pool": [0, 1, 2.5, "all"],
    "n_members": [0, -1, 2.5, "5", None],
    "embedding": ["wavelet", 1, True],
    "categorical_features": ["auto", 1, True],
    "missing_values": ["impute", None, 0],
    "alpha": [-1e-9, "0", None],
    "batch_size": [0, -1, 2.5, "all", None],
    "learning_rate": ["adaptive", None, 0.1],
    "learning_rate_init": [0, -1e-3, "0.1", None],
    "averaging": [0, -1, 2.5, None],
    "max_iter": [0, -1, 2.5, None],
    "max_time": [0, -1.5, "1 h", float("nan")],
    "tol": [-1e-9, "0", None],
    "n_iter_no_change": [0, -1, 2.5, None],
    "early_stopping": ["yes", None, 2],
    "validation_fraction": [0, -0.1, 0.6, "0.1", None],
    "warm_start": ["yes", None],
    "module": [1, "linear"],
    "net_params": [1, "lr", [("lr", 1)]],
    "device": [0, None],
    "random_state": ["seed", -1, 2.5],
    "verbose": ["yes", -1],
}
INVALID_OF_KIND = {
    "regressor": {
        "noise": ["gaussian", 1, True],
        "nll_beta": [-0.1, 1.1, "0.5", None],
        "calibrate": ["auto", None, 2],
        "refine_mean": ["auto", None, 2],
        "target_transform": ["sqrt", 3, True],
        "widening": [-0.1, None, "auto", float("nan")],
    },
    "classifier": {
        "class_weight": ["even", 1, [1, 2]],
        "calibration": ["isotonic", True, 1],
        "anchor_corruption": ["blur", True, 1],
        "temper": ["yes", None, 2],
    },
}


@pytest.mark.parametrize("kind", CLASSES)
def test_all_parameters_have_invalid_values_here(kind):
    known = {**INVALID, **INVALID_OF_KIND[kind]}
    assert set(inspect.signature(CLASSES[kind]).parameters) == set(known)
    assert set(CLASSES[kind]._parameter_constraints) == set(known)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind in CLASSES
        for name, values in {**INVALID, **INVALID_OF_KIND[kind]}.items()
        for value in values
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_invalid_values_raise_the_error_of_scikit_learn(kind, name, value, method):
    model = CLASSES[kind](**{name: value})  # the constructor checks nothing
    before = vars(model).copy()
    message = f"The '{name}' parameter of {type(model).__name__} must be .* Got .* instead"
    with pytest.raises(InvalidParameterError, match=message):
        getattr(model, method)(np.eye(4), [0, 1, 0, 1])
    assert vars(model) == before, "the failed fit changed the estimator"


INVALID_IN_FIT = {
    "sizes": {"hidden_layer_sizes": (8, 0)},
    "sizes not integers": {"hidden_layer_sizes": (2.5,)},
    "sizes nested": {"hidden_layer_sizes": [[4, 4]]},
    "device": {"device": "warp"},
    "early stopping": {"early_stopping": True, "validation_fraction": 0.01},
    "net_params": {"net_params": {"no_such_thing": 1}},
    "module": {"module": lambda n_in, n_out: torch.nn.Linear(n_in, n_out + 1)},
}


@pytest.mark.parametrize("case", INVALID_IN_FIT)
def test_errors_of_later_checks_name_the_parameter(make, data, case):
    model = make(**INVALID_IN_FIT[case])
    before = vars(model).copy()
    names = "|".join([*INVALID_IN_FIT[case], *(INVALID_IN_FIT[case].get("net_params", []))])
    with pytest.raises(ValueError, match=names):
        model.fit(*data)
    assert vars(model) == before, "the failed fit changed the estimator"


@pytest.mark.parametrize("case", [m for m in INVALID_IN_FIT if m != "module"])
def test_an_invalid_parameter_does_not_change_the_last_fit(make, data, case):
    X, y = data
    model = make().fit(X, y)
    before, params = predict_all(model, X), model.get_params()
    model.set_params(**INVALID_IN_FIT[case])
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(X, y)
    model.set_params(**params)
    assert_same_predictions(predict_all(model, X), before)


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "mps", "xla", "meta", "warp", ""])
def test_unavailable_devices_are_rejected(make, data, device):
    if device.startswith("cuda") and torch.cuda.is_available():
        pytest.skip("this machine has the device")
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has the device")
    model = make(device=device)
    with pytest.raises(ValueError, match="device must name a device that torch can use here"):
        model.fit(*data)
    assert not hasattr(model, "net_")


# scikit-learn's contract


@pytest.mark.parametrize("kind", CLASSES)
def test_get_params_returns_the_set_values(kind):
    values = {
        name: object() if name != "net_params" else {"lr": 1}
        for name in inspect.signature(CLASSES[kind]).parameters
    }
    model = CLASSES[kind](**values)
    assert model.get_params(deep=False) == values
    assert model.set_params(max_iter=7) is model
    assert model.get_params()["max_iter"] == 7
    with pytest.raises(ValueError, match="Invalid parameter 'max_epochs'"):
        model.set_params(max_epochs=7)


def test_clone_copies_parameters_but_no_fitted_attributes(make, data):
    net_params = {"optimizer": torch.optim.SGD, "callbacks": [EpochScoring("r2")]}
    model = make(module=torch.nn.Linear, hidden_layer_sizes=[4, 4], net_params=net_params)
    copy = clone(model)
    assert copy.module is torch.nn.Linear
    assert copy.hidden_layer_sizes == [4, 4]
    assert copy.net_params["optimizer"] is torch.optim.SGD
    fitted = make(n_members=2).fit(*data)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]


def test_fit_changes_no_parameter(make, data):
    callback = EarlyStopping(monitor="train_loss", patience=2)
    net_params = {"callbacks": [("stop", callback)], "optimizer__eps": 0.1}
    model = make(net_params=net_params, hidden_layer_sizes=[8], module=None)
    before, seen = model.get_params(), vars(callback).copy()
    model.fit(*data)
    assert model.get_params() == before
    assert model.net_params is net_params
    assert net_params == {"callbacks": [("stop", callback)], "optimizer__eps": 0.1}
    assert vars(callback) == seen, "the user's callback was used, not a copy"


@pytest.mark.parametrize(
    "params",
    [
        {"hidden_layer_sizes": 4},
        {"hidden_layer_sizes": np.array([4, 4])},
        {"n_anchors": np.int64(3)},
        {"alpha": np.float32(0.5)},
        {"tol": 0},
        {"early_stopping": np.True_},
        {"verbose": 0},
        {"hidden_layer_sizes": ()},
    ],
    ids=str,
)
def test_numpy_scalars_and_arrays_are_accepted(make, data, params):
    X, y = data
    model = make(**params).fit(X, y)
    assert_finite(predict_all(model, X))
    sizes = np.atleast_1d(params.get("hidden_layer_sizes", (32,))).tolist()
    core = model.net_.module_.core
    assert [layer.weight.shape[1] for layer in [core.first, *core.rest]][:-1] == sizes


def test_parameters_set_after_fit_have_an_effect_in_the_next_fit(make, data):
    X, y = data
    model = make().fit(X, y)
    model.set_params(hidden_layer_sizes=(5, 4), n_anchors=7, max_iter=2, n_members=2).fit(X, y)
    assert model.anchors_.shape == (7, X.shape[1])
    assert model.n_iter_ == 2
    assert model.n_components_ == 14
    fresh = make(hidden_layer_sizes=(5, 4), n_anchors=7, max_iter=2, n_members=2).fit(X, y)
    assert_same_predictions(predict_all(model, X), predict_all(fresh, X))


@pytest.mark.parametrize(
    "params",
    [
        {"activation": "tanh"},
        {"alpha": 10.0},
        {"batch_size": 7},
        {"learning_rate_init": 0.1},
        {"embedding": "sinusoidal"},
        {"embedding": "periodic"},
        {"early_stopping": True},
        {"n_members": 2},
    ],
    ids=str,
)
def test_a_parameter_has_an_effect(make, data, params):
    X, y = data
    one, other = make(embedding=None).fit(X, y), make(**{"embedding": None, **params}).fit(X, y)
    assert not np.allclose(one.predict(X, True)[1], other.predict(X, True)[1], rtol=1e-3)


@pytest.mark.parametrize("n_rows", [74, 75])
@pytest.mark.parametrize("module", [None, torch.nn.Linear])
def test_embedding_auto_is_alternating_for_regressors_with_enough_rows(make, n_rows, module):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 3)), rng.integers(0, 2, n_rows)
    expected = "alternating" if make is regressor and module is None and n_rows == 75 else None
    models = [make(n_members=2, module=module, embedding=e).fit(X, y) for e in ("auto", expected)]
    assert_same_predictions(*(predict_all(model, X) for model in models))
    sinusoidal = make(n_members=2, module=module, embedding="sinusoidal").fit(X, y)
    assert not np.allclose(
        sinusoidal.predict(X, True)[1], models[0].predict(X, True)[1], rtol=1e-3
    )


@pytest.mark.parametrize("params", [{"noise": "homoscedastic"}, {"noise": None}, {"nll_beta": 0}])
def test_a_parameter_of_the_regressor_has_an_effect(regression_data, params):
    X, y = regression_data
    one, other = regressor().fit(X, y), regressor(**params).fit(X, y)
    assert not np.allclose(one.predict(X), other.predict(X), rtol=1e-5)


def test_alpha_decays_weights_but_not_biases(make, data):
    X, y = data
    model = make(alpha=0.5, batch_size=20, embedding="periodic").fit(X, y)
    decay = {
        id(p): group["weight_decay"]
        for group in model.net_.optimizer_.param_groups
        for p in group["params"]
    }
    names = dict(model.net_.module_.named_parameters())
    assert {
        f"core.{name}" for name in ("first.bias", "first.weight", "embedding.frequencies")
    } <= set(names)
    for name, p in names.items():
        assert decay[id(p)] == (0.5 / 20 if name.endswith("weight") else 0), name
    params = {"max_iter": 60, "learning_rate_init": 0.02}
    plain, decayed = (make(**params, alpha=alpha).fit(X, y) for alpha in (0, 100))
    sizes = [m.net_.module_.core.first.weight.abs().mean().item() for m in (plain, decayed)]
    assert sizes[1] < 0.6 * sizes[0]


def test_verbose_shows_a_progress_bar_on_stderr(make, data, capsys):
    make(verbose=True).fit(*data)
    out, err = capsys.readouterr()
    assert out == ""
    assert make(verbose=True).__class__.__name__ in err
    assert "3/3" in err
    make(verbose=False).fit(*data)
    assert capsys.readouterr() == ("", "")


class Short(DeltaUQRegressor):
    """A subclass with its own constructor."""

    def __init__(self, max_iter=3):
        super().__init__(max_iter=max_iter)


def test_a_subclass_may_have_fewer_parameters(regression_data):
    X, y = regression_data
    model = Short().set_params(max_iter=4)
    found = clone(model).fit(X, y)
    assert found.n_iter_ == 4
    assert found.get_params() == {"max_iter": 4}
    assert found.predict_interval(X).shape == (len(X), 2)


@pytest.mark.parametrize("name", ["cpu:0", "cpu"])
def test_cpu_and_cpu_0_are_the_same_device(regression_data, name):
    model = regressor(device=name).partial_fit(*regression_data)
    model.set_params(device="cpu" if name == "cpu:0" else "cpu:0").partial_fit(*regression_data)
    assert model.net_.device == "cpu"
