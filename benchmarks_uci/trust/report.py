"""Tables that compare versions of the package with the goals; fits nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from benchmarks_uci.analysis.tables import escape, write_pipes
from benchmarks_uci.trust import results
from benchmarks_uci.trust.goals import FIGURES, ROWS, SMALL_GOALS, Row
from benchmarks_uci.trust.names import COMPARISON, OURS, SMALL

ABSENT, UNAVAILABLE = "-", "not available"
RIDGE = "BayesianRidge"

Records = list[dict]  # rows of the runner or of a file
Versions = Mapping[str, Records]  # by name, oldest first; goals concern the last one


def read_committed() -> dict[str, Records]:
    """Read the committed results that exist, oldest first."""
    return _read(results.FIRST) | _read(results.NOW)


def read_first() -> dict[str, Records]:
    """Read the committed results of the first version."""
    return _read(results.FIRST)


def write_report(versions: Versions) -> str:
    """Return all tables as Markdown."""
    parts = [write_situations(versions)]
    if all(_select(records, SMALL, COMPARISON) for records in versions.values()):
        parts += [write_small(versions), write_sizes(versions)]
    return "\n\n".join(parts)


def write_situations(versions: Versions) -> str:
    """One row per situation and figure: means over the seeds, with the extremes in brackets."""
    last, rows = [*versions.values()][-1], []
    for row in ROWS:
        texts = [_describe(records, row) for records in versions.values()]
        goal = row.goal.explain() if row.goal else ""
        cells = row.title, FIGURES[row.figure], goal, *texts, _judge(last, row)
        rows.append([escape(cell) for cell in cells])
    headers = ["situation", "figure", "wanted", *versions, "met"]
    return write_pipes(headers, rows, n_left=3)


def write_small(versions: Versions) -> str:
    """Figures of the small data sets, over all cells: a generator, features and rows."""
    columns = [_summarise_small(_select(records, SMALL), records) for records in versions.values()]
    first = next(iter(versions.values()))
    columns.insert(0, _summarise_small(_select(first, SMALL, COMPARISON), first))
    rows = []
    for title, goal in SMALL_GOALS.items():
        met = "yes" if goal.is_met(columns[-1][title]) else "no"
        values = [f"{column[title]:.2f}" for column in columns]
        rows.append([escape(title), escape(goal.explain()), *values, met])
    return write_pipes(["figure", "wanted", RIDGE, *versions, "met"], rows, n_left=2)


def write_sizes(versions: Versions) -> str:
    """Coverage and CRPS of the small data sets by the number of rows."""
    first = next(iter(versions.values()))
    parts = {RIDGE: _select(first, SMALL, COMPARISON)}
    parts |= {name: _select(records, SMALL) for name, records in versions.items()}
    means = {
        f"{title}, {name}": _average_by(part, "n", figure)
        for figure, title in (("coverage", "coverage"), ("crps", "CRPS"))
        for name, part in parts.items()
    }
    sizes = sorted({record["n"] for part in parts.values() for record in part})
    rows = [
        [str(n), *(f"{column[n]:.2f}" if n in column else ABSENT for column in means.values())]
        for n in sizes
    ]
    return write_pipes(["rows", *means], rows)


def _summarise_small(part: Records, records: Records) -> dict[str, float]:
    """Return the figures of `SMALL_GOALS`; a cell is a mean over its seeds."""
    cells = [*_average_by(part, "cell", "coverage").values()]
    ridge = _select(records, SMALL, COMPARISON)
    values = (
        fmean(cells),
        fmean(value < 0.80 for value in cells),
        fmean(value > 0.97 for value in cells),
        min(cells),
        fmean(_column(part, "crps")) / fmean(_column(ridge, "crps")),
    )
    return dict(zip(SMALL_GOALS, values, strict=True))


def _read(path: Path) -> dict[str, Records]:
    return {path.stem.replace("-", " "): results.read(path)} if path.exists() else {}


def _select(records: Records, situation: str, method: str = OURS) -> Records:
    return [r for r in records if (r["situation"], r["method"]) == (situation, method)]


def _column(records: Records, figure: str) -> list[float]:
    return [record[figure] for record in records]


def _average_by(records: Records, key: str, figure: str) -> dict:
    groups = defaultdict(list)
    for record in records:
        groups[record[key]].append(record[figure])
    return {name: fmean(values) for name, values in groups.items()}


def _is_available(records: Records) -> bool:
    return all(record["available"] for record in records)


def _describe(records: Records, row: Row) -> str:
    """Write the mean over the seeds, the extremes, and the number of fits with a warning."""
    part = _select(records, row.situation, row.method)
    if not part:
        return ABSENT
    if not _is_available(part):
        return UNAVAILABLE
    values = _column(part, row.figure)
    mean, low, high = (_format(value) for value in (fmean(values), min(values), max(values)))
    text = f"{mean} ({low} to {high})"
    n_warned = sum(record["warned"] for record in part)
    if not n_warned:
        return text
    return f"{text}, {'warning' if n_warned == len(part) else f'{n_warned} warnings'}"


def _judge(records: Records, row: Row) -> str:
    """Say whether the goal of a row is met; nothing if it has no goal or no figure."""
    part = _select(records, row.situation, row.method)
    if row.goal is None or not part or not _is_available(part):
        return ""
    reference = [0.0]
    if row.goal.relative_to:
        others = _select(records, row.goal.relative_to, row.method)
        if not others:
            return ""
        reference = _column(others, row.figure)
    share_warned, values = fmean(_column(part, "warned")), _column(part, row.figure)
    judged = values if row.goal.of_worst else [fmean(values)]
    met = all(row.goal.is_met(value, fmean(reference), share_warned) for value in judged)
    return "yes" if met else "no"


def _format(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
