"""Figures of a report."""

from __future__ import annotations

from math import ceil

import numpy as np

from benchmarks_uci.figures import new_figure
from benchmarks_uci.report.cells import cells, ranks
from benchmarks_uci.report.grouping import FIVE, OURS, grouped, methods, the_run
from benchmarks_uci.report.metrics import METRICS

LEVELS = np.arange(1, 20) / 20


def calibration_plot(records: list[dict]):
    """Observed frequency against level of the predictive quantiles, one panel a set.

    A method on the diagonal is calibrated. Returns a `matplotlib.figure.Figure`, or None if no
    task is done.
    """
    protocol, preset = the_run(records)
    done = [record for record in records if record.get("quantile_frequencies")]
    if not done:
        return None
    panels = grouped(done, "data")
    n_columns = min(3, len(panels))
    n_rows = ceil(len(panels) / n_columns)
    figure = new_figure(3 * n_columns + 1.6, 2.8 * n_rows + 0.5)
    axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    styles = _styles(methods(records))
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis, ((data,), of_set) in zip(axes.flat, panels.items(), strict=False):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
        groups = grouped(of_set, "method")
        for method in methods(of_set):
            curves = [record["quantile_frequencies"] for record in groups[(method,)]]
            axis.plot(LEVELS, np.mean(curves, axis=0), label=method, **styles[method])
        axis.set(title=data, xlim=(0, 1), ylim=(0, 1), aspect="equal")
    figure.supxlabel("level of the predictive quantile")
    figure.supylabel("part of the targets below it")
    figure.suptitle(f"Calibration, {protocol}, preset {preset}")
    handles = {}
    for axis in axes.flat:
        handles.update({line.get_label(): line for line in axis.lines[1:]})
    names = [name for name in styles if name in handles]
    figure.legend([handles[name] for name in names], names, loc="outside right upper")
    return figure


def rank_plot(records: list[dict], metric: str = "nll"):
    """Rank of each method on each set, and its average; None with fewer than two ranked."""
    protocol, preset = the_run(records)
    found = ranks(cells(records, METRICS[metric]), METRICS[metric])
    if not found:
        return None
    order = sorted(found, key=lambda name: -np.mean(list(found[name].values())))
    figure = new_figure(6.4, 0.4 * len(order) + 1.4)
    axis = figure.subplots()
    for height, method in enumerate(order):
        of_method = np.array(list(found[method].values()))
        places, counts = np.unique(of_method, return_counts=True)
        # The area of a dot is the number of sets with that rank.
        axis.scatter(places, np.full(len(places), height), s=25 * counts, color="0.75", zorder=1)
        colour = "C3" if method.startswith(OURS) else "C0"
        axis.plot(of_method.mean(), height, "D", color=colour, zorder=2)
    axis.set_yticks(range(len(order)), order)
    axis.set(
        xlim=(0.5, len(order) + 0.5),
        ylim=(-0.6, len(order) - 0.4),
        xticks=range(1, len(order) + 1),
        xlabel=f"rank by {METRICS[metric].title}: sets (dots), average (diamond)",
        title=f"Ranks, {protocol}, preset {preset}",
    )
    return figure


def _styles(names: list[str]) -> dict[str, dict]:
    """Ten colours, then dashed; Delta-UQ in black and thicker."""
    own = FIVE if FIVE in names else OURS
    others = [name for name in names if name != own]
    styles = {own: {"color": "black", "linewidth": 2, "zorder": 3}} if own in names else {}
    for i, name in enumerate(others):
        dashes = ("-", "--", ":")[i // 10 % 3]
        styles[name] = {"color": f"C{i % 10}", "linewidth": 1.2, "linestyle": dashes}
    return styles
