"""The cost of a step: measurements, and their file."""

import pytest

from benchmarks_uci.optimisation.cost import Cost, measure, read, tabulate, write


@pytest.mark.parametrize("method", ["deltauq", pytest.param("gp", marks=pytest.mark.long)])
def test_methods_learn_the_function(method):
    found = list(measure([30], [method]))
    assert [cost.method for cost in found] == [method]
    assert all(0 < cost.error < 1.5 for cost in found)
    assert all(cost.fit_seconds > 0 < cost.propose_seconds for cost in found)


def test_a_file_and_its_table(tmp_path):
    costs = [Cost("gp", 30, 0.5, 0.25, 0.75), Cost("deltauq", 5000, 3.0, 0.5, 0.1)]
    write(costs, path := tmp_path / "cost.csv")
    assert read(path) == costs
    assert tabulate(costs).rows == [
        ["30", "0.75", "0.750", "-", "-"],
        ["5,000", "-", "-", "3.50", "0.100"],
    ]
    assert read(tmp_path / "none.csv") == []


def test_the_process_is_left_out_where_it_takes_too_long(monkeypatch):
    monkeypatch.setattr("benchmarks_uci.optimisation.cost.MOST_OF_GP", 10)
    assert list(measure([30], ["gp"])) == []
