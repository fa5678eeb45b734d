from math import nan

import pytest

from benchmarks_uci.analysis.verdicts import Verdict, count_sets, tabulate_verdicts


@pytest.mark.parametrize(("least", "is_reached"), [(None, False), (2, True), (3, False)])
def test_sets_that_reach_the_goal_are_counted_and_the_others_named(least, is_reached):
    values = {"wine": 0.95, "yacht": 0.9, "naval": 0.456, "energy": nan}
    found = count_sets("gap", "cover", values, lambda v: v >= 0.9, least=least, spec=".2f")
    measured = "2 of 4; not naval 0.46, energy nan"
    assert found == Verdict("gap", "cover", measured, is_reached)


def test_names_stand_alone_without_a_format():
    found = count_sets("gap", "lower", {"wine": -1, "naval": 1}, lambda v: v < 0)
    assert found.measured == "1 of 2; not naval"


def test_no_missed_set_is_named_if_all_reach_the_goal():
    assert count_sets("gap", "lower", {"wine": -1}, lambda v: v < 0).measured == "1 of 1"


def test_table_has_one_row_per_goal():
    table = tabulate_verdicts([Verdict("gap", "a", "1", True), Verdict("tail", "b", "2", False)])
    assert table.rows == [["gap", "a", "1", "yes"], ["tail", "b", "2", "no"]]
