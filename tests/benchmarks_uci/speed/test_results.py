import json

import pytest

from benchmarks_uci.speed.results import (
    Result,
    compute_medians,
    measure_in_turns,
    ratio,
    slow_down,
    speed_up,
    table,
)


@pytest.mark.parametrize(
    ("value", "goal", "at_least", "met"),
    [
        (1.3, 1.4, False, True),
        (1.5, 1.4, False, False),
        (6, 5, True, True),
        (4, 5, True, False),
        (4, None, False, None),
    ],
)
def test_goal_is_a_lower_or_an_upper_bound(value, goal, at_least, met):
    assert Result("fit", "loop", value, "times", goal, at_least).met is met


def test_measure_in_turns_alternates_the_order():
    calls = []
    functions = {name: lambda name=name: calls.append(name) for name in "ab"}
    seconds = measure_in_turns(functions, 3)
    assert calls == list("abbaab")
    assert {name: len(values) for name, values in seconds.items()} == {"a": 3, "b": 3}


def test_ratio_is_computed_within_rounds():
    # In the second round the machine was ten times slower.
    seconds = {"a": [2.0, 20.0, 2.2], "b": [1.0, 10.0, 1.0]}
    assert ratio(seconds, "a", "b") == 2.0
    assert compute_medians(seconds, "a") == {"a": 2.2}


def test_speed_up_and_slow_down_are_inverse():
    seconds = {"ours": [1.0, 2.0], "other": [3.0, 6.0]}
    faster = speed_up("fit", "loop", seconds, "ours", "other", goal=2)
    slower = slow_down("fit", "loop", seconds, "ours", "other", goal=2)
    assert (faster.value, slower.value) == (3, pytest.approx(1 / 3))
    assert faster.parts == slower.parts == {"ours": 1.5, "other": 4.5}
    assert faster.met
    assert slower.met
    assert not speed_up("fit", "loop", seconds, "ours", "other", goal=4).met


def test_a_result_survives_json():
    result = Result("fit", "loop", 1.5, "times", 2, True, {"ours": 0.1}, "ms")
    written = json.loads(json.dumps(result.as_json()))
    assert written["met"] is False
    assert Result.from_json(written) == result


def test_table_shows_goal_and_times():
    rows = [
        Result("predict", "tiling", 6.04, "times faster", 5, True, {"ours": 0.1}),
        Result("difference", "tiling", 1e-15, "", 1e-10),
        Result("fit", "skorch", 2.0, "times faster"),
    ]
    lines = table(rows).splitlines()[2:]
    assert "6.04 times faster  >= 5" in lines[0]
    assert lines[0].split()[-4:] == ["yes", "ours", "0.1", "s"]
    assert "1.0e-15" in lines[1]
    assert lines[2].endswith("2 times faster")
