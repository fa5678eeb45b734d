from types import SimpleNamespace

import pytest

from benchmarks_uci.speed import profile


class Clock:
    """A clock that only `spend` advances."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def spend(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(profile, "time", clock)
    return clock


def test_shares_exclude_inner_parts_and_add_up(clock):
    work = SimpleNamespace(
        inner=lambda: clock.spend(3), outer=lambda: (clock.spend(1), work.inner())
    )

    def function():
        work.outer()
        clock.spend(2)

    found = profile.shares(function, {"outer": (work, "outer"), "inner": (work, "inner")}, 2)
    assert found == pytest.approx({"outer": 1 / 6, "inner": 3 / 6, profile.REST: 2 / 6})


def test_a_method_of_a_class_is_timed_and_restored(clock):
    class Work:
        def __init__(self, seconds):
            self.seconds = seconds

        def run(self, times):
            clock.spend(times * self.seconds)

    before = Work.run
    found = profile.shares(lambda: Work(3).run(2) or clock.spend(4), {"run": (Work, "run")})
    assert found == pytest.approx({"run": 0.6, profile.REST: 0.4})
    assert Work.run is before


def test_measured_shares_add_up():
    found = profile.measure(quick=True)
    for what in {result.against for result in found}:
        values = [result.value for result in found if result.against == what]
        assert sum(values) == pytest.approx(100)
        assert min(values) > 0, what
