"""Variants of Delta-UQ, one a row: what each gains on each set, and what it costs."""

from __future__ import annotations

from math import exp, log

import numpy as np

from benchmarks_uci.report.cells import Cell, cells
from benchmarks_uci.report.grouping import OURS, methods, sets, the_run
from benchmarks_uci.report.metrics import METRICS, Metric
from benchmarks_uci.report.paired import RANDOM_SPLITS, Difference, differences
from benchmarks_uci.report.tables import Table

SECONDS = ("fit_seconds", "predict_seconds")


def of_variants(records: list[dict]) -> bool:
    """Whether the records of a run are to be shown as variants: some are of ablations."""
    # Imported here, as it brings torch, which reading results does without.
    from benchmarks_uci.methods import ABLATIONS

    names = methods(records)
    return OURS in names and any(name in ABLATIONS for name in names)


def variant_table(records: list[dict], metric: str = "nll") -> Table:
    """Methods by sets: differences to Delta-UQ, which is the first row, and ratios of seconds.

    The score must have a better side, a `loss`.
    """
    protocol, preset = the_run(records)
    shown, names = METRICS[metric], sets(records)
    found = {(one.method, one.data): one for one in differences(records, metric, OURS)}
    ours = cells(records, shown)
    seconds = {name: cells(records, METRICS[name]) for name in SECONDS}
    rows = [[OURS, *(ours[data, OURS].text(shown) for data in names), "", "1", "1"]]
    bold = set()
    for method in _in_order(methods(records)):
        if method == OURS:
            continue
        of_method = [found.get((method, data)) for data in names]
        bold |= {(len(rows), j) for j, one in enumerate(of_method, start=1) if _clear(one)}
        mean = _mean(of_method, shown) if shown.unit_free else ""
        ratios = [_ratio(seconds[name], names, method) for name in SECONDS]
        rows.append([_title(method), *(_text(one, shown) for one in of_method), mean, *ratios])
    titles = [METRICS[name].title for name in SECONDS]
    title = f"{shown.title} of variants, {protocol}, preset {preset}"
    return Table(title, ["variant", *names, "mean", *titles], rows, bold)


def explanation(protocol: str) -> str:
    """How to read `variant_table`."""
    corrected = ", corrected for the overlap of random splits (Nadeau and Bengio, 2003)"
    return (
        "First row: mean ± standard error over the splits. Other rows: mean difference to "
        f"{OURS} on the same splits ± standard error"
        f"{corrected if protocol in RANDOM_SPLITS else ''}; below 0, the variant is better. Bold: "
        "more than two standard errors from 0. Mean: over the sets. Seconds: how many times those "
        "of the first row, the geometric mean over the sets."
    )


def _in_order(names: list[str]) -> list[str]:
    """The order in which the harness lists them; 2 anchors come before 10."""
    from benchmarks_uci.methods import ALL

    places = {name: place for place, name in enumerate(ALL)}
    return sorted(names, key=lambda name: places.get(name, len(places)))


def _title(method: str) -> str:
    from benchmarks_uci.methods import ALL

    return ALL[method].title if method in ALL else method


def _clear(one: Difference | None) -> bool:
    return bool(one and one.standard_error and abs(one.mean) > 2 * one.standard_error)


def _text(one: Difference | None, metric: Metric) -> str:
    if one is None:
        return "-"
    decimals = metric.decimals_of(one.mean)
    error = "" if one.standard_error is None else f" ± {one.standard_error:.{decimals}f}"
    return f"{one.mean:+.{decimals}f}{error}"


def _mean(of_method: list[Difference | None], metric: Metric) -> str:
    """Over all sets, or nothing where one is missing: means over other sets do not compare."""
    if None in of_method:
        return "-"
    mean = float(np.mean([one.mean for one in of_method]))
    return f"{mean:+.{metric.decimals_of(mean)}f}"


def _ratio(found: dict[tuple[str, str], Cell], names: list[str], method: str) -> str:
    """Geometric mean over the sets that both have done of the ratio of the mean seconds."""
    pairs = [(found[data, method], found[data, OURS]) for data in names]
    logs = [
        log(cell.mean / ours.mean)
        for cell, ours in pairs
        if cell.values and ours.values and cell.mean > 0 and ours.mean > 0
    ]
    return f"{exp(np.mean(logs)):.2g}" if logs else "-"
