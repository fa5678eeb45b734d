import pytest

from benchmarks_uci.engine.settings import settings
from benchmarks_uci.regression.ablations import ABLATIONS, REFERENCE
from benchmarks_uci.regression.methods import METHODS
from benchmarks_uci.regression.networks import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_ablation_has_one_change(preset):
    reference = settings(METHODS[REFERENCE].make(preset, 300, 0))
    seen = [reference]
    several = [{"learning_rate", "learning_rate_init", "averaging"}, {"n_members", "embedding"}]
    several.append({"module", "embedding"})  # "auto" is another one with a module
    for name in ABLATIONS:
        found = settings(ABLATIONS[name].make(preset, 300, 0))
        if (name, preset) == ("deltauq-raw", "paper"):
            assert found == reference  # the paper's networks have no embedding
            continue
        if found["class"] != "AnchorEnsembleRegressor":
            assert found.keys() == reference.keys()
            changed = {key for key, value in found.items() if value != reference[key]}
            assert len(changed) == 1 or changed in several, name
        assert found not in seen
        seen.append(found)
