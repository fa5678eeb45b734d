"""Sections of the report that only this study has: counts against the goals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import make_frame, select_complete, split_runs, summarise
from benchmarks_uci.analysis.page import tabulate_run
from benchmarks_uci.analysis.paired import format_p, signed_rank_test
from benchmarks_uci.analysis.tables import Table, escape, format_cells, format_range, write_bullets
from benchmarks_uci.engine.records import read
from benchmarks_uci.optimisation import cost
from benchmarks_uci.optimisation.methods import REFERENCE
from benchmarks_uci.optimisation.problems import LARGE, PAPER
from benchmarks_uci.optimisation.study import STUDY, read_published

RESULTS = Path(__file__).parents[1] / "results" / "optimisation"


def write_committed() -> str:
    """Write the table of the committed searches, and how to read it, as Markdown."""
    run = read_committed([*PAPER])
    if run.empty:
        return "No searches are committed yet. The command above runs them."
    table, explained = tabulate_run(run, STUDY, "auc")
    parts = [table.render("markdown"), *map(escape, explained)]
    return "\n\n".join([*parts, *write_sections(run, run["protocol"].iloc[0])])


def write_large() -> str:
    """Write the committed searches with many evaluations and parameters, as Markdown."""
    run = read_committed([*LARGE])
    if run.empty:
        return "No large searches are committed yet. The command above runs them."
    metrics = [STUDY.metrics[name] for name in ("auc", "step_seconds")]
    auc, seconds = (format_cells(summarise(run, metric), metric) for metric in metrics)
    methods = [str(method) for method in run["method"].cat.categories]
    rows = [
        [
            data,
            *(f"{auc[data, m]} ({seconds[data, m]} s)".replace("- (- s)", "-") for m in methods),
        ]
        for data in sorted(set(run["data"]))
    ]
    table = Table("AUC (seconds per step)", ["data", *methods], rows)
    caption = f"{escape(table.title)}:"
    lines = [line for method in ("plain", "gp") for line in _compare_cost(run, method)]
    return "\n\n".join([caption, table.render("markdown"), write_bullets(lines)])


def read_committed(data: list[str]) -> pd.DataFrame:
    """Read the committed searches of some functions; no rows if there are none."""
    path = RESULTS / "search-default.csv"
    records = [r for r in read(path, STUDY) if r["data"] in data] if path.exists() else []
    frame = make_frame(records, STUDY)
    return next((run for _, run in split_runs(frame)), frame)


def write_cost() -> str:
    """Write the table of the committed costs of a step as Markdown."""
    costs = cost.read(RESULTS / "cost" / "hartmann-6.csv")
    if not costs:
        return "No measurements are committed yet. The command below makes them."
    return cost.tabulate(costs).render("markdown")


def write_sections(run: pd.DataFrame, protocol: str) -> list[str]:
    """Write how Delta-UQ compares with each method, and with the paper's column."""
    run = run.loc[run["data"].isin(list(PAPER))]
    means = select_complete(summarise(run, STUDY.metrics["auc"]))
    if means.reindex(columns=[REFERENCE]).isna().to_numpy().all():
        return []
    lines = [_describe_means(run, means), *_compare(run), *_compare_with_paper(means)]
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


def _compare(run: pd.DataFrame) -> list[str]:
    """For each method, count the functions on which Delta-UQ is better, and test over them."""
    lines = []
    for method in run["method"].cat.categories.drop(REFERENCE):
        pairs, n_designs = pair_methods(run, "auc", method)
        if not len(pairs):
            continue
        differences = (pairs[REFERENCE] - pairs[method]).to_numpy()
        p = format_p(signed_rank_test(differences)) or "no test"
        title = STUDY.methods[method].title if method in STUDY.methods else method
        lines.append(
            f"Better than {title} on {np.sum(differences > 0)} of "
            f"{len(pairs)} functions, mean difference {differences.mean():+.3f} ({p}, Wilcoxon "
            f"over functions; starting designs of both: {n_designs})."
        )
    return lines


def _compare_cost(run: pd.DataFrame, method: str) -> list[str]:
    """Compare Delta-UQ with another method: AUC, and seconds of a step."""
    if not {REFERENCE, method} <= {*run["method"]}:
        return []
    title, reference = STUDY.methods[method].title, STUDY.methods[REFERENCE].title
    auc, n_designs = pair_methods(run, "auc", method)
    seconds, _ = pair_methods(run, "step_seconds", method)
    differences = auc[REFERENCE] - auc[method]
    ratio = np.exp(np.mean(np.log(seconds[method] / seconds[REFERENCE])))
    return [
        f"{reference} has a higher AUC than {title} on {np.sum(differences > 0)} of {len(auc)} "
        f"functions that both finished (starting designs: {n_designs}), mean difference "
        f"{differences.mean():+.3f}. A step of {title} takes {ratio:.1f} times as long "
        "(geometric mean).",
    ]


def pair_methods(run: pd.DataFrame, score: str, method: str) -> tuple[pd.DataFrame, str]:
    """Return means of Delta-UQ and a method over the designs that both finished.

    The rows are the functions. The number of designs is a text: it may differ between functions.
    """
    rows = run[(run["score"] == score) & run["method"].isin([REFERENCE, method])]
    wide = rows.pivot_table("value", ["data", "split"], "method", observed=True)
    both = wide.reindex(columns=[REFERENCE, method]).dropna()
    n_designs = format_range(len(designs) for _, designs in both.groupby("data"))
    return pd.DataFrame(both.groupby("data").mean()), n_designs


def _compare_with_paper(means: pd.DataFrame) -> list[str]:
    """Count the functions on which Delta-UQ reaches the paper's Delta-UQ."""
    (column,) = [c for c in read_published() if c.method == REFERENCE]
    pairs = pd.DataFrame({"ours": means[REFERENCE], "paper": column.values}).dropna()
    reached = (pairs["ours"].round(2) >= pairs["paper"]).sum()
    return [f"At or above the paper's Delta-UQ column on {reached} of {len(pairs)} functions."]
