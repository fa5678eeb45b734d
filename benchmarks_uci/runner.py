"""Run the tasks that have no result yet. What is finished is kept, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from joblib import Parallel, delayed, parallel_config

from benchmarks_uci import engines, methods, tasks
from benchmarks_uci.datasets import Dataset
from benchmarks_uci.protocols import PROTOCOLS, split_hash
from benchmarks_uci.store import Store
from benchmarks_uci.task import Task, task_of

logger = logging.getLogger("benchmarks_uci")

DIED = "The process that ran it died, twice. It may have run out of memory."


def finished(
    asked: Iterable[Task], datasets: Mapping[str, Dataset], store: Store
) -> dict[Task, dict]:
    """The records that the store holds of these tasks, failures among them.

    Raises
    ------
    StoreError
        If one is the result of other settings, other data or another split.
    """
    splits, found = {}, {}
    for task in asked:
        dataset, key = datasets[task.data], (task.protocol, task.data)
        if not store.has(task):
            continue
        if key not in splits:
            listed = PROTOCOLS[task.protocol].splits(dataset)
            splits[key] = [(len(s.train), split_hash(s, dataset)) for s in listed]
        n_train, rows = splits[key][task.split]
        made = methods.settings(methods.make(task.method, task.preset, n_train, task.split))
        expected = {
            "data_hash": dataset.content_hash,
            "split_hash": rows,
            "settings_id": tasks.settings_id(made),
            "settings": made,
        }
        if record := store.find(task, **expected):
            found[task] = record
    return found


def run(
    todo: Iterable[Task],
    datasets: Mapping[str, Dataset],
    store: Store,
    jobs: int = 1,
    *,
    engine: str = "processes",
    scheduler: str | None = None,
    run_task: Callable[[Task, Dataset], dict] = tasks.run_task,
) -> Iterator[dict]:
    """Run tasks, and yield the record of each as soon as it is in the store.

    This process alone writes, so that workers elsewhere need not share its disk. Tasks whose
    process died run again one by one, and the one that kills it again has failed.

    Parameters
    ----------
    todo : iterable of Task
    datasets : mapping of name to Dataset
    store : Store
    jobs : int, default=1
        Number of processes; a Dask cluster has its own.
    engine : {"processes", "dask"}, default="processes"
    scheduler : str, default=None
        Address of the Dask scheduler.
    run_task : callable
        What is done; called with a task and its data set, in the worker.
    """
    started = engines.processes(jobs) if engine == "processes" else engines.dask(scheduler)

    def call(task):
        # Dask keeps a large argument on one worker, with which it would be lost: not in a tuple.
        return delayed(_call)(run_task, task, (datasets[task.data],))

    with started:
        waiting = _long_ones_first(todo, datasets)
        while waiting:
            begun: dict[Task, None] = {}
            try:
                for record in _parallel(map(call, _take(waiting, begun))):
                    del begun[task_of(record)]
                    store.write(record)
                    yield record
            except engines.WORKER_DIED as error:
                logger.warning(
                    "A process died (%s); trying again, one by one.", _first_line(error)
                )
                for task in begun:
                    record = _alone(call(task)) or tasks.failure(task, datasets[task.data], DIED)
                    store.write(record)
                    yield record


def _long_ones_first(todo, datasets):
    """In the order to run: the last to begin are short, and no process waits long at the end."""
    # Methods are listed from the quick ones to the slow.
    return sorted(reversed(list(todo)), key=lambda task: -len(datasets[task.data].y))


def _take(waiting, begun) -> Iterator[Task]:
    """Tasks from the front of `waiting`, each moved to `begun` when it is asked for."""
    while waiting:
        task = waiting.pop(0)
        begun[task] = None
        yield task


def _call(run_task, task, dataset):
    # Not the backend that runs this: a method that uses joblib itself has one process.
    with parallel_config(backend="sequential"):
        return run_task(task, *dataset)


def _parallel(calls, n_jobs=None) -> Iterator[dict]:
    """The records, as they are ready."""
    # No task waits in a queue: when a process dies, only those that ran are in doubt.
    options = {"batch_size": 1, "pre_dispatch": "n_jobs"}
    return Parallel(n_jobs, return_as="generator_unordered", **options)(calls)


def _alone(call) -> dict | None:
    """The record of one task, in a process of its own; None if that died too."""
    try:
        (record,) = _parallel([call], n_jobs=2)  # one would be this process
    except engines.WORKER_DIED:
        return None
    return record


def _first_line(error):
    return next(iter(str(error).splitlines()), type(error).__name__)
