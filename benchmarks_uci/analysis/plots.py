"""Figures of a report."""

from __future__ import annotations

from collections import defaultdict
from math import ceil

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import rank, summarise
from benchmarks_uci.engine.study import Study
from benchmarks_uci.figures import make_figure


def plot_curve(records: list[dict], study: Study, name: str):
    """Plot a curve of the study, the mean over the splits, with one panel per data set.

    Returns a `matplotlib.figure.Figure`, or None if no task is done.
    """
    curve, values = study.curves[name], defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.get(name):
            values[record["data"]][record["method"]].append(record[name])
    if not values:
        return None
    n_columns = min(3, len(values))
    n_rows = ceil(len(values) / n_columns)
    figure = make_figure(3 * n_columns + 1.6, 2.8 * n_rows + 0.5)
    axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    styles = _style({method for of_set in values.values() for method in of_set}, study)
    handles = {}
    for axis in axes.flat[len(values) :]:
        axis.set_axis_off()
    for axis, (data, of_set) in zip(axes.flat, sorted(values.items()), strict=False):
        if curve.on_diagonal:
            axis.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
            axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        for method, of_method in of_set.items():
            mean = np.mean(of_method, axis=0)
            [handles[method]] = axis.plot(curve.positions, mean, **styles[method])
        axis.set_title(data)
    figure.supxlabel(curve.x_label)
    figure.supylabel(curve.y_label)
    figure.suptitle(f"{curve.title}, {records[0]['protocol']}, preset {records[0]['preset']}")
    figure.legend([handles[m] for m in styles], [*styles], loc="outside right upper")
    return figure


def plot_ranks(run: pd.DataFrame, study: Study, metric_name: str):
    """Plot the rank of each method on each set, and its average; None if none is ranked."""
    metric = study.metrics[metric_name]
    found = rank(summarise(run, metric))
    if found.empty:
        return None
    order = pd.Series(found.mean()).sort_values(ascending=False, kind="stable")
    figure = make_figure(6.4, 0.4 * len(order) + 1.4)
    axis = figure.subplots()
    for height, (method, average) in enumerate(order.items()):
        places, counts = np.unique(found[method], return_counts=True)
        # The area of a dot is the number of sets with that rank.
        axis.scatter(places, np.full(len(places), height), s=25 * counts, color="0.75", zorder=1)
        colour = "C3" if method in study.references else "C0"
        axis.plot(average, height, "D", color=colour, zorder=2)
    axis.set_yticks(range(len(order)), [str(method) for method in order.index])
    axis.set(
        xlim=(0.5, len(order) + 0.5),
        ylim=(-0.6, len(order) - 0.4),
        xticks=range(1, len(order) + 1),
        xlabel=f"rank by {metric.title}: sets (dots), average (diamond)",
        title=f"Ranks, {run['protocol'].iloc[0]}, preset {run['preset'].iloc[0]}",
    )
    return figure


def _style(names, study: Study) -> dict[str, dict]:
    """Give ten colours, then dashed lines; the reference is black and thicker."""
    own = next((name for name in study.references if name in names), None)
    styles = {own: {"color": "black", "linewidth": 2, "zorder": 3}} if own else {}
    for i, name in enumerate(sorted(name for name in names if name != own)):
        dashes = ("-", "--", ":")[i // 10 % 3]
        styles[name] = {"color": f"C{i % 10}", "linewidth": 1.2, "linestyle": dashes}
    return styles
