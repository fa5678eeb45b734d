"""Tasks, and running them in processes. A task is a pure function of its arguments."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

from joblib import Parallel, delayed

from benchmarks_uci import datasets, methods, splits
from benchmarks_uci.scores import score
from benchmarks_uci.threads import threads


@dataclass(frozen=True)
class Task:
    """One method on one split of one set; the number of the split seeds it and the method."""

    data: str
    method: str
    split: int


def all_tasks(data: Iterable[str], method: Iterable[str], n_splits: int) -> list[Task]:
    """Every method on every split of every set."""
    return [Task(d, m, s) for d in data for m in method for s in range(n_splits)]


def run_task(task: Task) -> dict:
    """Fit on the training rows, score on the test rows, with one thread; a flat record."""
    dataset = datasets.load(task.data)
    train, test = splits.random80(len(dataset.y), task.split)
    model = methods.make(task.method, random_state=task.split)
    with threads(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(dataset.X[train], dataset.y[train])
        fitted = time.perf_counter()
        scores = score(model, dataset.X[test], dataset.y[test])
        predicted = time.perf_counter()
    return {
        **asdict(task),
        "n_train": len(train),
        "n_test": len(test),
        **scores,
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "warnings": "; ".join(sorted({str(w.message) for w in caught})),
    }


def run_tasks(tasks: list[Task], n_jobs: int, run: Callable = run_task) -> Iterator[dict]:
    """Run the tasks in `n_jobs` processes; the records come as they are ready, in any order."""
    # The slow methods are listed last: begun first, they leave no process waiting at the end.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(run)(task) for task in reversed(tasks))
