"""Delta-UQ beside all that the literature has for the same splits, whether we run it or not."""

from __future__ import annotations

from benchmarks_uci.report.cells import Cell, cells
from benchmarks_uci.report.grouping import OURS, methods, sets, the_run
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.reference import Published, published
from benchmarks_uci.report.tables import Table


def literature_table(records: list[dict]) -> Table:
    """Sets by columns: NLL of Delta-UQ, then the published figures for the splits of this run.

    There are no rows where nobody has published any.
    """
    protocol, preset = the_run(records)
    title = f"NLL beside the literature, {protocol}, preset {preset}"
    columns, ours, names = _published(protocol), _ours(records), sets(records)
    if not columns:
        return Table(title, ["data"], [])
    rows = [
        [
            data,
            *(found[data].text(METRICS["nll"]) for found in ours.values()),
            *(f"{c.nll[data]:.2f}" if data in c.nll else "-" for c in columns),
        ]
        for data in names
    ]
    return Table(title, ["data", *ours, *(_name(column) for column in columns)], rows)


def literature_counts(records: list[dict]) -> list[str]:
    """A sentence for each of ours and each published column: on how many sets ours is lower."""
    protocol, _ = the_run(records)
    lines = []
    for method, found in _ours(records).items():
        done = {data: cell.mean for data, cell in found.items() if cell.complete}
        for column in _published(protocol):
            common = sorted(done.keys() & column.nll.keys())
            lower = [data for data in common if done[data] < column.nll[data]]
            line = (
                f"{method}: lower NLL than {_name(column)} on {len(lower)} of {len(common)} sets"
            )
            higher = [data for data in common if data not in lower]
            lines.append(f"{line}; not on {', '.join(higher)}." if higher else f"{line}.")
    return lines


def _ours(records: list[dict]) -> dict[str, dict[str, Cell]]:
    found = cells(records, METRICS["nll"])
    own = [method for method in methods(records) if method.startswith(OURS)]
    return {method: {data: found[data, method] for data in sets(records)} for method in own}


def _published(protocol: str) -> list[Published]:
    return [column for column in published() if column.protocol == protocol]


def _name(column: Published) -> str:
    return column.title.removesuffix(f", {column.protocol}")
