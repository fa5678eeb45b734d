import sys

import pytest
from sklearn.linear_model import Ridge

from benchmarks_uci import timing
from sk_deltauq import DeltaUQRegressor


@pytest.mark.parametrize(("model", "n_loads"), [(DeltaUQRegressor(), 1), (Ridge(), 0)])
def test_only_our_models_load_the_optimizer(monkeypatch, model, n_loads):
    loads = []
    monkeypatch.setattr(timing, "load_optimizer", lambda: loads.append(1))
    timing.warm_up(model)
    assert len(loads) == n_loads


def test_the_package_of_a_model_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    timing.warm_up(Ridge(), "colorsys")
    assert "colorsys" in sys.modules
    timing.load_optimizer()  # any number of times
    timing.load_optimizer()
