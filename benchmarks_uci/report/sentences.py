"""Sentences about the records: what was run, on what, with which settings, and what went wrong."""

from __future__ import annotations

from collections import Counter, defaultdict

from benchmarks_uci.protocols import n_splits
from benchmarks_uci.report.cells import cells
from benchmarks_uci.report.compact import environment, environment_id
from benchmarks_uci.report.grouping import grouped, methods, the_run
from benchmarks_uci.report.metrics import METRICS

SCORES = (
    "Mean ± standard error over the splits; (19/20): of 19 splits out of 20. NLL is that of a "
    "Gaussian with the predicted mean and standard deviation, in nats; NLL, RMSE and CRPS: lower "
    "is better. Coverage: 0.9 is right, and then narrower is better. RMSE, CRPS and width are "
    "in the units of the target. One thread a fit."
)
RANKS = (
    "Average rank: over all sets, 1 is best, ties share their mean rank. Only methods that have "
    "done every split of every set are ranked, and only cells with every split can be in bold."
)
PAPER = (
    "Columns of the paper: its own figures, for other 80/20 splits, and its average ranks among "
    "its five methods. Those for MC dropout and PBP are of 90/10 splits, and the naval figures "
    "for deep ensemble and BNN of another target, the turbine's decay, which is easier."
)
PUBLISHED = (
    "Other columns: figures of the literature for the same 90/10 splits; "
    "`benchmarks_uci/reference` has them and their sources."
)


def data_lines(records: list[dict]) -> list[str]:
    """One line a set: rows, features, splits done, source."""
    lines = []
    for (protocol, data), of_set in grouped(records, "protocol", "data").items():
        sizes = {(r["n_train"] + r["n_test"], r["n_features"]) for r in of_set if r.get("n_train")}
        n_done, full = len({record["split"] for record in of_set}), n_splits(protocol, data)
        text = "".join(f" {rows} rows, {features} features;" for rows, features in sorted(sizes))
        of_full = f" of the {full} of the protocol" if full and n_done < full else ""
        splits = "split" if n_done == 1 else "splits"
        sources = "; ".join(sorted({r["source"] for r in of_set if r.get("source")}))
        lines.append(f"{data}:{text} {n_done} {splits}{of_full}; {sources}.")
    return lines


def problem_lines(records: list[dict]) -> list[str]:
    """Failures, cells with fewer splits than others of their set, and warnings, counted."""
    lines = []
    for (data, method), cell in cells(records, METRICS["nll"]).items():
        n_run = len(cell.values) + cell.n_failed
        if cell.n_failed:
            lines.append(f"{data}, {method}: {cell.n_failed} of {n_run} splits failed.")
        if 0 < n_run < cell.n_splits:
            lines.append(f"{data}, {method}: run on {n_run} of {cell.n_splits} splits.")
    for (data, method), group in grouped(records, "data", "method").items():
        errors = Counter(_last_line(r["error"]) for r in group if r.get("error"))
        lines += [f"Error, {data}, {method}, {n} splits: {text}" for text, n in errors.items()]
        warned = Counter(message for r in group for message in set(r.get("warnings") or ()))
        lines += [
            f"Warning, {data}, {method}, {count} of {len(group)} splits: {message}"
            for message, count in sorted(warned.items())
        ]
    return lines


def environment_lines(records: list[dict]) -> list[str]:
    """Versions and machine, with the number of tasks run there."""
    counts = Counter(environment_id(record) for record in records)
    by_id = {environment_id(record): environment(record) for record in records}
    lines = []
    for key in sorted(counts):
        versions = ", ".join(f"{n} {v}" for n, v in by_id[key]["versions"].items())
        machine = by_id[key]["machine"]
        place = (
            f"{machine.get('system')}, {machine.get('processor')}, {machine.get('cores')} cores"
        )
        lines.append(f"{versions}; {place}: {counts[key]} tasks.")
    return lines


def settings_lines(records: list[dict]) -> list[str]:
    """One line a method: what it is, its settings by the records, and how they were chosen."""
    the_run(records)
    lines = []
    for name in methods(records):
        title, description, chosen = _about(name)
        of_method = [r for r in records if r["method"] == name and r.get("settings_id")]
        lines.append(f"{name}: {title}{description} {_settings(of_method)} {chosen}".strip())
    return lines


def _about(name: str) -> tuple[str, str, str]:
    """Title, description and how the settings were chosen; of old results too."""
    # Imported here, as it brings torch, which reading results does without.
    from benchmarks_uci.methods import ALL

    if name not in ALL:
        return "a method that the harness no longer has.", "", ""
    method = ALL[name]
    return f"{method.title}. ", method.description, f"How chosen: {method.chosen}"


def _settings(of_method: list[dict]) -> str:
    """Settings of most sets in full, those of other sets where they differ."""
    by_id, where = {}, defaultdict(set)
    for record in of_method:
        by_id[record["settings_id"]] = record["settings"]
        where[record["settings_id"]].add(record["data"])
    if not by_id:
        return "Settings: not known, no task came so far."
    usual, *others = sorted(by_id, key=lambda key: (-len(where[key]), key))
    text = f"Settings: {_call(by_id[usual])}"
    for key in others:
        changed = {
            name: value
            for name, value in by_id[key].items()
            if name not in by_id[usual] or by_id[usual][name] != value
        }
        text += f"; {', '.join(sorted(where[key]))}: {_pairs(changed)}"
    return f"{text}."


def _call(settings: dict) -> str:
    params = {name: value for name, value in settings.items() if name != "class"}
    return f"{settings.get('class', '')}({_pairs(params)})"


def _pairs(params: dict) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in params.items())


def _value(value) -> str:
    if isinstance(value, dict) and "class" in value:
        return _call(value)
    return repr(value)


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
