"""Delta-UQ beside all that the literature has for the same splits, whether we run it or not."""

from __future__ import annotations

from math import inf

from benchmarks_uci.report.cells import Cell, cells
from benchmarks_uci.report.grouping import OURS, methods, sets, the_run
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.reference import Published, published
from benchmarks_uci.report.tables import Table


def literature_table(records: list[dict]) -> Table:
    """Sets by columns: NLL of Delta-UQ, then the published figures for the splits of this run.

    The lowest of a set is in bold, ours only if it has every split. There are no rows where nobody
    has published any.
    """
    protocol, preset = the_run(records)
    title = f"NLL beside the literature, {protocol}, preset {preset}"
    published = _published(protocol)
    if not published:
        return Table(title, ["data"], [])
    columns = {
        method: {
            d: (c.text(METRICS["nll"]), c.mean if c.complete else inf) for d, c in ours.items()
        }
        for method, ours in _ours(records).items()
    }
    columns |= {_name(c): {d: (f"{nll:.2f}", nll) for d, nll in c.nll.items()} for c in published}
    rows, bold = [], set()
    for i, data in enumerate(sets(records)):
        of_set = [column.get(data, ("-", inf)) for column in columns.values()]
        rows.append([data, *(text for text, _ in of_set)])
        lowest = min(nll for _, nll in of_set)
        bold |= {(i, j) for j, (_, nll) in enumerate(of_set, start=1) if nll == lowest < inf}
    return Table(title, ["data", *columns], rows, bold)


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
