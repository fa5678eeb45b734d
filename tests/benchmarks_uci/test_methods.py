import importlib.util
import json

import numpy as np
import pytest
from sklearn.base import clone

from benchmarks_uci.methods import (
    ABLATIONS,
    ALL,
    LARGE,
    METHODS,
    PRESETS,
    REFERENCE,
    Method,
    applicable,
    make,
    settings,
    table,
)
from sk_deltauq import DeltaUQRegressor, baselines

# The package's estimators, without random_state
DEFAULTS = {
    "deltauq": lambda: DeltaUQRegressor(),
    "deltauq-5": lambda: DeltaUQRegressor(n_members=5),
    "mcdropout": lambda: baselines.MCDropoutRegressor(dropout="auto"),
    "deepensemble": lambda: baselines.DeepEnsembleRegressor(),
    "bnn": lambda: baselines.VariationalBNNRegressor(),
    "anchorensemble": lambda: baselines.AnchorEnsembleRegressor(n_members=5),
    "pbp": lambda: baselines.PBPRegressor(),
}
NETWORKS = [name for name in DEFAULTS if name in METHODS]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ALL)
def test_method_is_made_new_with_its_seed(name, preset):
    first, second = (make(name, preset, n_rows=100, random_state=3) for _ in range(2))
    assert first is not second
    assert repr(first) == repr(second)
    assert repr(clone(first)) == repr(first)
    if name != "marginal":
        assert first.get_params()["random_state"] == 3


@pytest.mark.parametrize("name", NETWORKS)
def test_default_preset_is_the_defaults_of_the_package(name):
    made = make(name, "default", n_rows=10**6, random_state=None)
    assert settings(made) == settings(DEFAULTS[name]())


@pytest.mark.parametrize(("n_rows", "units"), [(300, 50), (LARGE, 50), (LARGE + 1, 100)])
@pytest.mark.parametrize("name", NETWORKS)
def test_paper_preset_has_one_hidden_layer(name, n_rows, units):
    found = settings(make(name, "paper", n_rows, random_state=0))
    assert found["hidden_layer_sizes"] == [units]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "pbp"])
def test_networks_have_one_budget(name, preset):
    found, ours = (settings(make(each, preset, 300, random_state=0)) for each in (name, "deltauq"))
    for setting in (
        *("hidden_layer_sizes", "activation", "noise", "nll_beta", "alpha"),
        *("batch_size", "learning_rate", "averaging", "max_iter", "tol", "n_iter_no_change"),
        *("early_stopping", "validation_fraction", "calibrate", "embedding", "net_params"),
    ):
        assert found.get(setting, ours[setting]) == ours[setting], setting
    if name != "bnn":  # noise in the weights wants smaller steps
        assert found["learning_rate_init"] == ours["learning_rate_init"]


@pytest.mark.parametrize(("n_rows", "batch_size"), [(100, 32), (4_000, 64), (10**7, 1024)])
def test_mlp_has_the_budget_of_the_networks(n_rows, batch_size):
    params = make("mlp", "default", n_rows, random_state=0).get_params()
    mlp = params["estimator__regressor__mlpregressor"]
    ours = settings(DeltaUQRegressor())
    assert mlp.batch_size == batch_size
    for name in (
        "hidden_layer_sizes",
        "max_iter",
        "n_iter_no_change",
        "tol",
    ):
        assert settings(mlp)[name] == ours[name]
    assert mlp.learning_rate_init < ours["learning_rate_init"], "it averages no weights"


def test_sizes_of_the_ensembles_agree():
    for name in {"deltauq-5", "deepensemble", "anchorensemble"} & set(METHODS):
        assert make(name, "paper", 300, 0).n_members == 5
    assert make("mlp-5", "paper", 300, 0).n_estimators == 5
    assert make("deltauq", "paper", 300, 0).n_members == 1
    assert make("mcdropout", "paper", 300, 0).n_members == 1


def test_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="one of default, paper, got 'papr'"):
        make("deltauq", "papr", n_rows=100, random_state=0)


def test_method_says_where_it_cannot_be_run(monkeypatch):
    assert applicable("marginal", 10**7) == ""
    assert applicable("gp", 2000) == ""
    assert "at most 2000 training rows" in applicable("gp", 2001)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert applicable("ngboost", 100).startswith("ngboost is not installed: pip install")


@pytest.mark.parametrize("name", ALL)
def test_settings_are_json_and_leave_the_seed_out(name):
    found, other = (settings(make(name, "paper", 100, random_state=seed)) for seed in (1, 2))
    assert found == other
    assert json.loads(json.dumps(found)) == found
    assert " at 0x" not in str(found)


def test_settings_resolve_what_is_not_json():
    found = settings(
        DeltaUQRegressor(np.array([8, 8]), alpha=np.float64(0.5), net_params={"optimizer": dict})
    )
    assert found["class"] == "DeltaUQRegressor"
    assert found["hidden_layer_sizes"] == [8, 8]
    assert type(found["alpha"]) is float
    assert found["net_params"] == {"optimizer": "builtins.dict"}
    assert found["n_anchors"] == 20
    outer = settings(make("mlp", "paper", 100, random_state=0))
    steps = outer["estimator"]["regressor"]["steps"]
    assert [step["class"] for _, step in steps] == ["StandardScaler", "MLPRegressor"]


def test_dropout_rate_is_chosen_from_training_rows_in_the_paper_preset():
    assert make("mcdropout", "paper", 300, 0).dropout == "auto"


@pytest.mark.parametrize("preset", PRESETS)
def test_table_lists_what_is_not_default_and_how_it_was_chosen(preset):
    rows = {name: (changed, chosen) for name, changed, chosen in table(preset)}
    assert [*rows] == [*METHODS]
    assert all(chosen.endswith(".") for _, chosen in rows.values())
    assert rows["marginal"][0] == "MarginalGaussian()"
    assert "n_members=5" in rows["deltauq-5"][0]
    if preset == "default":
        assert rows["deltauq"][0] == "DeltaUQRegressor()"
    else:
        assert rows["deltauq"][0] == (
            "DeltaUQRegressor(embedding=None, hidden_layer_sizes=(50,)); above 30,000 training "
            "rows DeltaUQRegressor(embedding=None, hidden_layer_sizes=(100,))"
        )


def test_methods_describe_themselves():
    for name, method in ALL.items():
        assert isinstance(method, Method)
        assert method.name == name
        assert method.description.endswith(".")
    assert len({method.title for method in ALL.values()}) == len(METHODS) + len(ABLATIONS)


@pytest.mark.parametrize("preset", PRESETS)
def test_ablation_differs_from_delta_uq_in_what_it_names(preset):
    reference = settings(make(REFERENCE, preset, 300, random_state=0))
    seen = [reference]
    several = [{"learning_rate", "learning_rate_init", "averaging"}, {"n_members", "embedding"}]
    several.append({"module", "embedding"})  # "auto" is another one with a module
    for name in ABLATIONS:
        found = settings(make(name, preset, 300, random_state=0))
        if (name, preset) == ("deltauq-raw", "paper"):
            assert found == reference  # the paper's networks have no embedding
            continue
        if found["class"] != "AnchorEnsembleRegressor":
            assert found.keys() == reference.keys()
            changed = {key for key, value in found.items() if value != reference[key]}
            assert len(changed) == 1 or changed in several, name
        assert found not in seen
        seen.append(found)
