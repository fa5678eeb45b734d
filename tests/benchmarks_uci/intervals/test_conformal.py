"""The comparison of conformal intervals: its scores, and one small run."""

from functools import partial

import numpy as np
import pytest

from benchmarks_uci.intervals import conformal
from sk_deltauq import DeltaUQRegressor


def test_the_worst_slab_is_found_and_measured_on_other_rows(rng):
    X = rng.normal(size=(600, 2))
    covered = np.abs(X[:, 0]) > 0.3  # misses lie in a slab of 24 % of the rows
    assert conformal.cover_worst_slab(X, covered, seed=0) < 0.2
    random = rng.random(600) < 0.9
    assert conformal.cover_worst_slab(X, random, seed=0) == pytest.approx(0.9, abs=0.1)


def test_scores_of_known_intervals():
    half_width = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 10)
    y = np.repeat([2.0, 0.0, 0.0, 0.0, 0.0, 0.0], 10)
    interval = np.column_stack([-half_width, half_width])
    scores = conformal.score_interval(interval, np.arange(60.0)[:, None], y, seed=0)
    assert [*scores] == [*conformal.SCORES]
    assert scores["coverage"] == pytest.approx(5 / 6)
    assert (scores["narrow"], scores["wide"]) == (0.5, 1)
    assert scores["width"] == pytest.approx(7 / y.std())


@pytest.mark.filterwarnings("ignore")  # two epochs, and few rows
def test_a_small_run_has_a_table_of_all_methods(monkeypatch):
    pytest.importorskip("mapie")
    monkeypatch.setattr(conformal, "DeltaUQRegressor", partial(DeltaUQRegressor, max_iter=2))
    (X, y), new = conformal.draw_simulated(0)
    few = (X[:150], y[:150]), (new[0][:100], new[1][:100])
    table = conformal.write_table(conformal.measure("simulated", lambda seed: few, [130]))
    assert table.count("simulated") == 6
    assert table.count("MAPIE") == 6
    assert "nan" not in table
