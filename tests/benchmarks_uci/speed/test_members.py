import numpy as np
import pytest

from benchmarks_uci.speed import members
from benchmarks_uci.speed.training import data

ARGUMENTS = *data(100, 4), 32, 3


@pytest.fixture(scope="module")
def stacked():
    return members.fit_ensemble(*ARGUMENTS)


def test_as_many_networks_take_as_many_steps(stacked):
    alone = members.fit_one_by_one(*ARGUMENTS)
    assert stacked.n_components_ == len(alone) == 5
    for model in [stacked, *alone]:
        assert model.n_iter_ == 3
        assert {int(s["step"]) for s in model.net_.optimizer_.state.values()} == {12}


def test_each_network_is_another(stacked):
    means = [m.predict(ARGUMENTS[0]) for m in members.fit_one_by_one(*ARGUMENTS)]
    assert len({tuple(np.round(mean, 6)) for mean in means}) == 5


def test_goals_are_those_of_the_sizes():
    assert set(members.GOALS) == {size.n_rows for size in members.SIZES}
