"""Verdicts on small tables with known means, and on the committed files."""

import csv

import numpy as np
import pytest

from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.optimisation import goals
from benchmarks_uci.optimisation.cost import Cost
from benchmarks_uci.optimisation.problems import PAPER
from benchmarks_uci.optimisation.report import RESULTS
from benchmarks_uci.optimisation.study import STUDY


def make_run(scores):
    """`scores`: AUC and seconds per step of one search, by function and method."""
    records = [
        {
            **{"protocol": "search", "preset": "default", "data": data, "method": method},
            **{"split": 0, "status": "done", "auc": auc, "step_seconds": seconds},
        }
        for (data, method), (auc, seconds) in scores.items()
    ]
    [(_, run)] = split_runs(make_frame(records, STUDY))
    return run


def find(verdicts, part):
    (found,) = (verdict for verdict in verdicts if part in verdict.goal)
    return found


def make_searches(ours, gp, sobol=0.1):
    return make_run(
        {
            (data, method): (auc, 1.0)
            for data in PAPER
            for method, auc in (("deltauq", ours), ("gp", gp), ("sobol", sobol))
        }
    )


@pytest.mark.parametrize(
    ("ours", "gp", "reached"),
    [(0.66, 0.6, [True, True]), (0.65, 0.6, [False, True]), (0.66, 0.7, [True, False])],
)
def test_mean_auc_is_compared_with_the_goal_and_the_gp(ours, gp, reached):
    verdicts = list(goals.judge_searches(make_searches(ours, gp)))
    assert [find(verdicts, part).is_reached for part in ("at least 0.66", "GP")] == reached


def test_functions_above_sobol_points_are_counted():
    run = make_searches(0.7, 0.7)
    worse = run["data"].isin(["branin", "beale"]) & (run["method"] == "deltauq")
    run.loc[worse & (run["score"] == "auc"), "value"] = 0.05
    found = find(goals.judge_searches(run), "Sobol")
    assert found.measured.startswith("18 of 20; not ")
    assert "branin" in found.measured
    assert not found.is_reached


def test_auc_per_second_is_compared_where_both_finished():
    scores = {
        **{("levy-20", "deltauq"): (0.6, 1.0), ("levy-20", "gp"): (0.5, 4.0)},
        **{("ackley-10", "deltauq"): (0.4, 1.0), ("ackley-10", "gp"): (0.9, 2.0)},
        ("lasso-60", "deltauq"): (0.1, 1.0),
    }
    rates, level = goals.judge_large(make_run(scores))
    assert (rates.measured, rates.is_reached) == ("1 of 2; not ackley-10", False)
    assert (level.measured, level.is_reached) == ("0.500 and 0.700", False)


def test_seconds_of_a_step_are_compared():
    costs = [
        Cost("deltauq", 30, 0.3, 0.2, 1.0),
        Cost("deltauq", 1000, 1.0, 1.0, 1.0),
        Cost("gp", 1000, 8.0, 1.0, 1.0),
        Cost("deltauq", 5000, 3.0, 1.0, 1.0),
    ]
    found = [(v.measured, v.is_reached) for v in goals.judge_cost(costs)]
    assert found == [("0.50", True), ("4.5 times", False), ("the GP was not measured", False)]


def test_committed_files_have_all_goals():
    verdicts = list(goals.judge_all())
    with (RESULTS / "search-default.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "deltauq"]
    means = [np.mean([float(r["auc"]) for r in rows if r["data"] == data]) for data in PAPER]
    assert find(verdicts, "at least 0.66").measured == f"{np.mean(means):.3f}"
    with (RESULTS / "spread" / "spread.csv").open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["settings"] == goals.CALIBRATED]
    ratios = {
        name: np.mean([float(r["value"]) for r in rows if r["measure"] == name])
        for name in ("branin", "ackley-4", "hartmann-6")
    }
    found = find(verdicts, "error over epistemic std")
    assert found.measured.startswith(f"{sum(v < 2 for v in ratios.values())} of 3")
