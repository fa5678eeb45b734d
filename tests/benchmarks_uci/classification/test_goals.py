import pytest

from benchmarks_uci.classification.goals import GOALS, Goal, judge, write_goals
from benchmarks_uci.classification.report import STUDIES
from tests.benchmarks_uci.classification.test_report import make_records


@pytest.fixture
def records():
    values = {("wine", "deltauq-5"): 0.1, ("wine", "deepensemble"): 0.2}
    return make_records(STUDIES["shift"], "shift", values, {"sets": [0.9, 1, 0.7, 2]})


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        # The means over two splits are .6 and .7.
        (Goal("shift", "deltauq-5", "nll", at_most=0.7), ("at most 0.7", "0.600", "yes")),
        (Goal("shift", "deltauq-5", "nll", at_most=0.5), ("at most 0.5", "0.600", "no")),
        (Goal("shift", "deltauq-5", "accuracy", at_least=0.5), ("at least 0.5", "0.600", "yes")),
        (
            Goal("shift", "deltauq-5", "ece", at_most=0, against="deepensemble"),
            ("at most the value of deepensemble, 0.700", "0.600", "yes"),
        ),
        (Goal("shift", "deltauq-5", "sets:2", at_least=0.85), ("at least 0.85", "0.700", "no")),
        (Goal("shift", "mlp", "nll", at_most=1), ("at most 1", "-", "not measured")),
    ],
)
def test_a_goal_is_compared_with_the_mean(records, goal, expected):
    assert judge(goal, records) == expected


def test_every_goal_has_a_row(records):
    lines = write_goals({"shift": records}).splitlines()
    assert len(lines) == len(GOALS) + 2
    assert sum("not measured" in line for line in lines) == sum(
        goal.study == "outliers" or goal.method == "deltauq" for goal in GOALS
    )


def test_goals_name_methods_and_scores_of_the_studies():
    for goal in GOALS:
        study = STUDIES[goal.study]
        assert goal.method in study.methods
        assert goal.score in study.metrics or goal.score.startswith("sets:")
        assert (goal.at_most is None) != (goal.at_least is None)
