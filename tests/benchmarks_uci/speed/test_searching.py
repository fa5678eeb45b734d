import numpy as np

from benchmarks_uci.speed import searching
from benchmarks_uci.speed.training import random_rows


def test_search_scores_every_setting(monkeypatch):
    monkeypatch.setattr(searching, "GRID", {"hidden_layer_sizes": [(2,), (3,)]})
    found = searching.search(*random_rows(30, 3), n_jobs=1)
    scores = found.cv_results_["mean_test_score"]
    assert len(scores) == 2
    assert np.isfinite(scores).all()


def test_measurement_compares_the_jobs(monkeypatch):
    jobs = []
    monkeypatch.setattr(searching, "search", lambda X, y, n_jobs: jobs.append(n_jobs))
    [result] = searching.measure(quick=True)
    assert jobs == [1, 2]
    assert list(result.parts) == ["two jobs", "one job"]
    assert result.value == result.parts["one job"] / result.parts["two jobs"]
