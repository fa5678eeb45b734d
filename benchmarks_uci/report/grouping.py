"""Names, orders and groups of records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from benchmarks_uci.task import task_of

OURS, FIVE = "deltauq", "deltauq-5"


def in_order(records: Iterable[dict]) -> list[dict]:
    """The records sorted by task."""
    return sorted(records, key=task_of)


def by_run(records: Iterable[dict]) -> dict[tuple[str, str], list[dict]]:
    """Records by (protocol, preset), sorted: what one table may show together."""
    return grouped(records, "protocol", "preset")


def grouped(records: Iterable[dict], *fields: str) -> dict[tuple, list[dict]]:
    """Records by their values of some fields, sorted by task."""
    groups = defaultdict(list)
    for record in in_order(records):
        groups[tuple(record[field] for field in fields)].append(record)
    return dict(groups)


def the_run(records: list[dict]) -> tuple[str, str]:
    """Protocol and preset, which all records must share, or a `ValueError`."""
    runs = list(by_run(records))
    if len(runs) != 1:
        raise ValueError(f"one table is of one protocol and preset, got {runs or 'no records'}")
    return runs[0]


def ours(records: Iterable[dict]) -> str:
    """What others are compared with: Delta-UQ, with five members where that was run."""
    return FIVE if any(record["method"] == FIVE for record in records) else OURS


def sets(records: Iterable[dict]) -> list[str]:
    """Names of the sets, sorted."""
    return sorted({record["data"] for record in records})


def methods(records: Iterable[dict]) -> list[str]:
    """Names of the methods: Delta-UQ and its variants first, then the others by name."""
    names = {record["method"] for record in records}
    return sorted(names, key=lambda name: (not name.startswith(OURS), name))
