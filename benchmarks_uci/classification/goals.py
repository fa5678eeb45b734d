"""Goals that were set before these measurements, beside what was measured.

They were set from trials on seven sets, with other amounts of the shifts.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from benchmarks_uci.analysis.tables import write_pipes
from benchmarks_uci.classification import metrics, outlier_study, shift_study
from benchmarks_uci.classification.report import average_over_sets


@dataclass(frozen=True)
class Goal:
    """A bound on the mean over the sets of one score of one method."""

    study: str
    method: str
    score: str  # a metric, or a position in `metrics.SET_PARTS` with the prefix "sets:"
    at_most: float | None = None
    at_least: float | None = None
    # Another method whose score is the bound, in the direction that is given as 0
    against: str = ""


GOALS = [
    Goal("shift", "deltauq-5", "accuracy", at_least=0.935),
    Goal("shift", "deltauq-5", "nll", at_most=0.20),
    Goal("shift", "deltauq-5", "ece", at_most=0.03),
    Goal("shift", "deltauq-5", "ece", at_most=0, against="deepensemble"),
    Goal("shift", "deltauq-5", "ece_5", at_most=0.15),
    Goal("shift", "deltauq-5", "nll_5", at_most=1.7),
    Goal("shift", "deltauq-5", "brier_5", at_most=0.66),
    Goal("shift", "deltauq", "nll", at_most=0.24),
    Goal("shift", "deltauq", "ece_5", at_most=0.16),
    Goal("shift", "deltauq", "nll_5", at_most=1.85),
    Goal("shift", "deltauq", "nll_5", at_most=0, against="deepensemble"),
    Goal("shift", "deltauq-5", "sets:0", at_least=0.89),
    Goal("shift", "deltauq-5", "sets:0", at_most=0.91),
    Goal("shift", "deltauq-5", "sets:2", at_least=0.85),
    Goal("outliers", "deltauq-5", "auroc_shift", at_least=0.96),
    Goal("outliers", "deltauq-5", "auroc_class", at_least=0.92),
    Goal("outliers", "deltauq-5", "auroc_other", at_least=0.99),
]
_STUDIES = {"shift": shift_study.STUDY, "outliers": outlier_study.STUDY}


def judge(goal: Goal, records: list[dict]) -> tuple[str, str, str]:
    """Return the bound, the measured value and the verdict, as texts."""
    found = _measure(goal, goal.method, records)
    bound = goal.at_most if goal.at_most is not None else goal.at_least
    compare = operator.le if goal.at_most is not None else operator.ge
    sign = "at most" if goal.at_most is not None else "at least"
    text = f"{sign} {bound:g}"
    if goal.against:
        bound = _measure(goal, goal.against, records)
        text = f"{sign} the value of {goal.against}"
        text += "" if bound is None else f", {bound:.3f}"
    if found is None or bound is None:
        return text, "-", "not measured"
    return text, f"{found:.3f}", "yes" if compare(found, bound) else "no"


def write_goals(records: dict[str, list[dict]]) -> str:
    """One row per goal; `records` by study."""
    rows = []
    for goal in GOALS:
        if goal.score.startswith("sets:"):
            title = f"set {metrics.SET_PARTS[_position(goal)]}"
        else:
            title = _STUDIES[goal.study].metrics[goal.score].title
        rows.append([goal.method, title, *judge(goal, records.get(goal.study, []))])
    return write_pipes(["method", "score", "goal", "measured", "reached"], rows, n_left=3)


def _measure(goal: Goal, method: str, records: list[dict]) -> float | None:
    """Return the mean over the sets on which all methods are complete; None if there is none."""
    if not any(record["method"] == method for record in records):
        return None
    means, names = average_over_sets(records, _STUDIES[goal.study])
    if not goal.score.startswith("sets:"):
        return float(means.loc[method, goal.score])  # pyright: ignore
    by_set = {r["data"]: r["sets"] for r in records if r["method"] == method and r.get("sets")}
    values = [by_set[name][_position(goal)] for name in names if name in by_set]
    return float(np.mean(values)) if values else None


def _position(goal: Goal) -> int:
    return int(goal.score.removeprefix("sets:"))
