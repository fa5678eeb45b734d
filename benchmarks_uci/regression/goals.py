"""Goals that were set before the runs of the preset refined, beside what was measured.

The goals came from trials on development splits. The lowest published CRPS that we found for the
90/10 splits (EasyUQ, TabResFlow, TDGP, MC dropout) is the goal of `hl90`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan
from pathlib import Path
from statistics import fmean

import pandas as pd

from benchmarks_uci.analysis.frame import make_frame, rank, select_complete, summarise
from benchmarks_uci.analysis.paired import compare
from benchmarks_uci.analysis.tables import Table, format_value
from benchmarks_uci.analysis.verdicts import Verdict, count_sets
from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.regression.study import STUDY

RESULTS = Path(__file__).parents[1] / "results"
FIVE, ONE, ENSEMBLE = "deltauq-5", "deltauq", "deepensemble"
SETS = "boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht"
FIGURES = [
    # Protocol, score, method, whether the goal must be reached, and the goals in the order of SETS
    ("random80", "nll", FIVE, True, (2.34, 2.74, 0.25, -1.37, -7.5, 2.60, 2.40, 0.905, -0.20)),
    ("random80", "nll", FIVE, False, (2.28, 2.65, 0.10, -1.40, -7.8, 2.45, 2.25, 0.89, -0.40)),
    ("random80", "nll", ONE, True, (2.39, 2.82, 0.30, -1.34, -7.2, 2.65, 2.45, 0.92, -0.05)),
    ("hl90", "crps", FIVE, True, (1.553, 2.43, 0.252, 0.0372, 5e-4, 1.933, 1.697, 0.312, 0.354)),
]
LEAST_COVERAGE, COVERAGE = 0.80, (0.88, 0.92)  # of 90 % intervals
MOST_NLL = 10
MOST_SECONDS = 1.5  # times the seconds of the deep ensemble
SIGNIFICANT = 0.05


def read_run(protocol: str, folder: Path = RESULTS) -> pd.DataFrame:
    """Read the committed results of the preset refined in long form."""
    return make_frame(read_compact(folder / f"{protocol}-refined.csv", STUDY), STUDY)


def tabulate_figures(folder: Path = RESULTS) -> Table:
    """One row per set, one column per goal with a figure for each set: goal and measured mean.

    A cell is bold if the goal is reached, and has a dash unless the method has all splits.
    """
    headers, columns, bold = ["set"], [[*SETS]], set()
    runs = {protocol: read_run(protocol, folder) for protocol in {goal[0] for goal in FIGURES}}
    for j, (protocol, score, method, needed, goals) in enumerate(FIGURES, start=1):
        metric = STUDY.metrics[score]
        means = _read_means(runs[protocol], score, method)
        headers.append(
            f"{method}: {metric.title}, {protocol}, {'asked' if needed else 'hoped for'}"
        )
        columns.append([])
        for i, (data, goal) in enumerate(zip(SETS, goals, strict=True)):
            value = means[data]
            measured = "-" if isnan(value) else format_value(value, nan, metric)
            columns[j].append(f"{goal:g} → {measured}")
            if value <= goal:
                bold.add((i, j))
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table("Goals by set", headers, rows, bold)


def judge_all(folder: Path = RESULTS) -> Iterator[Verdict]:
    """Judge the goals that count sets or compare two methods."""
    yield from judge_accuracy("random80", read_run("random80", folder))
    for protocol in ("gap", "tail"):
        yield from judge_extrapolation(protocol, read_run(protocol, folder))


def judge_accuracy(protocol: str, run: pd.DataFrame) -> Iterator[Verdict]:
    """Judge the goals on random splits."""
    yield from _judge_pairs(protocol, _select(run, FIVE, ENSEMBLE))
    ranks = rank(summarise(_select(run, ONE, ENSEMBLE), STUDY.metrics["nll"]))
    one, five = (fmean(ranks[method].tolist()) for method in (ONE, ENSEMBLE))
    goal = "one member has a lower average rank (NLL) than the ensemble"
    yield Verdict(protocol, goal, f"{one:.2f} and {five:.2f}", one < five)
    least, most = COVERAGE
    goal = f"90 % intervals of {FIVE} cover {least} to {most} on all sets"
    coverage = _read_coverage(run)
    yield count_sets(protocol, goal, coverage, lambda v: least <= v <= most, spec=".3f")
    ours, theirs = (sum(_read_means(run, "fit_seconds", m).values()) for m in (FIVE, ENSEMBLE))
    goal = f"fits of all sets take at most {MOST_SECONDS} times the seconds of the ensemble"
    yield Verdict(protocol, goal, f"{ours / theirs:.2f} times", ours / theirs <= MOST_SECONDS)


def _judge_pairs(protocol: str, run: pd.DataFrame) -> Iterator[Verdict]:
    """Compare five members with the deep ensemble, set by set."""
    found = compare(run, STUDY.metrics["nll"], ENSEMBLE, overlapping=True).to_dict("records")
    pairs = {pair["data"]: pair for pair in found}

    def is_lower(pair):
        return pair["mean"] < 0

    def is_clear(pair):
        return pair["p_value"] < SIGNIFICANT

    goal = f"{FIVE}: lower NLL than the ensemble on at least 7 sets"
    yield count_sets(protocol, goal, pairs, is_lower, least=7)
    goal = f"{FIVE}: lower NLL beyond chance on at least 4 sets"
    yield count_sets(protocol, goal, pairs, lambda p: is_lower(p) and is_clear(p), least=4)
    goal = f"{FIVE}: higher NLL beyond chance on no set"
    yield count_sets(protocol, goal, pairs, lambda p: is_lower(p) or not is_clear(p))


def judge_extrapolation(protocol: str, run: pd.DataFrame) -> Iterator[Verdict]:
    """Judge the goals of one protocol whose test rows are out of distribution."""
    for score in ("nll", "crps"):
        ours, theirs = (_read_means(run, score, method) for method in (FIVE, ENSEMBLE))
        differences = {data: ours[data] - theirs[data] for data in ours}
        goal = f"{FIVE}: lower {STUDY.metrics[score].title} than the ensemble on at least 7 sets"
        yield count_sets(protocol, goal, differences, lambda d: d < 0, least=7)
    goal = f"90 % intervals of {FIVE} cover {LEAST_COVERAGE:.2f} or more on at least 8 sets"
    coverage = _read_coverage(run)
    yield count_sets(protocol, goal, coverage, lambda v: v >= LEAST_COVERAGE, least=8, spec=".2f")
    goal = f"NLL of {FIVE} at most {MOST_NLL} nats on all sets"
    nll = _read_means(run, "nll", FIVE)
    yield count_sets(protocol, goal, nll, lambda v: v <= MOST_NLL, spec=".1f")


def _select(run: pd.DataFrame, *methods: str) -> pd.DataFrame:
    chosen = run[run["method"].isin(methods)]
    names = chosen["method"].astype(str)  # without the categories of the other methods
    return chosen.assign(method=pd.Categorical(names, methods, ordered=True))


def _read_means(run: pd.DataFrame, score: str, method: str) -> dict[str, float]:
    """Return the mean over the splits of each set; missing unless the method has all splits."""
    means = select_complete(summarise(run, STUDY.metrics[score]))
    return dict(zip(map(str, means.index), means[method].tolist(), strict=True))


def _read_coverage(run: pd.DataFrame) -> dict[str, float]:
    """Return the mean coverage of five members, with the digits of the tables."""
    return {data: round(v, 3) for data, v in _read_means(run, "coverage", FIVE).items()}
