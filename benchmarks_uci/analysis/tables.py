"""Tables of scores, as plain text or Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import floor, isfinite, isnan, log10

import pandas as pd
from tabulate import tabulate

from benchmarks_uci.analysis.frame import rank, select_complete, summarise
from benchmarks_uci.engine.study import Metric, Study

FORMATS = {"plain": "simple", "markdown": "markdown", "html": "html"}  # the latter: tabulate's
# What Markdown would interpret; not an underscore inside a name, nor a bracket without a link.
MARKDOWN = re.compile(r"[\\|*<&`]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[:]")
AVERAGE_RANK = "average rank"


@dataclass(frozen=True)
class Table:
    """Text in rows and columns."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    bold: set[tuple[int, int]] = field(default_factory=set)  # row and column of the bold cells
    n_left: int = 1  # number of left-aligned columns; the others hold numbers

    def render(self, fmt: str = "plain") -> str:
        """Return the table without its title, in one of `FORMATS`; only Markdown has bold."""
        if fmt == "markdown":
            rows = [
                [
                    f"**{escape(cell)}**" if (i, j) in self.bold else escape(cell)
                    for j, cell in enumerate(row)
                ]
                for i, row in enumerate(self.rows)
            ]
            return write_pipes([escape(header) for header in self.headers], rows, self.n_left)
        sides = ["left"] * self.n_left + ["right"] * (len(self.headers) - self.n_left)
        return tabulate(
            self.rows,
            self.headers,
            FORMATS[fmt],
            disable_numparse=True,
            colalign=sides if self.rows else None,
        )


def write_pipes(headers: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> str:
    """Write a Markdown table of cells that are Markdown already."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    rule = [
        ":" + "-" * (max(width, 3) - 1) if j < n_left else "-" * (max(width, 3) - 1) + ":"
        for j, width in enumerate(widths)
    ]
    lines = [
        [
            cell.ljust(max(width, 3)) if j < n_left else cell.rjust(max(width, 3))
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in (headers, rule, *rows)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape(text: str) -> str:
    """Escape text so that Markdown shows it as it is, on one line."""
    return MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


def write_bullets(items: Sequence[str]) -> str:
    """Write a Markdown list of plain texts."""
    return "\n".join(f"- {escape(item)}" for item in items)


def format_value(mean: float, error: float, metric: Metric, sign: str = "") -> str:
    """Return mean ± standard error with the digits of the metric; no error if it is missing."""
    decimals = metric.decimals
    if decimals is None:  # three significant digits of the mean
        decimals = max(0, 2 - floor(log10(abs(mean)))) if mean and isfinite(mean) else 3
    text = f"{mean:{sign}.{decimals}f}"
    return text if isnan(error) else f"{text} ± {error:.{decimals}f}"


def format_range(numbers: Iterable[int]) -> str:
    """Write the smallest and the largest number: "3", or "3 to 10"; nothing for no number."""
    ordered = sorted(numbers)
    return " to ".join(map(str, dict.fromkeys([*ordered[:1], *ordered[-1:]])))


def format_cells(found: pd.DataFrame, metric: Metric) -> dict[tuple[str, str], str]:
    """Return mean ± standard error for each data set and method, and what is missing from it."""
    texts = {}
    for (data, method), cell in found.to_dict("index").items():  # pyright: ignore
        n, n_failed = int(cell["n"]), int(cell["n_failed"])
        text = f"failed ({n_failed})" if n_failed else "-"
        if n:
            text = format_value(cell["mean"], cell["error"], metric)
            if not cell["complete"]:
                failed = f", {n_failed} failed" if n_failed else ""
                text += f" ({n}/{int(cell['n_splits'])}{failed})"
        texts[data, method] = text
    return texts


def select(found: pd.DataFrame, column: str) -> set:
    """Return the keys (data, method) with a true value in a column."""
    return {key for key, value in found[column].to_dict().items() if value}


def score_table(run: pd.DataFrame, study: Study, metric_name: str) -> Table:
    """Sets by methods of one run, with published figures beside them.

    Below, where they say something: average ranks, and the cost of one split of every set.
    """
    protocol, metric = run["protocol"].iloc[0], study.metrics[metric_name]
    found = summarise(run, metric)
    texts, best = format_cells(found, metric), select(found, "best")
    average = pd.Series(rank(found).mean()).to_dict()
    sums = _sum_costs(run, study)
    is_default = metric_name == next(iter(study.metrics))
    published = {c.method: c for c in study.published(protocol) if c.method and is_default}
    sets, headers, columns, bold = sorted(set(run["data"])), ["data"], [], set()
    for method in run["method"].cat.categories:
        bold |= {(i, len(headers)) for i, data in enumerate(sets) if (data, method) in best}
        if method in average and average[method] == min(average.values()):
            bold.add((len(sets), len(headers)))
        headers.append(method)
        scores = [texts[data, method] for data in sets]
        columns.append([*scores, _figure(average.get(method)), _figure(sums.get(method))])
        if method in published:
            headers.append(published[method].title)
            values = published[method].values
            columns.append([*(_figure(values.get(d)) for d in (*sets, AVERAGE_RANK)), ""])
    costs = [f"{study.metrics[name].title}, all sets" for name in study.costs[:1]]
    rows = [list(row) for row in zip([*sets, AVERAGE_RANK, *costs], *columns, strict=False)]
    left_out = {AVERAGE_RANK} if metric.loss is None else set()
    left_out |= {*costs} if metric_name in study.costs else set()
    rows = [row for row in rows if row[0] not in left_out]
    preset = run["preset"].iloc[0]
    return Table(f"{metric.title}, {protocol}, preset {preset}", headers, rows, bold)


def tabulate_sets(run: pd.DataFrame, study: Study, metric_names: Sequence[str]) -> list[Table]:
    """Return one table per set: methods by scores."""
    metrics = [study.metrics[name] for name in metric_names]
    found = [summarise(run, metric) for metric in metrics]
    texts = [format_cells(*pair) for pair in zip(found, metrics, strict=True)]
    best = [select(summary, "best") for summary in found]
    ran = select(found[0], "n_run")
    tables = []
    for data in sorted(set(run["data"])):
        keys = [(data, m) for m in run["method"].cat.categories if (data, m) in ran]
        rows = [[method, *(text[data, method] for text in texts)] for data, method in keys]
        bold = {
            (i, j)
            for i, key in enumerate(keys)
            for j, best_keys in enumerate(best, start=1)
            if key in best_keys
        }
        tables.append(Table(data, ["method", *(metric.title for metric in metrics)], rows, bold))
    return tables


def overview(run: pd.DataFrame, study: Study) -> Table:
    """Return one table of all sets, one row per set and method: what a run prints at its end."""
    rows, bold, headers = [], set(), []
    for table in tabulate_sets(run, study, study.overview):
        headers = ["data", *table.headers]
        bold |= {(i + len(rows), j + 1) for i, j in table.bold}
        rows += [[table.title if i == 0 else "", *row] for i, row in enumerate(table.rows)]
    protocol, preset = run[["protocol", "preset"]].iloc[0]
    return Table(f"{protocol}, preset {preset}", headers, rows, bold, n_left=2)


def _sum_costs(run: pd.DataFrame, study: Study) -> dict[str, float]:
    """Sum the mean cost of a task over the sets, for methods that finished every split."""
    if not study.costs:
        return {}
    means = select_complete(summarise(run, study.metrics[study.costs[0]]))
    return {str(method): column.sum(skipna=False) for method, column in means.items()}


def _figure(value: float | None) -> str:
    return "-" if value is None or isnan(value) else f"{value:.2f}"
