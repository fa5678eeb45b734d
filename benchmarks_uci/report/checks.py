"""What records must have in common before they may be averaged or compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from benchmarks_uci.task import Task, task_of


class ResultsError(Exception):
    """Results that cannot be read, or that do not belong together."""


def check(records: list[dict]) -> list[dict]:
    """The records as they are, or a `ResultsError` if they are of different experiments.

    One cell of a table is a method on a set: its records must have one `settings_id`. The records
    of a set must have one `data_hash`, and those of a split one `split_hash`, whatever the method:
    the paired tests rely on it.
    """
    tasks = Counter(map(task_of, records))
    twice = [task for task, count in tasks.items() if count > 1]
    if twice:
        raise ResultsError(f"these tasks have more than one record: {_some(twice)}.")
    _must_be_one(
        records,
        "settings_id",
        ("protocol", "preset", "data", "method"),
        "A mean over both would be of neither. Move the results of one of them to a folder of "
        "their own, or run the method again with the settings of today.",
    )
    _must_be_one(
        records,
        "data_hash",
        ("data",),
        "The data are not the same. Move the results of one of them to a folder of their own.",
    )
    _must_be_one(
        records,
        "split_hash",
        ("protocol", "data", "split"),
        "The methods were not tested on the same rows. Run the older results again.",
    )
    return records


def _must_be_one(records: Iterable[dict], field: str, shared: tuple[str, ...], advice: str):
    found = defaultdict(Counter)
    for record in records:
        value = record.get(field)
        if value:  # a task that failed early may not have come so far
            found[tuple(str(record[name]) for name in shared)][value] += 1
    for key, counts in found.items():
        if len(counts) > 1:
            seen = ", ".join(f"{value} ({n} tasks)" for value, n in sorted(counts.items()))
            raise ResultsError(
                f"{'/'.join(key)} ({', '.join(shared)}): mixed results, `{field}` should be one "
                f"and is {seen}. {advice}"
            )


def _some(tasks: list[Task]) -> str:
    more = f" and {len(tasks) - 5} more" if len(tasks) > 5 else ""
    return ", ".join(map(str, sorted(tasks)[:5])) + more
