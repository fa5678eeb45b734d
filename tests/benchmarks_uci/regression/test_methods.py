import pytest
from sklearn.base import clone

from benchmarks_uci.engine.settings import settings
from benchmarks_uci.engine.study import Method
from benchmarks_uci.regression.methods import ABLATIONS, LARGE, METHODS, PRESETS, REFERENCE
from sk_deltauq import DeltaUQRegressor, baselines

ALL = {**METHODS, **ABLATIONS}

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
NETWORKS = [*DEFAULTS]


def make(name, preset, n_rows, random_state):
    return ALL[name].make(preset, n_rows, random_state)


@pytest.mark.parametrize(
    ("name", "preset"),
    [(name, p) for name in ALL for p in PRESETS if name in METHODS or p != "refined"],
)
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
    if name != "bnn":  # noise in the weights needs smaller steps
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
    assert mlp.learning_rate_init < ours["learning_rate_init"], "it does not average its weights"


def test_sizes_of_the_ensembles_agree():
    for name in ("deltauq-5", "deepensemble", "anchorensemble"):
        assert make(name, "paper", 300, 0).n_members == 5
    assert make("mlp-5", "paper", 300, 0).n_estimators == 5
    assert make("deltauq", "paper", 300, 0).n_members == 1
    assert make("mcdropout", "paper", 300, 0).n_members == 1


def test_dropout_rate_is_selected_on_training_rows_in_the_paper_preset():
    assert make("mcdropout", "paper", 300, 0).dropout == "auto"


def test_methods_describe_themselves():
    for name, method in ALL.items():
        assert isinstance(method, Method)
        assert method.name == name
        assert method.description.endswith(".")
    assert len({method.title for method in ALL.values()}) == len(METHODS) + len(ABLATIONS)


def test_refined_networks_train_on_and_delta_uq_has_neighbours():
    for name in ("deltauq", "deltauq-5", "mcdropout", "deepensemble", "bnn", "anchorensemble"):
        default, refined = (
            settings(METHODS[name].make(preset, 300, 0)) for preset in ("default", "refined")
        )
        changed = {key: value for key, value in refined.items() if value != default[key]}
        neighbours = {"anchors": "neighbours", "n_anchors": 10} if "deltauq" in name else {}
        assert changed == {"refine_mean": True, **neighbours}


def test_only_ablations_with_settings_of_it_run_with_the_refined_preset():
    with_refined = {name for name, method in ABLATIONS.items() if method.presets is None}
    assert with_refined == {"deltauq-m5-wide"}
    others = ABLATIONS.keys() - with_refined
    assert {ABLATIONS[name].presets for name in others} == {("default", "paper")}
    assert {method.presets for method in METHODS.values()} == {None}


@pytest.mark.parametrize("preset", ["default", "refined"])
def test_the_wide_ablation_changes_the_inflation_of_five_members(preset):
    five = settings(METHODS["deltauq-5"].make(preset, 300, 0))
    wide = settings(ABLATIONS["deltauq-m5-wide"].make(preset, 300, 0))
    assert {**five, "widening": 2.0} == wide


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_ablation_has_one_change(preset):
    reference = settings(METHODS[REFERENCE].make(preset, 300, 0))
    seen = [reference]
    several = [{"learning_rate", "learning_rate_init", "averaging"}, {"n_members", "embedding"}]
    several.append({"module", "embedding"})  # "auto" is another one with a module
    several += [{"n_members", "refine_mean"}, {"n_members", "widening"}, {"anchors", "n_anchors"}]
    several.append({"n_members", "refine_mean", "anchors", "n_anchors"})
    for name in ABLATIONS:
        found = settings(ABLATIONS[name].make(preset, 300, 0))
        if (name, preset) == ("deltauq-raw", "paper"):
            assert found == reference  # the paper's networks have no embedding
            continue
        if found["class"] not in ("AnchorEnsembleRegressor", "DeepEnsembleRegressor"):
            assert found.keys() == reference.keys()
            changed = {key for key, value in found.items() if value != reference[key]}
            assert len(changed) == 1 or changed in several, name
        assert found not in seen
        seen.append(found)
