import time
from types import SimpleNamespace

import pytest

from benchmarks_uci.speed import profile


def test_shares_are_of_each_part_alone_and_add_up():
    work = SimpleNamespace(
        inner=lambda: time.sleep(0.03), outer=lambda: (time.sleep(0.01), work.inner())
    )

    def function():
        work.outer()
        time.sleep(0.02)

    found = profile.shares(function, {"outer": (work, "outer"), "inner": (work, "inner")}, 2)
    assert sum(found.values()) == pytest.approx(1)
    # 10, 30 and 20 ms, and what a busy machine adds
    assert found["inner"] > found[profile.REST] > found["outer"] > 0.05


def test_a_method_of_a_class_is_taken_and_given_back():
    class Work:
        def __init__(self, seconds):
            self.seconds = seconds

        def run(self, times):
            time.sleep(times * self.seconds)

    before = Work.run
    found = profile.shares(lambda: Work(0.01).run(2), {"run": (Work, "run")})
    assert found["run"] > 0.9
    assert Work.run is before


def test_shares_of_a_prediction_and_of_a_fit():
    found = profile.measure(quick=True)
    for what in {result.against for result in found}:
        values = [result.value for result in found if result.against == what]
        assert sum(values) == pytest.approx(100)
        assert min(values) > 0, what
