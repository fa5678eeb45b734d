"""Tables of scores, as plain text, Markdown or HTML."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass, field

from tabulate import tabulate

from benchmarks_uci.report.cells import average_ranks, best, cells
from benchmarks_uci.report.grouping import grouped, methods, sets, the_run
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.reference import AVERAGE_RANK, beside

FORMATS = ("plain", "markdown", "html")
TABULATE_FORMATS = {"plain": "simple", "markdown": "pipe", "html": "unsafehtml"}
# What Markdown would read: not an underscore inside a name, nor a bracket that begins no link.
MARKDOWN = re.compile(r"[\\|*<&`]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[:]")
RANK, SECONDS = "average rank", "fit seconds, all sets"
SUMMARY = ("nll", "rmse", "crps", "coverage", "width", "fit_seconds")


@dataclass(frozen=True)
class Table:
    """Text in rows and columns.

    Attributes
    ----------
    title : str
    headers : list of str
    rows : list of list of str
    bold : set of (int, int)
        Row and column of the cells to stress.
    n_left : int
        How many columns are aligned to the left; the others, with numbers, to the right.
    """

    title: str
    headers: list[str]
    rows: list[list[str]]
    bold: set[tuple[int, int]] = field(default_factory=set)
    n_left: int = 1

    def render(self, fmt: str = "plain") -> str:
        """The table without its title, in one of `FORMATS`; plain text has no bold."""
        if fmt not in FORMATS:
            raise ValueError(f"fmt should be one of {', '.join(FORMATS)}; got {fmt!r}")
        escape = {"plain": str, "markdown": escape_markdown, "html": html.escape}[fmt]
        mark = {"plain": "{}", "markdown": "**{}**", "html": "<b>{}</b>"}[fmt]
        rows = [
            [
                mark.format(escape(cell)) if (i, j) in self.bold else escape(cell)
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(self.rows)
        ]
        sides = ["left"] * self.n_left + ["right"] * (len(self.headers) - self.n_left)
        return tabulate(
            rows,
            [escape(header) for header in self.headers],
            TABULATE_FORMATS[fmt],
            disable_numparse=True,
            colalign=sides if rows else None,
        )


def score_table(records: list[dict], metric: str = "nll") -> Table:
    """Sets by methods of one protocol and preset, published figures beside them.

    Below, where they say something: average ranks, and the seconds to fit one split of every set.
    """
    protocol, preset = the_run(records)
    shown = METRICS[metric]
    found = cells(records, shown)
    names = sets(records)
    winners, average = best(found, shown), average_ranks(found, shown)
    seconds = _seconds_of_all_sets(records)
    published = beside(protocol, metric)
    headers, columns, bold = ["data"], [], set()
    for method in methods(records):
        bold |= {(i, len(headers)) for i, d in enumerate(names) if (d, method) in winners}
        if average and average.get(method) == min(average.values()):
            bold.add((len(names), len(headers)))
        headers.append(method)
        scores = [found[data, method].text(shown) for data in names]
        columns.append([*scores, _figure(average.get(method)), _figure(seconds.get(method))])
        if method in published:
            headers.append(published[method].title)
            figures = [published[method].nll.get(d) for d in (*names, AVERAGE_RANK)]
            columns.append([*map(_figure, figures), ""])
    rows = [list(row) for row in zip([*names, RANK, SECONDS], *columns, strict=True)]
    left_out = {RANK} if shown.loss is None else set()
    left_out |= {SECONDS} if metric.endswith("_seconds") else set()
    rows = [row for row in rows if row[0] not in left_out]
    return Table(f"{shown.title}, {protocol}, preset {preset}", headers, rows, bold)


def all_metrics(records: list[dict], metrics: tuple[str, ...] = tuple(METRICS)) -> list[Table]:
    """One table a set: methods by scores."""
    the_run(records)
    return [
        Table(data, *_by_method(of_set, metrics, first=[]))
        for (data,), of_set in grouped(records, "data").items()
    ]


def summary(records: list[dict], metrics: tuple[str, ...] = SUMMARY) -> Table:
    """All sets in one table, one row a set and method: what a run prints when it ends."""
    protocol, preset = the_run(records)
    rows, bold, headers = [], set(), []
    for (data,), of_set in grouped(records, "data").items():
        headers, new, stressed = _by_method(of_set, metrics, first=[data])
        bold |= {(i + len(rows), j) for i, j in stressed}
        rows += new
    return Table(f"{protocol}, preset {preset}", headers, rows, bold, n_left=2)


def _by_method(of_set: list[dict], metrics: tuple[str, ...], first: list[str]):
    """Headers, rows and bold cells of one set; `first` begins the first row, blank below."""
    [data] = sets(of_set)
    names = methods(of_set)
    rows = [[*(first if i == 0 else [""] * len(first)), name] for i, name in enumerate(names)]
    headers, bold = [*(["data"] if first else []), "method"], set()
    for name in metrics:
        found = cells(of_set, METRICS[name])
        winners = best(found, METRICS[name])
        bold |= {(i, len(headers)) for i, m in enumerate(names) if (data, m) in winners}
        headers.append(METRICS[name].title)
        for row, method in zip(rows, names, strict=True):
            row.append(found[data, method].text(METRICS[name]))
    return headers, rows, bold


def _seconds_of_all_sets(records: list[dict]) -> dict[str, float]:
    """Sum over the sets of the mean seconds of a fit, for methods that have done every split."""
    found = cells(records, METRICS["fit_seconds"])
    by_method = defaultdict(list)
    for (_, method), cell in found.items():
        by_method[method].append(cell)
    return {
        method: sum(cell.mean for cell in of_method)
        for method, of_method in by_method.items()
        if all(cell.complete for cell in of_method)
    }


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def escape_markdown(text: str) -> str:
    """Text as it is, whatever stands in it, on one line."""
    return MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))
