"""Variants of one method, one row each: what each gains on each set, and what it costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import summarise
from benchmarks_uci.analysis.paired import compare
from benchmarks_uci.analysis.tables import Table, format_cells, format_value
from benchmarks_uci.engine.study import Metric, Protocol, Study


def has_variants(run: pd.DataFrame, study: Study) -> bool:
    """Say whether a run is about variants: it has some, and the reference that they change."""
    names = set(run["method"])
    return study.references[-1] in names and not names.isdisjoint(study.variants)


def tabulate_variants(run: pd.DataFrame, study: Study, metric_name: str) -> Table:
    """Methods by sets: differences to the reference, which is the first row, and cost ratios.

    The metric must have a better side, a `loss`.
    """
    metric, reference = study.metrics[metric_name], study.references[-1]
    protocol, preset = run["protocol"].iloc[0], run["preset"].iloc[0]
    found = compare(run, metric, reference, study.protocols[protocol].overlapping)
    costs = [study.metrics[name] for name in study.costs]
    ratios = [_compare_costs(run, cost, reference) for cost in costs]
    texts, sets = format_cells(summarise(run, metric), metric), sorted(set(run["data"]))
    rows = [[reference, *(texts[data, reference] for data in sets), "", *("1" for _ in costs)]]
    bold = set()
    known = {**study.methods, **study.variants}
    order = [str(method) for method in run["method"].cat.categories]
    for method in sorted(set(run["method"]) - {reference}, key=order.index):
        here = found[found["method"] == method].set_index("data").reindex(sets)
        clear = here["mean"].abs() > 2 * here["error"]
        bold |= {(len(rows), j + 1) for j in np.flatnonzero(clear & (here["error"] > 0))}
        cells = [_format(*pair, metric) for pair in zip(here["mean"], here["error"], strict=True)]
        # Over all sets or not at all: means over different sets cannot be compared.
        mean = float(here["mean"].to_numpy().mean())
        over_sets = _format(mean, np.nan, metric) if metric.unit_free else ""
        times = ["-" if np.isnan(ratio[method]) else f"{ratio[method]:.2g}" for ratio in ratios]
        title = known[method].title if method in known else method
        rows.append([title, *cells, over_sets, *times])
    name = f"{metric.title} of variants, {protocol}, preset {preset}"
    headers = ["variant", *sets, "mean", *(cost.title for cost in costs)]
    return Table(name, headers, rows, bold)


def explain(protocol: Protocol, reference: str) -> str:
    """Say how to read `tabulate_variants`."""
    corrected = ", corrected for the overlap of random splits (Nadeau and Bengio, 2003)"
    return (
        "First row: mean ± standard error over the splits. Other rows: mean difference to "
        f"{reference} on the same splits ± standard error"
        f"{corrected if protocol.overlapping else ''}; below 0 the variant is better. Bold: "
        "more than two standard errors from 0. Mean: over the sets. Seconds: ratio to the first "
        "row, the geometric mean over the sets."
    )


def _compare_costs(run: pd.DataFrame, cost: Metric, reference: str) -> pd.Series:
    """Return the geometric mean over the common sets of the ratio of mean costs, by method."""
    means = summarise(run, cost)["mean"].unstack("method")
    logs = pd.DataFrame(np.log(means.where(means > 0)))
    return pd.Series(np.exp(logs.sub(logs[reference], axis="index").mean()))


def _format(mean: float, error: float, metric: Metric) -> str:
    return "-" if np.isnan(mean) else format_value(mean, error, metric, "+")
