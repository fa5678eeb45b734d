"""Small parts for the tests of the harness."""

from dataclasses import asdict

from benchmarks_uci.tasks import Task


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
