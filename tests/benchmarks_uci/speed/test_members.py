import numpy as np
import pytest

from benchmarks_uci.speed import members
from benchmarks_uci.speed.training import random_rows

ARGUMENTS = *random_rows(100, 4), 32, 3


@pytest.fixture(scope="module")
def stacked():
    return members.fit_ensemble(*ARGUMENTS)


def test_both_fits_have_the_same_networks_and_steps(stacked):
    alone = members.fit_separately(*ARGUMENTS)
    assert stacked.n_components_ == len(alone) == 5
    for model in [stacked, *alone]:
        assert model.n_iter_ == 3
        assert {int(s["step"]) for s in model.net_.optimizer_.state.values()} == {12}


def test_separate_networks_differ(stacked):
    means = [m.predict(ARGUMENTS[0]) for m in members.fit_separately(*ARGUMENTS)]
    assert len({tuple(np.round(mean, 6)) for mean in means}) == 5


def test_every_size_has_a_goal():
    assert set(members.GOALS) == {size.n_rows for size in members.SIZES}
