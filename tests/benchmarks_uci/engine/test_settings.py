import json

import numpy as np
import pytest

from benchmarks_uci.engine.settings import settings, settings_id
from benchmarks_uci.regression.study import STUDY
from sk_deltauq import DeltaUQRegressor


@pytest.mark.parametrize("name", [*STUDY.methods, *STUDY.variants])
def test_settings_are_json_and_leave_the_seed_out(name):
    found, other = (settings(STUDY.method(name).make("paper", 100, seed)) for seed in (1, 2))
    assert found == other
    assert json.loads(json.dumps(found)) == found
    assert " at 0x" not in str(found)


def test_values_that_are_not_json_are_replaced():
    found = settings(
        DeltaUQRegressor(
            hidden_layer_sizes=np.array([8, 8]),
            alpha=np.float64(0.5),
            net_params={"optimizer": dict},
        )
    )
    assert found["class"] == "DeltaUQRegressor"
    assert found["hidden_layer_sizes"] == [8, 8]
    assert type(found["alpha"]) is float
    assert found["net_params"] == {"optimizer": "builtins.dict"}
    assert found["n_anchors"] == 20
    outer = settings(STUDY.method("mlp").make("paper", 100, 0))
    steps = outer["estimator"]["regressor"]["steps"]
    assert [step["class"] for _, step in steps] == ["StandardScaler", "MLPRegressor"]


def test_identifiers_distinguish_methods_and_presets():
    found = {}
    for name in ("mlp", "mlp-5", "deltauq", "deltauq-5"):
        # Methods of other packages have no refined preset of their own.
        for preset in STUDY.presets if "deltauq" in name else ("default", "paper"):
            made = settings(STUDY.method(name).make(preset, 300, 0))
            found[name, preset] = settings_id(made)
    assert len(set(found.values())) == len(found)
    assert all(len(digits) == 12 and int(digits, 16) for digits in found.values())
    assert settings_id({"a": 1, "b": 2}) == settings_id({"b": 2, "a": 1})
