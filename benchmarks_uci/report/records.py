"""Records from files: a results folder with one JSON file a task, or the compact form."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks_uci.report import compact
from benchmarks_uci.report.checks import ResultsError, check
from benchmarks_uci.report.grouping import in_order
from benchmarks_uci.task import TASK_FIELDS, task_of

# Without the leading digits it may be a file that is still being written.
RESULT_FILES = "*/*/*/*/[0-9]*.json"  # protocol/preset/data/method/split.json


def read(path: str | Path) -> list[dict]:
    """All records below a folder, or of one compact CSV file, sorted by task and checked.

    Parameters
    ----------
    path : str or Path
        A results folder of the `run` command, or a folder with the files of `write_compact`, or
        one of its CSV files.

    Raises
    ------
    ResultsError
        If there is nothing to read, a file is not what it should be, or the records do not belong
        together (see `checks.check`).
    """
    path = Path(path)
    if path.is_file():
        return _checked(_read_compact(path))
    if not path.is_dir():
        raise ResultsError(f"there is no file or folder {str(path)!r}.")
    files, tables = sorted(path.glob(RESULT_FILES)), sorted(path.glob("*.csv"))
    if files and tables:
        raise ResultsError(
            f"{str(path)!r} holds both a folder of results and compact results "
            f"({tables[0].name}): name the CSV file, or move one of them."
        )
    if not files and not tables:
        what = "has no results" if any(path.iterdir()) else "is empty"
        raise ResultsError(
            f"the folder {str(path)!r} {what}: expected <protocol>/<preset>/<data>/<method>/"
            "<split>.json, as the run command writes them, or <protocol>-<preset>.csv."
        )
    if files:
        return _checked(_read_one(file, path) for file in files)
    return _checked(record for table in tables for record in _read_compact(table))


def _checked(records: Iterable[dict]) -> list[dict]:
    return check(in_order(records))


def _read_compact(path: Path) -> list[dict]:
    records = compact.read(path)
    if not records:
        raise ResultsError(f"{path} has no rows.")
    return records


def _read_one(file: Path, folder: Path) -> dict:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ResultsError(
            f"{file} is not a result: {error}. Delete it, and the next run does the task again."
        ) from error
    if not isinstance(record, dict):
        raise ResultsError(f"{file} is not a result: expected a JSON object, got {type(record)}.")
    missing = [name for name in (*TASK_FIELDS, "status") if name not in record]
    if missing:
        raise ResultsError(f"{file} is not a result: it has no {', '.join(missing)}.")
    place = file.relative_to(folder).with_suffix("").parts
    if [*place[:4], int(place[4])] != [record[name] for name in TASK_FIELDS]:
        raise ResultsError(f"{file} is in the wrong place: it is the result of {task_of(record)}.")
    return record
