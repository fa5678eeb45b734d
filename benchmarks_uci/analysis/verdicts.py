"""Goals that were set before the measurements, beside what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks_uci.analysis.tables import Table


@dataclass(frozen=True)
class Verdict:
    """One goal, in words, and what was measured."""

    run: str  # a protocol, or a part of a study
    goal: str
    measured: str
    is_reached: bool


def count_sets(
    run: str,
    goal: str,
    values: Mapping[str, Any],
    reaches: Callable[[Any], bool],
    *,
    least: int | None = None,
    spec: str | None = None,
) -> Verdict:
    """Count the data sets whose value reaches a goal, and name the others.

    `least` is the number of data sets that must reach the goal, None for all. With a format
    `spec`, the values of the others stand beside their names.
    """
    missed = {data: value for data, value in values.items() if not reaches(value)}
    n, n_sets = len(values) - len(missed), len(values)
    names = [f"{d} {v:{spec}}" if spec else d for d, v in missed.items()]
    measured = f"{n} of {n_sets}" + (f"; not {', '.join(names)}" if names else "")
    return Verdict(run, goal, measured, n >= (n_sets if least is None else least))


def tabulate_verdicts(verdicts: Iterable[Verdict]) -> Table:
    """One row per goal."""
    rows = [[v.run, v.goal, v.measured, "yes" if v.is_reached else "no"] for v in verdicts]
    headers = ["run", "goal", "measured", "reached"]
    return Table("Goals", headers, rows, n_left=len(headers))
