"""Sections of the report that only this study has: counts against the goals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import make_frame, select_complete, split_runs, summarise
from benchmarks_uci.analysis.page import main_table
from benchmarks_uci.analysis.paired import format_p, signed_rank_test
from benchmarks_uci.analysis.tables import escape, write_bullets
from benchmarks_uci.engine.records import read
from benchmarks_uci.optimisation import cost
from benchmarks_uci.optimisation.methods import REFERENCE
from benchmarks_uci.optimisation.problems import PAPER
from benchmarks_uci.optimisation.study import STUDY, read_published

RESULTS = Path(__file__).parents[1] / "results" / "optimisation"


def write_committed() -> str:
    """Write the table of the committed searches, and how to read it, as Markdown."""
    path = RESULTS / "search-default.csv"
    if not path.exists():
        return "No searches are committed yet. The command above runs them."
    records = read(path, STUDY)
    [((protocol, _), run)] = split_runs(make_frame(records, STUDY))
    table, explained = main_table(run, STUDY, "auc")
    parts = [table.render("markdown"), *map(escape, explained)]
    return "\n\n".join([*parts, *write_sections(run, protocol)])


def write_cost() -> str:
    """Write the table of the committed costs of a step as Markdown."""
    costs = cost.read(RESULTS / "cost" / "hartmann-6.csv")
    if not costs:
        return "No measurements are committed yet. The command below makes them."
    return cost.tabulate(costs).render("markdown")


def write_sections(run: pd.DataFrame, protocol: str) -> list[str]:
    """Write how Delta-UQ compares with each method, and with the paper's column."""
    means = select_complete(summarise(run, STUDY.metrics["auc"]))
    means = means.loc[means.index.isin(list(PAPER))]
    if REFERENCE not in means or means[REFERENCE].isna().all():
        return []
    lines = [_describe_means(run, means), *_compare(means), *_compare_with_paper(means)]
    return ["### Delta-UQ against the others", write_bullets(lines)]


def _describe_means(run: pd.DataFrame, means: pd.DataFrame) -> str:
    """Name the mean AUC of each method over the functions that all of them finished."""
    common = means.dropna(axis="columns", how="all").dropna()
    n_designs = run["split"].nunique()
    listed = ", ".join(f"{name} {value:.3f}" for name, value in common.mean().items())
    return (
        f"Mean AUC over {len(common)} of the paper's {len(PAPER)} functions, {n_designs} "
        f"starting designs each: {listed}."
    )


def _compare(means: pd.DataFrame) -> list[str]:
    """For each method, count the functions on which Delta-UQ is better, and test over them."""
    lines = []
    for method in means.columns.drop(REFERENCE):
        pairs = (means[REFERENCE] - means[method]).dropna().to_numpy()
        if not len(pairs):
            continue
        p = format_p(signed_rank_test(pairs)) or "no test"
        lines.append(
            f"Better than {STUDY.methods[str(method)].title} on {np.sum(pairs > 0)} of "
            f"{len(pairs)} functions, mean difference {pairs.mean():+.3f} ({p}, Wilcoxon over "
            "functions)."
        )
    return lines


def _compare_with_paper(means: pd.DataFrame) -> list[str]:
    """Count the functions on which Delta-UQ reaches the paper's Delta-UQ."""
    (column,) = [c for c in read_published() if c.method == REFERENCE]
    pairs = pd.DataFrame({"ours": means[REFERENCE], "paper": column.values}).dropna()
    reached = (pairs["ours"].round(2) >= pairs["paper"]).sum()
    return [f"At or above the paper's Delta-UQ column on {reached} of {len(pairs)} functions."]
