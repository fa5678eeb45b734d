import pytest

from benchmarks_uci.speed import importing


def test_statement_runs_in_a_new_interpreter():
    assert importing.import_seconds("time.sleep(0.2)") >= 0.2


def test_measurement_is_the_difference(monkeypatch):
    seconds = {"import sk_deltauq": 1.5, "import torch, sklearn, skorch": 1.4}
    monkeypatch.setattr(importing, "import_seconds", seconds.get)
    [result] = importing.measure(quick=True)
    assert result.value == pytest.approx(0.1)
    assert result.met
