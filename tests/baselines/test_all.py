"""Checks of all baselines: parameters, reproducibility, and properties of their predictions."""

import inspect
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_regressor
from sklearn.utils._param_validation import InvalidParameterError

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from tests._helpers import (
    ONE_PER_METHOD,
    assert_close_predictions,
    assert_same_predictions,
    mark_long,
)

# Only Delta-UQ has these parameters.
ONLY_DELTA_UQ = {"anchors", "n_anchors", "n_neighbors", "neighbor_search", "anchor_pool"}
ONLY_DELTA_UQ |= {"anchor_corruption", "temper", "widening"}
# For each method: further parameters of Delta-UQ that it lacks, and parameters of its own.
DIFFERENT = {
    "AnchorEnsemble": (set(), set()),
    "DeepEnsemble": (set(), {"adversarial_epsilon"}),
    "MCDropout": ({"module"}, {"dropout", "n_masks"}),
    "PBP": (
        {
            "activation",
            "alpha",
            "batch_size",
            "device",
            "embedding",
            "learning_rate",
            "learning_rate_init",
            "module",
        }
        | {
            "averaging",
            "calibrate",
            "n_members",
            "net_params",
            "nll_beta",
            "noise",
            "refine_mean",
        },
        set(),
    ),
    "VariationalBNN": (
        {"module", "alpha", "nll_beta"},
        {"prior_std", "kl_weight", "n_draws"},
    ),
}
# Parameters whose default differs from the default of Delta-UQ.
OWN_DEFAULTS = {
    "PBP": {"hidden_layer_sizes", "max_iter", "n_iter_no_change"},
    "VariationalBNN": {"learning_rate_init"},
}
SMALL = {
    "hidden_layer_sizes": (32,),
    "n_members": 2,
    "n_masks": 7,
    "n_draws": 7,
    "max_iter": 4,
    "random_state": 0,
}
EXTRAS = {
    "AnchorEnsemble": {},
    "DeepEnsemble": {"adversarial_epsilon": 0.02},
    "MCDropout": {"dropout": 0.2},
    "PBP": {},
    "VariationalBNN": {"prior_std": 0.5},
}
REGRESSORS = [name for name in baselines.__all__ if name.endswith("Regressor")]


def list_baselines_with(parameter, names=baselines.__all__):
    """List the baselines that have this parameter."""
    found = [
        name
        for name in names
        if parameter in inspect.signature(getattr(baselines, name)).parameters
    ]
    return mark_long(found, ONE_PER_METHOD)


# For tests that fit nothing
every_name = pytest.mark.parametrize("name", baselines.__all__, indirect=True)


@pytest.fixture(params=mark_long(baselines.__all__, ONE_PER_METHOD))
def name(request):
    return request.param


@pytest.fixture
def method(name):
    return name.removesuffix("Regressor").removesuffix("Classifier")


@pytest.fixture
def make(name, method):
    """A factory of a small baseline; the features of its method are switched on."""

    def make(**params):
        cls = getattr(baselines, name)
        own = inspect.signature(cls).parameters
        settings = {**SMALL, **EXTRAS[method], **params}
        return cls(**{k: v for k, v in settings.items() if k in own})

    return make


@pytest.fixture
def data(name, regression_data, classification_data):
    return regression_data if name.endswith("Regressor") else classification_data


def predict_all(model, X):
    """Collect all predictions of a fitted model, by method."""
    found = {f"uncertainty.{k}": v for k, v in model.predict_uncertainty(X).items()}
    found["predict"], found["std"] = model.predict(X, return_std=True)
    if is_regressor(model):
        found["interval"] = model.predict_interval(X)
        found["quantiles"] = model.predict_quantiles(X, [0.1, 0.5, 0.9])
    else:
        found["proba"] = model.predict_proba(X)
        found["log_proba"] = model.predict_log_proba(X)
    return found


