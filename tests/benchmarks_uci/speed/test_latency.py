import re

import pytest

from benchmarks_uci.speed import latency


def test_milliseconds_and_ratios_of_each_case(monkeypatch):
    monkeypatch.setattr(latency, "N_CALLS", 1)
    found = latency.measure(quick=True)
    assert [(r.unit, r.goal) for r in found] == [
        *[("ms per call", 1), ("times as long", 5)] * 2,
        *[("ms per call", 2), ("times as long", None)] * 2,
    ]
    assert [r.what for r in found[::2]] == [r.what for r in found[1::2]]
    for time, ratio in zip(found[::2], found[1::2], strict=True):
        assert ratio.parts_unit == "ms"
        assert time.value in ratio.parts.values()
        assert "MLPRegressor" in ratio.parts


def test_the_trained_networks_are_named(monkeypatch):
    """With few rows, more networks are trained than members were asked for."""
    monkeypatch.setattr(latency, "N_CALLS", 1)
    pattern = r"predict with std, (.*) of diabetes, (n_members=.) \((.) networks, .* components\)"
    found = [re.fullmatch(pattern, r.what).groups() for r in latency.measure(quick=True)[::2]]
    assert [(size, members) for size, members, _ in found] == [
        *[("1 row", f"n_members={n}") for n in (1, 5)],
        *[("100 rows", f"n_members={n}") for n in (1, 5)],
    ]
    assert all(int(networks) > 1 for *_, networks in found)


def test_seconds_of_a_round_become_milliseconds_of_a_call():
    assert latency.time_per_call({"a": [latency.N_CALLS, 0.5 * latency.N_CALLS]}) == {
        "a": [1000.0, pytest.approx(500.0)]
    }


def test_a_function_is_called_as_often_as_the_time_is_divided():
    calls = []
    latency.repeat(lambda: calls.append(0))
    assert len(calls) == latency.N_CALLS
