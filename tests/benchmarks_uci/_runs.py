"""Records and tasks for tests of what runs and keeps them; workers import this too."""

import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks_uci.task import Task, task_of
from benchmarks_uci.tasks import run_task


def a_record(task: Task, **changes) -> dict:
    """The record of a task that is done, as `run_task` would give it."""
    return {
        **asdict(task),
        "split_name": f"seed {task.split}",
        "status": "done",
        "error": "",
        **{"n_train": 80, "n_test": 20, "n_features": 3},
        **{"nll": 1.5, "density_nll": 1.25, "rmse": 2.0, "crps": 0.5},
        **{"coverage": 0.9, "width": 6.0, "calibration_error": 0.01},
        **{"std_error_correlation": 0.3, "fit_seconds": 0.2, "predict_seconds": 0.1},
        "quantile_frequencies": [i / 20 for i in range(1, 20)],
        "warnings": [],
        "settings": {},
        "settings_id": "0123456789ab",
        "data_hash": "data",
        "split_hash": "split",
        "source": "a test",
        "versions": {},
        "machine": {},
        **changes,
    }


def without_seconds(records) -> list[dict]:
    """What must not change from run to run, by task."""
    kept = [
        {k: v for k, v in r.items() if k not in ("fit_seconds", "predict_seconds")}
        for r in records
    ]
    return sorted(kept, key=task_of)


def slow(task, dataset):
    """The real thing, but slow enough to be disturbed."""
    time.sleep(0.1)
    return run_task(task, dataset)


def fails(task, dataset):
    """The odd splits fail."""
    record = run_task(task, dataset)
    if task.split % 2:
        record |= {"status": "failed", "error": "Traceback:\nValueError: odd"}
    return record


def kills_its_process_once(task, dataset):
    mark = Path(dataset.source)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(task, dataset)


def needs_too_much_memory(task, dataset):
    if task.split == 1:
        raise MemoryError
    return run_task(task, dataset)
