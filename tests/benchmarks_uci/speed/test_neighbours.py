import pytest

from benchmarks_uci.speed import neighbours
from benchmarks_uci.speed.neighbours import APPROXIMATE, ENSEMBLE, EXACT, OURS, RANDOM


def test_each_case_compares_fits_and_predictions():
    pytest.importorskip("faiss")
    found = neighbours.measure(quick=True)
    assert [(r.against, r.goal) for r in found] == [
        ("the deep ensemble", 1.5),
        ("random anchors", None),
        ("random anchors", 3),
        ("the exact search", None),
        ("the exact search", None),
    ]
    pairs = [(OURS, ENSEMBLE), (OURS, RANDOM), (OURS, RANDOM), *[(APPROXIMATE, EXACT)] * 2]
    assert [set(r.parts) for r in found] == [set(pair) for pair in pairs]
    assert all(seconds > 0 for r in found for seconds in r.parts.values())
    assert "100 training rows" in found[0].what


def test_all_models_have_the_same_members_and_refined_means():
    for model in neighbours._make_models(3).values():
        assert (model.n_members, model.refine_mean, model.max_iter) == (5, True, 3)


def test_the_searches_are_left_out_without_faiss(monkeypatch, caplog):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = neighbours.measure(quick=True)
    assert {r.against for r in found} == {"the deep ensemble", "random anchors"}
    assert "Left out: approximate search. faiss is not installed." in caplog.text