def get_delta_uq_class(name):
    return DeltaUQRegressor if name.endswith("Regressor") else DeltaUQClassifier


@every_name
def test_parameters_are_the_parameters_of_delta_uq(name, method):
    cls = getattr(baselines, name)
    own, theirs = (inspect.signature(c).parameters for c in (cls, get_delta_uq_class(name)))
    without, with_own = DIFFERENT[method]
    assert theirs.keys() - own.keys() == (without | ONLY_DELTA_UQ) & theirs.keys()
    if not name.endswith("Regressor"):
        with_own = with_own | {"input_corruption"}
    assert own.keys() - theirs.keys() == with_own
    for parameter in (
        (own.keys() & theirs.keys()) - {"n_members"} - OWN_DEFAULTS.get(method, set())
    ):
        assert own[parameter].default == theirs[parameter].default, parameter
        assert own[parameter].kind == theirs[parameter].kind, parameter
    assert own.keys() == cls._parameter_constraints.keys()


@every_name
def test_public_attributes_of_unfitted_estimators_are_parameters(make):
    model = make()
    public = {n for n in dir(model) if n[0] != "_" and not inspect.isroutine(getattr(model, n))}
    assert public == model.get_params().keys()


@every_name
def test_public_methods_are_the_methods_of_delta_uq(name):
    def public(cls):
        return {n for n, _ in inspect.getmembers(cls, inspect.isroutine) if n[0] != "_"}

    # PBP is no network regressor: its one component has no spread to compare.
    absent = {"outlier_score"} if name == "PBPRegressor" else set()
    assert public(getattr(baselines, name)) == public(get_delta_uq_class(name)) - absent


@pytest.mark.parametrize("early_stopping", [True, False])
def test_one_seed_gives_the_same_model_to_the_last_bit(make, data, early_stopping):
    X, y = data
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(predict_all(make(early_stopping=early_stopping).fit(X, y), X))
    assert_same_predictions(*found)
    other = predict_all(make(early_stopping=early_stopping, random_state=1).fit(X, y), X)
    assert not np.allclose(found[0]["std"], other["std"], rtol=1e-3)


@pytest.mark.usefixtures("global_state_is_kept")
def test_global_state_is_kept(make, data):
    X, y = data
    model = make().fit(X, y)
    predict_all(model, X)
    model.partial_fit(X, y)


def test_fit_works_if_gradients_are_off(make, data):
    X, y = data
    expected = predict_all(make().fit(X, y), X)
    with torch.no_grad():
        found = predict_all(make().fit(X, y), X)
    assert_same_predictions(found, expected)


@pytest.mark.parametrize("params", [{}, {"embedding": "periodic", "hidden_layer_sizes": (32, 32)}])
def test_predictions_of_a_row_do_not_depend_on_other_rows(make, data, params):
    X, y = data
    model = make(**params).fit(X, y)
    many = np.random.default_rng(1).normal(size=(1700, X.shape[1]))
    together = predict_all(model, many)
    for rows in ([0], [1699], [5, 3, 3], slice(None, None, -1), slice(0, 257)):
        apart = predict_all(model, many[rows])
        assert_close_predictions({k: v[rows] for k, v in together.items()}, apart)


def test_predictions_are_the_same_again_and_after_pickling_and_cloning(make, data):
    X, y = data
    model = make().fit(X, y)
    expected = predict_all(model, X)
    assert_same_predictions(predict_all(model, X), expected)
    assert_same_predictions(predict_all(pickle.loads(pickle.dumps(model)), X), expected)
    assert_same_predictions(predict_all(clone(model).fit(X, y), X), expected)


def test_partial_fit_continues_and_is_reproducible(make, data):
    X, y = data
    found = []
    for _ in range(2):
        model = make()
        for call in range(3):
            model.partial_fit(X, y)
            assert model.n_iter_ == call + 1
        found.append(predict_all(model, X))
    assert_same_predictions(*found)
    assert len(model.loss_curve_) == 3
    assert model.loss_curve_[2] < model.loss_curve_[0]


