import dataclasses
import math

import numpy as np
import pytest

from benchmarks_uci import datasets, methods, runner
from benchmarks_uci.methods import MarginalGaussian
from benchmarks_uci.runner import Task, all_tasks, run_task, run_tasks
from benchmarks_uci.splits import random80

SECONDS = {"fit_seconds", "predict_seconds"}


def without_seconds(record):
    return {key: value for key, value in record.items() if key not in SECONDS}


def test_tasks_are_all_combinations_in_order():
    tasks = all_tasks(["alcohol", "nuclei"], ["marginal", "mlp"], 2)
    assert len(set(tasks)) == 8
    assert tasks[:3] == [
        Task("alcohol", "marginal", 0),
        Task("alcohol", "marginal", 1),
        Task("alcohol", "mlp", 0),
    ]


def test_record_is_flat_and_says_what_was_run():
    record = run_task(Task("alcohol", "marginal", 1))
    assert (record["data"], record["method"]) == ("alcohol", "marginal")
    assert (record["split"], record["n_train"], record["n_test"]) == (1, 142, 36)
    assert all(isinstance(value, str | int | float) for value in record.values())
    assert all(math.isfinite(v) for v in record.values() if not isinstance(v, str))


@pytest.mark.usefixtures("global_state_is_kept")
def test_task_is_a_pure_function(monkeypatch):
    def quick(random_state):
        return methods.DeltaUQRegressor(5, max_iter=3, random_state=random_state)

    monkeypatch.setitem(methods.METHODS, "quick", quick)
    task = Task("alcohol", "quick", 0)
    first, other, again = (run_task(t) for t in (task, Task("alcohol", "quick", 1), task))
    assert without_seconds(first) == without_seconds(again)
    assert first["nll"] != other["nll"]
    assert "max_iter=3" in first["warnings"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.split = 1


def test_method_sees_the_training_rows_alone(monkeypatch):
    seen = {}

    class Spy(MarginalGaussian):
        def fit(self, X, y):
            seen["X"], seen["y"] = X, y
            return super().fit(X, y)

        def predict_dist(self, X):
            seen["tested"] = X
            return super().predict_dist(X)

    monkeypatch.setitem(methods.METHODS, "spy", lambda random_state: Spy())
    run_task(Task("diabetes", "spy", 4))
    dataset = datasets.load("diabetes")
    train, test = random80(442, 4)
    assert np.array_equal(seen["X"], dataset.X[train])
    assert np.array_equal(seen["y"], dataset.y[train])
    assert np.array_equal(seen["tested"], dataset.X[test])


def test_processes_give_the_records_of_one_process():
    tasks = all_tasks(["alcohol", "diabetes"], ["marginal"], 2)

    def by_task(records):
        return sorted((without_seconds(r) for r in records), key=str)

    assert by_task(run_tasks(tasks, n_jobs=2)) == by_task(map(runner.run_task, tasks))
