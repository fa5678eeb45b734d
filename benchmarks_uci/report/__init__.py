"""From records to tables, plots and pages: reads result files, fits nothing, loads no data."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks_uci.report import sentences
from benchmarks_uci.report.checks import ResultsError, check
from benchmarks_uci.report.compact import write_compact
from benchmarks_uci.report.grouping import by_run
from benchmarks_uci.report.records import read
from benchmarks_uci.report.tables import summary

__all__ = ["ResultsError", "by_run", "check", "notes", "read", "table", "write_compact"]


def table(records: Iterable[dict], fmt: str = "plain") -> str:
    """One row a set and method, mean ± standard error over the splits, a table a run."""
    runs = by_run(check(list(records)))
    if not runs:
        return "No results."
    tables = [summary(run) for run in runs.values()]
    if len(tables) == 1:
        return tables[0].render(fmt)
    return "\n\n".join(f"{one.title}\n\n{one.render(fmt)}" for one in tables)


def notes(records: Iterable[dict]) -> str:
    """What the table shows: data, splits, scores, and fits that failed or complained."""
    lines = []
    for (protocol, preset), run in by_run(records).items():
        lines.append(f"Protocol {protocol}, preset {preset}, the same splits for every method.")
        lines += [*sentences.data_lines(run), *sentences.problem_lines(run)]
    return "\n".join([*lines, *([sentences.SCORES] if lines else [])])
