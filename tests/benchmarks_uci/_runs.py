"""Records and tasks for tests of what runs and keeps them; workers import this too."""

import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks_uci.engine.execute import run_task
from benchmarks_uci.engine.study import Task, get_task


def a_record(task: Task, **changes) -> dict:
    """The record of a finished task, as `run_task` returns it."""
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
    """What must not change from run to run, sorted by task."""
    kept = [
        {k: v for k, v in r.items() if k not in ("fit_seconds", "predict_seconds")}
        for r in records
    ]
    return sorted(kept, key=get_task)


def stop_at_split(study, task, dataset):
    """Run a task; split 4 reports that it runs and never ends."""
    while task.split == 4:
        Path("waiting").touch()
        time.sleep(0.05)
    return run_task(study, task, dataset)


def slow(study, task, dataset):
    """Run a task slowly enough that a worker can be killed meanwhile."""
    time.sleep(0.1)
    return run_task(study, task, dataset)


def fails(study, task, dataset):
    """Fail on odd splits."""
    record = run_task(study, task, dataset)
    if task.split % 2:
        record |= {"status": "failed", "error": "Traceback:\nValueError: odd"}
    return record


def kills_its_process_once(study, task, dataset):
    mark = Path(dataset.source)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(study, task, dataset)


def needs_too_much_memory(study, task, dataset):
    if task.split == 1:
        raise MemoryError
    return run_task(study, task, dataset)
