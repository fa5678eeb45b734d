"""Sentences about the records: data, settings, versions, failures and warnings."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from operator import itemgetter

import pandas as pd

from benchmarks_uci.analysis.frame import summarise
from benchmarks_uci.engine.records import identify_environment, read_environment
from benchmarks_uci.engine.study import Study


def describe_data(records: list[dict], study: Study) -> list[str]:
    """Write one line per data set of a run: rows, features, splits done, source."""
    lines = []
    for data, of_set in _group(records, "data"):
        sizes = {(r["n_train"] + r["n_test"], r["n_features"]) for r in of_set if r.get("n_train")}
        n_done = len({record["split"] for record in of_set})
        full = study.protocols[of_set[0]["protocol"]].count(data)
        text = "".join(f" {rows} rows, {features} features;" for rows, features in sorted(sizes))
        of_full = f" of the {full} of the protocol" if full and n_done < full else ""
        splits = "split" if n_done == 1 else "splits"
        sources = "; ".join(sorted({r["source"] for r in of_set if r.get("source")}))
        lines.append(f"{data}:{text} {n_done} {splits}{of_full}; {sources}.")
    return lines


def describe_problems(records: list[dict], run: pd.DataFrame, study: Study) -> list[str]:
    """Count failures, missing splits, errors and warnings."""
    lines = []
    found = summarise(run, next(iter(study.metrics.values())))
    for (data, method), cell in found.to_dict("index").items():  # pyright: ignore
        if cell["n_failed"]:
            lines.append(f"{data}, {method}: {cell['n_failed']} of {cell['n_run']} splits failed.")
        if 0 < cell["n_run"] < cell["n_splits"]:
            lines.append(f"{data}, {method}: run on {cell['n_run']} of {cell['n_splits']} splits.")
    for (data, method), group in _group(records, "data", "method"):
        errors = Counter(find_last_line(r["error"]) for r in group if r.get("error"))
        lines += [f"Error, {data}, {method}, {n} splits: {text}" for text, n in errors.items()]
        warned = Counter(message for r in group for message in set(r.get("warnings") or ()))
        lines += [
            f"Warning, {data}, {method}, {count} of {len(group)} splits: {message}"
            for message, count in sorted(warned.items())
        ]
    return lines


def describe_environments(records: list[dict]) -> list[str]:
    """List versions and machines, with the number of tasks of each."""
    counts = Counter(identify_environment(record) for record in records)
    by_id = {identify_environment(record): read_environment(record) for record in records}
    lines = []
    for key in sorted(counts):
        versions = ", ".join(f"{n} {v}" for n, v in by_id[key]["versions"].items())
        machine = by_id[key]["machine"]
        place = (
            f"{machine.get('system')}, {machine.get('processor')}, {machine.get('cores')} cores"
        )
        lines.append(f"{versions}; {place}: {counts[key]} tasks.")
    return lines


def describe_settings(records: list[dict], run: pd.DataFrame, study: Study) -> list[str]:
    """Write one line per method: description, settings, and how they were chosen."""
    lines = []
    for name in run["method"].cat.categories:
        about, chosen = "a method that the study no longer has.", ""
        if method := study.methods.get(name) or study.variants.get(name):
            about = f"{method.title}. {method.description}"
            chosen = f"How chosen: {method.chosen}"
        of_method = [r for r in records if r["method"] == name and r.get("settings_id")]
        lines.append(f"{name}: {about} {_format_settings(of_method)} {chosen}".strip())
    return lines


def find_last_line(error: str) -> str:
    """Return the last line of a traceback."""
    return error.strip().splitlines()[-1]


def _group(records, *names):
    key = itemgetter(*names)
    return [(value, [*group]) for value, group in groupby(sorted(records, key=key), key)]


def _format_settings(of_method: list[dict]) -> str:
    """Write the settings of most sets in full, and the differences of other sets."""
    by_id, where = {}, defaultdict(set)
    for record in of_method:
        by_id[record["settings_id"]] = record["settings"]
        where[record["settings_id"]].add(record["data"])
    if not by_id:
        return "Settings: unknown, because no task came so far."
    usual, *others = sorted(by_id, key=lambda key: (-len(where[key]), key))
    text = f"Settings: {_format_call(by_id[usual])}"
    for key in others:
        changed = {
            name: value
            for name, value in by_id[key].items()
            if name not in by_id[usual] or by_id[usual][name] != value
        }
        text += f"; {', '.join(sorted(where[key]))}: {_format_pairs(changed)}"
    return f"{text}."


def _format_call(settings: dict) -> str:
    params = {name: value for name, value in settings.items() if name != "class"}
    return f"{settings.get('class', '')}({_format_pairs(params)})"


def _format_pairs(params: dict) -> str:
    return ", ".join(
        f"{name}={_format_call(value)}"
        if isinstance(value, dict) and "class" in value
        else f"{name}={value!r}"
        for name, value in params.items()
    )
