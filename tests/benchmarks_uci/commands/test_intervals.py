import importlib.util

import pytest

from benchmarks_uci.csv_files import read_scores
from benchmarks_uci.intervals import choice, conformal

MODULES = {"choice": choice, "conformal": conformal}


@pytest.fixture(params=MODULES)
def command(request, monkeypatch):
    """A command whose problems need no time."""
    module = MODULES[request.param]
    record = {"data": "toy", "seed": 0, "method": "ours", "coverage": 0.9, "score": 1.5}
    if module is conformal:
        record |= {"worst_slab": 0.8, "narrow": 0.9, "wide": 0.95, "width": 1.0}
    monkeypatch.setattr(module, "get_problems", lambda sources: {"toy": None})
    monkeypatch.setattr(module, "measure", lambda *args: [record])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "found")
    return request.param


def test_scores_are_shown_and_written(invoke, command, tmp_path):
    path = tmp_path / "scores.csv"
    result = invoke(command, "--out", str(path))
    assert result.exit_code == 0, result.output
    assert "| toy" in result.stdout
    assert read_scores(path)[0]["score"] == "1.5"
    assert invoke(command).stdout == result.stdout


def test_a_missing_package_is_named_before_anything_is_fitted(invoke, command, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = invoke(command)
    assert result.exit_code == 1
    assert "this comparison needs mapie" in result.stderr
    assert "external" in result.stderr


@pytest.mark.parametrize("name", MODULES)
def test_missing_data_are_named_before_anything_is_fitted(invoke, name, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "found")
    monkeypatch.setattr(MODULES[name], "measure", lambda *args: pytest.fail("fitted"))
    result = invoke(name, "--data-dir", str(tmp_path))
    assert result.exit_code == 3
    assert "Traceback" not in result.output
    assert "boston" in result.stderr
