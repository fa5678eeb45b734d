"""Goals that were set before the searches, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import pandas as pd

from benchmarks_uci.analysis.paired import format_p, signed_rank_test
from benchmarks_uci.analysis.verdicts import Verdict, count_sets
from benchmarks_uci.csv_files import read_scores
from benchmarks_uci.optimisation import cost, spread
from benchmarks_uci.optimisation.methods import REFERENCE
from benchmarks_uci.optimisation.problems import LARGE, PAPER
from benchmarks_uci.optimisation.report import RESULTS, pair_methods, read_committed
from benchmarks_uci.optimisation.study import read_published

LEAST_AUC = 0.66
LEAST_ABOVE_SOBOL, LEAST_ABOVE_PAPER = 19, 10  # of 20 functions
SIGNIFICANT = 0.05
MOST_SECONDS, N_POINTS = 0.6, 30
TIMES_CHEAPER = {1000: 5, 5000: 50}  # by the number of points
MOST_RATIO = 2
LEAST_SHARE = 0.85
CALIBRATED = "surrogate(calibrated=True)"


def judge_all() -> Iterator[Verdict]:
    """Judge the committed searches, costs and standard deviations."""
    yield from judge_searches(read_committed([*PAPER]))
    yield from judge_large(read_committed([*LARGE]))
    yield from judge_cost(cost.read(RESULTS / "cost" / "hartmann-6.csv"))
    yield from judge_spread(read_scores(spread.COMMITTED))


def judge_searches(run: pd.DataFrame) -> Iterator[Verdict]:
    """Judge the 20 functions of the paper."""
    name = "20 functions"
    pairs = _read_pairs(run, "auc", "sobol")
    mean = fmean(ours for ours, _ in pairs.values())
    goal = f"mean AUC of Delta-UQ at least {LEAST_AUC}"
    yield Verdict(name, goal, f"{mean:.3f}", round(mean, 3) >= LEAST_AUC)
    differences = [ours - theirs for ours, theirs in _read_pairs(run, "auc", "gp").values()]
    p_value = signed_rank_test(differences)
    is_behind = fmean(differences) < 0 and p_value is not None and p_value < SIGNIFICANT
    goal = "mean AUC not below the GP beyond chance"
    measured = ", ".join(filter(None, [f"{fmean(differences):+.3f}", format_p(p_value)]))
    yield Verdict(name, goal, measured, not is_behind)
    goal = f"higher AUC than Sobol points on at least {LEAST_ABOVE_SOBOL} functions"
    yield count_sets(name, goal, pairs, lambda pair: pair[0] > pair[1], least=LEAST_ABOVE_SOBOL)
    (paper,) = (column.values for column in read_published() if column.method == REFERENCE)
    goal = f"at or above the paper's Delta-UQ on at least {LEAST_ABOVE_PAPER} functions"
    differences = {data: round(ours, 2) - paper[data] for data, (ours, _) in pairs.items()}
    yield count_sets(name, goal, differences, lambda d: d >= 0, least=LEAST_ABOVE_PAPER)


def judge_large(run: pd.DataFrame) -> Iterator[Verdict]:
    """Judge the functions with many parameters, where the GP finished."""
    name = "many evaluations"
    pairs, seconds = (_read_pairs(run, score, "gp") for score in ("auc", "step_seconds"))
    goal = "higher AUC per second than the GP, where both finished"
    gains = {
        data: ours / seconds[data][0] - theirs / seconds[data][1]
        for data, (ours, theirs) in pairs.items()
    }
    yield count_sets(name, goal, gains, lambda gain: gain > 0)
    goal = "mean AUC not below the GP, where both finished"
    ours, theirs = (fmean(values) for values in zip(*pairs.values(), strict=True))
    yield Verdict(name, goal, f"{ours:.3f} and {theirs:.3f}", ours >= theirs)


def judge_cost(costs: list[cost.Cost]) -> Iterator[Verdict]:
    """Judge the processor seconds of a step."""
    seconds = {(c.method, c.n_points): c.fit_seconds + c.propose_seconds for c in costs}
    step = seconds[REFERENCE, N_POINTS]
    goal = f"a step with {N_POINTS} points takes at most {MOST_SECONDS} processor seconds"
    yield Verdict("cost", goal, f"{step:.2f}", step <= MOST_SECONDS)
    for n_points, times in TIMES_CHEAPER.items():
        goal = f"a step with {n_points:,} points is {times} times as fast as a step of the GP"
        if ("gp", n_points) in seconds:
            ratio = seconds["gp", n_points] / seconds[REFERENCE, n_points]
            yield Verdict("cost", goal, f"{ratio:.1f} times", ratio >= times)
        else:
            yield Verdict("cost", goal, "the GP was not measured", is_reached=False)


def judge_spread(records: list[dict]) -> Iterator[Verdict]:
    """Judge the standard deviation of the calibrated surrogate on points without noise."""
    calibrated = [r for r in records if r["settings"] == CALIBRATED]
    means = {
        measure: fmean(float(r["value"]) for r in calibrated if r["measure"] == measure)
        for measure in (*spread.FUNCTIONS, spread.SINE)
    }
    share = means.pop(spread.SINE)
    goal = f"{CALIBRATED}: error over epistemic std below {MOST_RATIO}"
    yield count_sets("standard deviation", goal, means, lambda v: v < MOST_RATIO, spec=".2f")
    goal = f"{CALIBRATED}: {spread.SINE}, at least {LEAST_SHARE}"
    yield Verdict("standard deviation", goal, f"{share:.2f}", share >= LEAST_SHARE)


def _read_pairs(run: pd.DataFrame, score: str, method: str) -> dict[str, tuple[float, float]]:
    """Return the means of Delta-UQ and of a method for each function that both finished."""
    pairs, _ = pair_methods(run, score, method)
    means = zip(pairs[REFERENCE].tolist(), pairs[method].tolist(), strict=True)
    return dict(zip(map(str, pairs.index), means, strict=True))
