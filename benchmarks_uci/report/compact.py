"""The form of the results that is committed: a CSV row a task, and what repeats in a JSON file.

Floats are written by `repr`, so that reading gives the same numbers. Only the quantile frequencies
are averaged, over the splits of a set and method, and names of files lose their folders.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks_uci.report.checks import ResultsError, check
from benchmarks_uci.report.grouping import by_run
from benchmarks_uci.task import TASK_FIELDS

TEXTS = ("protocol", "preset", "data", "method", "split_name", "status")
INTEGERS = ("split", "n_train", "n_test", "n_features")
FLOATS = (
    *("nll", "density_nll", "rmse", "crps", "coverage", "width", "calibration_error"),
    *("std_error_correlation", "fit_seconds", "predict_seconds"),
)
REFERENCES = ("settings_id", "split_hash", "environment")
COLUMNS = (*TASK_FIELDS, "split_name", "status", *INTEGERS[1:], *FLOATS, *REFERENCES)
READERS = {
    **dict.fromkeys((*TEXTS, *REFERENCES), str),
    **dict.fromkeys(INTEGERS, int),
    **dict.fromkeys(FLOATS, float),
}
PARTS = ("settings", "environments", "data", "quantile_frequencies", "warnings", "errors")
# The folders of one machine, in tracebacks and names of files, are of no use elsewhere.
FOLDERS = re.compile(r'File "[^"]*?/((?:benchmarks_uci|sk_deltauq|site-packages)/[^"]+)"')
ABSOLUTE = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?[/\\].*[/\\]")
LIST_OF_NUMBERS = re.compile(r"\[\n[\d.,\s-]+\]")


def write_compact(records: list[dict], folder: str | Path) -> list[Path]:
    """Write `<protocol>-<preset>.csv` and `.json` for each run; the paths written.

    The same records give the same bytes, in whatever order they come.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for (protocol, preset), run in by_run(check(records)).items():
        path = folder / f"{protocol}-{preset}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(_row(record) for record in run)
        path.with_suffix(".json").write_text(_as_text(_shared(run)), encoding="utf-8")
        written += [path, path.with_suffix(".json")]
    return written


def read(path: Path) -> list[dict]:
    """The records of one compact CSV file and the JSON file beside it."""
    beside = path.with_suffix(".json")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), tuple(reader.fieldnames or ())
        shared = json.loads(beside.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ResultsError(f"{path} and {beside.name} are not compact results: {error}") from error
    if columns != COLUMNS:
        raise ResultsError(
            f"{path} is not compact results: its columns should be {', '.join(COLUMNS)}; they are "
            f"{', '.join(columns) or 'none'}."
        )
    missing = [part for part in PARTS if part not in shared]
    if missing:
        raise ResultsError(f"{beside} lacks {', '.join(missing)}.")
    records = []
    for number, row in enumerate(rows, start=2):
        try:
            records.append(_record(row, shared))
        except (KeyError, ValueError, TypeError) as error:
            raise ResultsError(f"{path}, line {number}: {error!r}") from error
    return records


def environment(record: dict) -> dict:
    """Versions and machine that a task ran with."""
    return {"versions": record["versions"], "machine": record["machine"]}


def environment_id(record: dict) -> str:
    """A short hash of `environment`."""
    text = json.dumps(environment(record), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _row(record: dict) -> list[str]:
    values = {**record, "environment": environment_id(record)}
    return [_cell(values.get(name), READERS[name]) for name in COLUMNS]


def _cell(value, kind: type) -> str:
    if value is None:
        return ""
    return repr(float(value)) if kind is float else str(value)


def _value(cell: str, kind: type):
    return kind(cell) if cell else None


def _shared(run: list[dict]) -> dict:
    """What the rows refer to, by the names in `PARTS`."""
    shared = {part: {} for part in PARTS}
    curves, messages = defaultdict(list), defaultdict(list)
    for record in run:
        cell = record["data"], record["method"]
        if record.get("settings_id"):
            shared["settings"][record["settings_id"]] = record["settings"]
        shared["environments"][environment_id(record)] = environment(record)
        data = shared["data"].setdefault(record["data"], {"hash": None, "sources": set()})
        data["hash"] = record.get("data_hash") or data["hash"]
        sources = (record.get("source") or "").split("; ")
        data["sources"].update(ABSOLUTE.sub("", source) for source in sources if source)
        if record.get("quantile_frequencies"):
            curves[cell].append(record["quantile_frequencies"])
        for message in record.get("warnings") or ():
            messages[*cell, message].append(record["split"])
        if record.get("error"):
            error = FOLDERS.sub(r'File "\1"', record["error"])
            _nested(shared["errors"], *cell)[str(record["split"])] = error
    for data in shared["data"].values():
        data["sources"] = sorted(data["sources"])
    for (data, method), values in curves.items():
        # Rounded, so that the mean of means read back is the same again.
        mean = np.mean(values, axis=0).round(6).tolist()
        _nested(shared["quantile_frequencies"], data)[method] = mean
    for (data, method, message), splits in messages.items():
        _nested(shared["warnings"], data, method)[message] = sorted(set(splits))
    return shared


def _record(row: dict, shared: dict) -> dict:
    record = {name: _value(row[name], READERS[name]) for name in COLUMNS}
    ran_with = shared["environments"][record.pop("environment")]
    data, method, split = record["data"], record["method"], record["split"]
    warned = shared["warnings"].get(data, {}).get(method, {})
    done = record["status"] == "done"
    frequencies = shared["quantile_frequencies"].get(data, {}).get(method)
    return {
        **record,
        **ran_with,
        "settings": shared["settings"].get(record["settings_id"]),
        "data_hash": shared["data"][data]["hash"],
        "source": "; ".join(shared["data"][data]["sources"]),
        "quantile_frequencies": frequencies if done else None,
        "warnings": [message for message, splits in warned.items() if split in splits],
        "error": shared["errors"].get(data, {}).get(method, {}).get(str(split), ""),
    }


def _nested(tree: dict, *keys: str) -> dict:
    for key in keys:
        tree = tree.setdefault(key, {})
    return tree


def _as_text(shared: dict) -> str:
    """JSON that `git diff` can show, a list of numbers on one line."""
    text = json.dumps(shared, indent=1, ensure_ascii=False)
    return LIST_OF_NUMBERS.sub(lambda m: "[" + " ".join(m[0][1:-1].split()) + "]", text) + "\n"
