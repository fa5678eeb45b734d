"""Read result files: single records, and all results of a folder or a CSV file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path

from benchmarks_uci.engine.compact import ResultsError, read_compact
from benchmarks_uci.engine.study import HASH_DIGITS, Study
from benchmarks_uci.engine.task import TASK_FIELDS, Task

# Without the leading digit it may be a file that is still being written.
RESULT_FILES = "*/*/*/*/[0-9]*.json"  # protocol/preset/data/method/split.json

# What every record must hold, and what else a finished one must hold besides its scores
FIELDS = {"status": str, "error": str, "data_hash": str}
DONE_FIELDS = FIELDS | {"settings": dict, "settings_id": str, "split_hash": str}


def read(path: str | Path, study: Study) -> list[dict]:
    """Read all records below a folder, or of one compact CSV file, sorted by task.

    Parameters
    ----------
    path : str or Path
        A results folder of the `run` command, a folder of compact results, or one CSV file.
    study : Study

    Raises
    ------
    ResultsError
        If there is nothing to read, or a file is not a valid result.
    """
    path = Path(path)
    if path.is_file():
        return _sort(_read_table(path, study))
    if not path.is_dir():
        raise ResultsError(f"there is no file or folder {str(path)!r}.")
    files, tables = sorted(path.glob(RESULT_FILES)), sorted(path.glob("*.csv"))
    if files and tables:
        raise ResultsError(
            f"{str(path)!r} holds both single results and compact results ({tables[0].name}). "
            "Name the CSV file, or move one of the two."
        )
    if not files and not tables:
        what = "has no results" if any(path.iterdir()) else "is empty"
        raise ResultsError(
            f"the folder {str(path)!r} {what}: expected <protocol>/<preset>/<data>/<method>/"
            "<split>.json, as the run command writes them, or <protocol>-<preset>.csv."
        )
    if files:
        return _sort(_read_file(file, path, study) for file in files)
    return _sort(record for table in tables for record in _read_table(table, study))


def read_record(path: Path, task: Task, study: Study) -> dict:
    """Read the record in a file; a `ValueError` says why it is not a whole record of this task.

    Hashes are cut to the digits that are stored today; older files have more.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"it is damaged ({error})") from error
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object, got {type(record).__name__}")
    needed = FIELDS
    if record.get("status") == "done":
        needed = DONE_FIELDS | dict.fromkeys(study.metrics, float | int)
    elif record.get("status") != "failed":
        raise ValueError("its status is neither 'done' nor 'failed'")
    for name, kind in needed.items():
        if not isinstance(record.get(name), kind):
            raise ValueError(f"it lacks the field {name!r}")
    if (held := tuple(map(record.get, TASK_FIELDS))) != tuple(asdict(task).values()):
        raise ValueError(f"it holds the result of {'/'.join(map(str, held))}, not of {task}")
    for name in ("data_hash", "split_hash"):
        if record.get(name):
            record[name] = record[name][:HASH_DIGITS]
    return record


def _sort(records: Iterable[dict]) -> list[dict]:
    return sorted(records, key=itemgetter(*TASK_FIELDS))


def _read_table(path: Path, study: Study) -> list[dict]:
    records = read_compact(path, study)
    if not records:
        raise ResultsError(f"{path} has no rows.")
    return records


def _read_file(path: Path, folder: Path, study: Study) -> dict:
    protocol, preset, data, method, _ = path.relative_to(folder).parts
    try:
        return read_record(path, Task(protocol, preset, data, method, int(path.stem)), study)
    except (ValueError, OSError) as error:
        raise ResultsError(
            f"{path} is not a result: {error}. Delete it, and the next run does the task again."
        ) from error
