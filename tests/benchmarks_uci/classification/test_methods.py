import pytest

from benchmarks_uci.classification.methods import ABLATIONS, METHODS, PRESETS
from benchmarks_uci.classification.outlier_study import NETWORK_SCORES, PEERS
from benchmarks_uci.engine.settings import settings, settings_id

EVERY = {**METHODS, **ABLATIONS, **PEERS}


@pytest.mark.parametrize("name", EVERY)
def test_a_method_makes_an_estimator_with_its_seed(name):
    model = EVERY[name].make("default", 100, 7)
    assert hasattr(model, "fit")
    assert all(v == 7 for k, v in model.get_params().items() if k.endswith("random_state"))
    assert settings_id(settings(model)) == settings_id(settings(EVERY[name].make("default", 9, 1)))


def test_settings_differ_between_methods():
    ids = {name: settings_id(settings(m.make("default", 100, 0))) for name, m in EVERY.items()}
    assert len({*ids.values()}) == len(ids)


def test_the_preset_quick_trains_a_few_epochs():
    assert PRESETS == ("default", "quick")
    assert METHODS["deltauq"].make("quick", 100, 0).max_iter == 5


def test_every_network_of_the_outlier_study_is_a_method():
    assert {*NETWORK_SCORES} <= {*METHODS}
