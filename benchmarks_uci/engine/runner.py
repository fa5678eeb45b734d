"""Run tasks in parallel, and keep what is finished when a process dies or the run stops."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any

from joblib import Parallel, delayed, parallel_config

from benchmarks_uci.engine import backends, execute
from benchmarks_uci.engine.store import Store
from benchmarks_uci.engine.study import DataSet, Study, Task, get_task

logger = logging.getLogger("benchmarks_uci")

DIED = "The process that ran it died twice. It may have run out of memory."


def run(
    study: Study,
    todo: Iterable[Task],
    datasets: Mapping[str, DataSet],
    store: Store,
    jobs: int = 1,
    *,
    engine: str = "processes",
    scheduler: str | None = None,
    run_task: Callable[[Study, Task, DataSet], dict] = execute.run_task,
) -> Generator[dict, None, None]:
    """Run tasks, and yield each record as soon as it is in the store.

    Only this process writes, so workers elsewhere need not share its disk. Tasks whose process
    died run again one by one. A task that kills its process again has failed.

    `jobs` is the number of processes; a Dask cluster has its own. `engine` is "processes" or
    "dask", and `scheduler` is the address of a Dask scheduler. `run_task` is called in the worker.
    """
    started = (
        backends.use_processes(jobs) if engine == "processes" else backends.use_dask(scheduler)
    )

    def call(task):
        # In a tuple: Dask would keep a large argument on one worker, and lose it with the worker.
        return delayed(_call)(run_task, study, task, (datasets[task.data],))

    with started:
        waiting = _sort_long_first(todo, datasets)
        while waiting:
            begun: dict[Task, None] = {}
            try:
                for record in _parallel(map(call, _take(waiting, begun))):
                    del begun[get_task(record)]
                    store.write(record)
                    yield record
            except backends.WORKER_DIED as error:
                logger.warning(
                    "A process died (%s); trying again, one by one.", _first_line(error)
                )
                for task in begun:
                    record = _run_alone(call(task))
                    if record is None:
                        record = execute.make_failure(study, task, datasets[task.data], DIED)
                    store.write(record)
                    yield record


def _sort_long_first(todo, datasets):
    """Sort so that the last tasks to begin are short, and no process waits long at the end."""
    # Studies list their methods from quick to slow.
    return sorted(reversed(list(todo)), key=lambda task: -len(datasets[task.data].X))


def _take(waiting, begun) -> Iterator[Task]:
    """Yield tasks from the front of `waiting`, and move each to `begun`."""
    while waiting:
        task = waiting.pop(0)
        begun[task] = None
        yield task


def _call(run_task, study, task, dataset):
    # A method that uses joblib itself must not start processes in the processes of this run.
    with parallel_config(backend="sequential"):
        return run_task(study, task, *dataset)


def _parallel(calls, n_jobs=None) -> Any:
    """Return an iterator of the records, which yields each as it is ready."""
    # No task waits in a queue: when a process dies, only the running tasks are in doubt.
    options = {"batch_size": 1, "pre_dispatch": "n_jobs"}
    return Parallel(n_jobs, return_as="generator_unordered", **options)(calls)


def _run_alone(call) -> dict | None:
    """Return the record of one task, run in its own process; None if the process died."""
    try:
        (record,) = _parallel([call], n_jobs=2)  # with one job it would run in this process
    except backends.WORKER_DIED:
        return None
    return record


def _first_line(error):
    return next(iter(str(error).splitlines()), type(error).__name__)
