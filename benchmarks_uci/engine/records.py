"""Read result files: one file per task, and the compact form, which is committed.

The compact form is one CSV row per task, and a JSON file that holds what repeats. Floats are
written by `repr`, so that reading gives the same numbers. Curves are averaged over the splits of a
data set and method, and file names lose their folders.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from benchmarks_uci.engine.study import HASH_DIGITS, TASK_FIELDS, Study, Task

TEXTS = ("protocol", "preset", "data", "method", "split_name", "status")
INTEGERS = ("split", "n_train", "n_test", "n_features")
REFERENCES = ("settings_id", "split_hash", "environment")
# The folders of one machine, in tracebacks and file names, mean nothing elsewhere.
FOLDERS = re.compile(r'File "[^"]*?/((?:benchmarks_uci|sk_deltauq|site-packages)/[^"]+)"')
ABSOLUTE = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?[/\\].*[/\\]")
LIST_OF_NUMBERS = re.compile(r"\[\n[\d.,\s-]+\]")
# Without the leading digit it may be a file that is still being written.
RESULT_FILES = "*/*/*/*/[0-9]*.json"  # protocol/preset/data/method/split.json

# What every record must hold, and what else a finished one must hold besides its scores
FIELDS = {"status": str, "error": str, "data_hash": str, "versions": dict, "machine": dict}
DONE_FIELDS = FIELDS | {"settings": dict, "settings_id": str, "split_hash": str}
DONE_FIELDS |= {"n_train": int, "n_test": int}


class ResultsError(Exception):
    """Results that cannot be read, or that do not belong together."""


def read(path: str | Path, study: Study) -> list[dict]:
    """Read all records below a folder, or of one compact CSV file, sorted by task.

    A folder is a results folder of the `run` command, or has compact results. A `ResultsError`
    says that there is nothing to read, or that a file is not a valid result.
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