def test_warm_start_continues_from_the_last_weights(make, data):
    X, y = data
    model = make(warm_start=True, early_stopping=False, max_iter=30, learning_rate_init=0.01)
    first = model.fit(X, y).loss_curve_
    second = model.fit(X, y).loss_curve_
    assert second[0] < np.mean(first)
    model.set_params(hidden_layer_sizes=(5,))
    with pytest.raises(ValueError, match="another hidden_layer_sizes"):
        model.fit(X, y)


@pytest.mark.parametrize("name", list_baselines_with("n_members"), indirect=True)
def test_each_network_has_its_own_held_out_scores(make, data):
    """60 rows are ten folds, and all of them are held out."""
    X, y = data
    model = make(early_stopping=True, max_iter=20).fit(X, y)
    assert model.n_networks_ == 10
    assert model.validation_scores_.shape == (model.n_iter_, 10)
    np.testing.assert_allclose(model.best_validation_score_, model.validation_scores_.max(axis=0))


def test_rows_of_weight_zero_are_ignored(make, data):
    X, y = data
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    present = weights > 0
    weighted = make().fit(X, y, sample_weight=weights)
    without = make().fit(X[present], y[present])
    assert_same_predictions(predict_all(weighted, X), predict_all(without, X))


@pytest.mark.parametrize("name", list_baselines_with("noise", REGRESSORS), indirect=True)
def test_several_outputs(make, regression_data):
    X, y = regression_data
    Y = np.column_stack([y, -1e3 * y])
    model = make().fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    assert model.predict_quantiles(X, [0.1, 0.9]).shape == (*Y.shape, 2)
    assert model.sample_y(X, 3, random_state=0).shape == (*Y.shape, 3)


@pytest.mark.parametrize("name", list_baselines_with("noise", REGRESSORS), indirect=True)
@pytest.mark.parametrize("noise", ["homoscedastic", "heteroscedastic", None])
def test_noise_heads(make, regression_data, noise):
    X, y = regression_data
    model = make(noise=noise).fit(X, y)
    parts = model.predict_uncertainty(X)
    assert (parts.epistemic > 0).all()
    assert (parts.aleatoric > 0).all() == (noise is not None)
    assert hasattr(model, "noise_std_") == (noise == "homoscedastic")
    np.testing.assert_allclose(parts.total, np.hypot(parts.epistemic, parts.aleatoric), rtol=1e-9)
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.std, parts.total, rtol=1e-5)
    np.testing.assert_allclose(dist.epistemic, parts.epistemic, rtol=1e-3)


INVALID = {
    "AnchorEnsemble": {"n_members": [0, 2.5, None]},
    "DeepEnsemble": {"adversarial_epsilon": [-0.1, "0.1", None], "n_members": [0, 2.5]},
    "MCDropout": {"dropout": [-0.1, 1, "best", None], "n_masks": [0, 2.5, None]},
    "PBP": {"max_iter": [0, 2.5, None], "validation_fraction": [0.0, 0.6]},
    "VariationalBNN": {"prior_std": [0, "0.1"], "kl_weight": [-1, None], "n_draws": [0, 2.5]},
}


@every_name
def test_invalid_values_raise_the_error_of_scikit_learn(make, data, method):
    for parameter, values in INVALID[method].items():
        for value in values:
            model = make(**{parameter: value})
            with pytest.raises(InvalidParameterError, match=f"The '{parameter}' parameter of"):
                model.fit(*data)
            assert not hasattr(model, "n_components_")


@pytest.mark.parametrize("name", list_baselines_with("learning_rate_init"), indirect=True)
def test_divergence_is_an_error_and_does_not_change_the_estimator(make, data):
    model = make(learning_rate_init=3e38, max_iter=20)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="Training diverged"):
        model.fit(*data)
    assert vars(model) == before
