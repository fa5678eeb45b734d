"""List the tasks of a run, and find those that already have a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks_uci.engine.settings import settings, settings_id
from benchmarks_uci.engine.store import Store
from benchmarks_uci.engine.study import HASH_DIGITS, DataSet, Method, Study, Task


def plan(
    study: Study,
    protocol: str,
    preset: str,
    datasets: Mapping[str, DataSet],
    names: Iterable[str],
    n_splits: int | None = None,
) -> tuple[list[Task], list[tuple[str, str]]]:
    """Combine every method with the first `n_splits` splits of every set (None: all splits).

    Returns
    -------
    tasks : list of Task
    left_out : list of (what, reason)
        What cannot be run, such as `"protein gp"`, or `"wine"` if the protocol does not apply.
    """
    tasks, left_out = [], []
    for data, dataset in datasets.items():
        try:
            splits = study.protocols[protocol].splits(dataset)[:n_splits]
        except ValueError as error:
            left_out.append((data, str(error)))
            continue
        n_train = max(len(split.train) for split in splits)
        for name in names:
            reason = explain_exclusion(study.method(name), preset, n_train)
            if reason:
                left_out.append((f"{data} {name}", reason))
            else:
                tasks += [Task(protocol, preset, data, name, i) for i in range(len(splits))]
    return tasks, left_out


def explain_exclusion(method: Method, preset: str, n_train: int) -> str:
    """Say why the method cannot fit that many rows with this preset; empty if it can."""
    if method.presets is not None and preset not in method.presets:
        return f"it has the presets {', '.join(method.presets)}, not {preset}."
    if method.max_rows is not None and n_train > method.max_rows:
        return (
            f"{method.title} fits at most {method.max_rows} training rows in reasonable time; "
            f"this set has {n_train}."
        )
    return method.explain_absence()


def find_finished(
    study: Study, tasks: Iterable[Task], datasets: Mapping[str, DataSet], store: Store
) -> dict[Task, dict]:
    """Return the records that the store holds of these tasks, including failures.

    A `StoreError` says that a record has other settings, other data or another split.
    """
    splits, found = {}, {}
    for task in tasks:
        dataset, key = datasets[task.data], (task.protocol, task.data)
        if not store.has(task):
            continue
        if key not in splits:
            listed = study.protocols[task.protocol].splits(dataset)
            splits[key] = [(len(split.train), split.hash(dataset)) for split in listed]
        n_train, split_hash = splits[key][task.split]
        made = settings(study.make(task, n_train))
        expected = {
            "data_hash": dataset.content_hash[:HASH_DIGITS],
            "split_hash": split_hash,
            "settings_id": settings_id(made),
            "settings": made,
        }
        if record := store.find(task, **expected):
            found[task] = record
    return found