def read_compact(path: Path, study: Study) -> list[dict]:
    """Read the records of one compact CSV file and the JSON file beside it."""
    beside, kinds = path.with_suffix(".json"), _kinds(study)
    if not path.is_file():
        raise ResultsError(f"there is no file or folder {str(path)!r}.")
    if path.suffix != ".csv" or not beside.is_file():
        raise ResultsError(
            f"{path} is not compact results: expected a CSV file of report --compact, and beside "
            f"it {beside.name}. Other studies have reports of their own, such as trust and "
            "optimisation."
        )
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), tuple(reader.fieldnames or ())
        shared = json.loads(beside.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ResultsError(f"{path} and {beside.name} are not compact results: {error}") from error
    if columns != (*kinds,):
        raise ResultsError(
            f"{path} is not compact results: expected the columns {', '.join(kinds)}; found "
            f"{', '.join(columns) or 'none'}."
        )
    if missing := [part for part in _parts(study) if part not in shared]:
        raise ResultsError(f"{beside} lacks {', '.join(missing)}.")
    records = []
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise ResultsError(f"{path}, line {number}: expected {len(kinds)} cells.")
        if row["status"] not in ("done", "failed"):
            raise ResultsError(
                f"{path}, line {number}: its status is neither 'done' nor 'failed'."
            )
        try:
            values = {name: kind(row[name]) if row[name] else None for name, kind in kinds.items()}
            records.append(_record(values, shared, study))
        except KeyError as error:
            raise ResultsError(
                f"{path}, line {number}: it needs {error}, which {beside.name} lacks."
            ) from error
        except (ValueError, TypeError) as error:
            raise ResultsError(f"{path}, line {number}: {error!r}") from error
    return records


def write_compact(records: list[dict], folder: str | Path, study: Study) -> list[Path]:
    """Write `<protocol>-<preset>.csv` and `.json` for each run, and return the paths.

    The same records give the same bytes, in any order. `analysis.frame` checks records.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    ordered = sorted(records, key=itemgetter(*TASK_FIELDS))
    kinds = _kinds(study)
    for (protocol, preset), group in groupby(ordered, itemgetter("protocol", "preset")):
        run = list(group)
        path = folder / f"{protocol}-{preset}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(kinds)
            for record in run:
                row = {**record, "environment": identify_environment(record)}
                writer.writerow([_as_cell(row.get(name), kind) for name, kind in kinds.items()])
        path.with_suffix(".json").write_text(_as_text(_shared(run, study)), encoding="utf-8")
        written += [path, path.with_suffix(".json")]
    return written


def read_environment(record: dict) -> dict:
    """Return versions and machine that a task ran with."""
    return {"versions": record["versions"], "machine": record["machine"]}


def identify_environment(record: dict) -> str:
    """Hash the environment of a record to 8 hexadecimal digits."""
    text = json.dumps(read_environment(record), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _sort(records: Iterable[dict]) -> list[dict]:
    return sorted(records, key=itemgetter(*TASK_FIELDS))


def _read_table(path: Path, study: Study) -> list[dict]:
    records = read_compact(path, study)
    if not records:
        raise ResultsError(f"{path} has no rows.")
    return records


def _read_file(path: Path, folder: Path, study: Study) -> dict:
    protocol, preset, data, method, _ = path.relative_to(folder).parts
    if protocol not in study.protocols:
        raise ResultsError(
            f"{path} belongs to another study: its protocol {protocol!r} is none of "
            f"{', '.join(study.protocols)}. Use the report command of that study."
        )
    try:
        return read_record(path, Task(protocol, preset, data, method, int(path.stem)), study)
    except (ValueError, OSError) as error:
        raise ResultsError(
            f"{path} is not a result: {error}. Delete it, and the next run does the task again."
        ) from error


def _kinds(study: Study) -> dict[str, type]:
    """Return the columns of the CSV file and their types."""
    columns = (*TASK_FIELDS, "split_name", "status", *INTEGERS[1:], *study.metrics, *REFERENCES)
    kinds = {**dict.fromkeys((*TEXTS, *REFERENCES), str), **dict.fromkeys(INTEGERS, int)}
    return {name: kinds.get(name, float) for name in columns}


def _parts(study: Study) -> tuple[str, ...]:
    """Return the keys of the JSON file."""
    return ("settings", "environments", "data", *study.curves, "warnings", "errors")


def _as_cell(value, kind: type) -> str:
    if value is None:
        return ""
    return repr(float(value)) if kind is float else str(value)


def _shared(run: list[dict], study: Study) -> dict:
    """Collect what the rows refer to, by `_parts`."""
    shared = {part: {} for part in _parts(study)}
    curves, messages = defaultdict(list), defaultdict(list)
    for record in run:
        cell = record["data"], record["method"]
        if record.get("settings_id"):
            shared["settings"][record["settings_id"]] = record["settings"]
        shared["environments"][identify_environment(record)] = read_environment(record)
        data = shared["data"].setdefault(record["data"], {"hash": None, "sources": set()})
        data["hash"] = record.get("data_hash") or data["hash"]
        sources = (record.get("source") or "").split("; ")
        data["sources"].update(ABSOLUTE.sub("", source) for source in sources if source)
        for name in study.curves:
            if record.get(name):
                curves[name, *cell].append(record[name])
        for message in record.get("warnings") or ():
            messages[*cell, message].append(record["split"])
        if record.get("error"):
            error = FOLDERS.sub(r'File "\1"', record["error"])
            _nested(shared["errors"], *cell)[str(record["split"])] = error
    for data in shared["data"].values():
        data["sources"] = sorted(data["sources"])
    for (name, data, method), values in curves.items():
        # Rounded, so that the mean of means read back is the same again.
        _nested(shared[name], data)[method] = np.mean(values, axis=0).round(6).tolist()
    for (data, method, message), splits in messages.items():
        _nested(shared["warnings"], data, method)[message] = sorted(set(splits))
    return shared


def _record(row: dict, shared: dict, study: Study) -> dict:
    ran_with = shared["environments"][row.pop("environment")]
    data, method, split = row["data"], row["method"], row["split"]
    warned = shared["warnings"].get(data, {}).get(method, {})
    done = row["status"] == "done"
    return {
        **row,
        **ran_with,
        "split_hash": row["split_hash"] and row["split_hash"][:HASH_DIGITS],
        "settings": shared["settings"].get(row["settings_id"]),
        "data_hash": (shared["data"][data]["hash"] or "")[:HASH_DIGITS],
        "source": "; ".join(shared["data"][data]["sources"]),
        **{c: shared[c].get(data, {}).get(method) if done else None for c in study.curves},
        "warnings": [message for message, splits in warned.items() if split in splits],
        "error": shared["errors"].get(data, {}).get(method, {}).get(str(split), ""),
    }


def _nested(tree: dict, *keys: str) -> dict:
    for key in keys:
        tree = tree.setdefault(key, {})
    return tree


def _as_text(shared: dict) -> str:
    """Return JSON that `git diff` can show, with each list of numbers on one line."""
    text = json.dumps(shared, indent=1, ensure_ascii=False)
    return LIST_OF_NUMBERS.sub(lambda m: "[" + " ".join(m[0][1:-1].split()) + "]", text) + "\n"
