import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from joblib import parallel_config

from benchmarks_uci import engines, runner
from benchmarks_uci.engines import EngineError
from benchmarks_uci.store import Store, StoreError
from benchmarks_uci.task import task_of
from benchmarks_uci.tasks import plan, run_task
from tests.benchmarks_uci import _runs
from tests.benchmarks_uci._helpers import toy_dataset
from tests.benchmarks_uci._runs import without_seconds

DATASETS = {
    "small": toy_dataset(40, name="small"),
    "large": toy_dataset(80, name="large", seed=1),
}
TASKS, _ = plan("random80", "default", DATASETS, ["marginal"], 3)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def undisturbed(tasks):
    return without_seconds(run_task(task, DATASETS[task.data]) for task in tasks)


def test_each_record_is_kept_before_it_is_handed_over(store):
    seen = []
    for record in runner.run(TASKS, DATASETS, store):
        seen.append(record)
        assert len(store.records()) == len(seen)
    assert without_seconds(seen) == undisturbed(TASKS)
    assert without_seconds(store.records()) == undisturbed(TASKS)


def test_what_is_finished_is_found_and_only_that(store):
    assert runner.finished(TASKS, DATASETS, store) == {}
    list(runner.run(TASKS[:2], DATASETS, store))
    found = runner.finished(TASKS, DATASETS, store)
    assert list(found) == TASKS[:2]
    assert without_seconds(found.values()) == undisturbed(TASKS[:2])


def test_stopping_half_way_keeps_what_was_done(store):
    with contextlib.closing(runner.run(TASKS, DATASETS, store)) as records:
        next(records), next(records)
    assert len(store.records()) == 2


def test_large_sets_and_the_methods_listed_last_begin(store):
    tasks, _ = plan("random80", "default", DATASETS, ["marginal", "mlp"], 1)
    begun = []

    def note(task, dataset):
        begun.append((task.data, task.method))
        return _runs.a_record(task)

    list(runner.run(tasks, DATASETS, store, run_task=note))
    assert begun == [
        *(("large", "mlp"), ("large", "marginal")),
        *(("small", "mlp"), ("small", "marginal")),
    ]


@pytest.mark.parametrize("field", ["settings_id", "data_hash", "split_hash"])
def test_results_of_something_else_are_never_taken_for_those_asked(store, field):
    record = run_task(TASKS[0], DATASETS["small"])
    store.write({**record, field: "other"})
    with pytest.raises(StoreError, match=f"{field} is 'other' there"):
        runner.finished(TASKS, DATASETS, store)


def test_a_failure_is_kept_and_the_others_go_on(store):
    list(runner.run(TASKS, DATASETS, store, run_task=_runs.fails))
    status = {(r["data"], r["split"]): r["status"] for r in store.records()}
    assert status == {(t.data, t.split): "failed" if t.split == 1 else "done" for t in TASKS}
    assert len(runner.finished(TASKS, DATASETS, store)) == 6


def test_a_task_that_twice_runs_out_of_memory_fails_alone(store, caplog, monkeypatch):
    monkeypatch.setattr(engines, "processes", lambda jobs: parallel_config(backend="sequential"))
    with caplog.at_level(logging.WARNING):
        list(runner.run(TASKS, DATASETS, store, run_task=_runs.needs_too_much_memory))
    found = {task_of(r): r for r in store.records()}
    assert list(found) == sorted(TASKS)
    failed = [found.pop(task) for task in TASKS if task.split == 1]
    assert [r["error"] for r in failed] == [runner.DIED] * 2
    assert all({*record} == {*run_task(TASKS[0], DATASETS["small"])} for record in failed)
    # It is not run once more, unless that is asked for: it may bring the machine down.
    assert list(runner.finished(TASKS, DATASETS, store)) == TASKS
    assert without_seconds(found.values()) == undisturbed(found)
    assert "one by one" in caplog.text


def test_a_task_of_a_process_that_was_killed_runs_again(store, tmp_path):
    mark = tmp_path / "killed"
    datasets = {"small": toy_dataset(40, name="small", source=str(mark))}
    # One alone: each process that gets a task takes seconds to import what it needs.
    list(runner.run(TASKS[:1], datasets, store, jobs=2, run_task=_runs.kills_its_process_once))
    assert mark.exists()
    assert without_seconds(store.records()) == without_seconds(
        [run_task(TASKS[0], datasets["small"])]
    )


@contextlib.contextmanager
def a_process(*args):
    with subprocess.Popen([sys.executable, *args], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def scheduler(tmp_path):
    """The address of a Dask scheduler, and the file that says where it is."""
    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    command = ("-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--no-show")
    with a_process(*command, "--port", "0", "--scheduler-file", str(file)):
        while not (file.exists() and file.read_text().endswith("}")):
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], file


def a_worker(file):
    command = ("-m", "distributed.cli.dask_worker", "--no-dashboard", "--no-nanny")
    return a_process(*command, "--nthreads", "1", "--scheduler-file", str(file))


def kill_when(condition, process):
    def watch():
        while not condition():
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_dask_cluster_that_loses_a_worker_gives_the_undisturbed_results(scheduler, store):
    from distributed import Client

    address, file = scheduler
    tasks, _ = plan("random80", "default", DATASETS, ["marginal"], 20)
    with a_worker(file) as first, a_worker(file), Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        killer = kill_when(lambda: len(store.records()) >= 4, first)
        where = {"engine": "dask", "scheduler": address}
        records = list(runner.run(tasks, DATASETS, store, run_task=_runs.slow, **where))
        killer.join(10)
        assert first.wait(10) == -signal.SIGKILL
        assert len(client.nthreads()) == 1
    assert without_seconds(records) == without_seconds(store.records()) == undisturbed(tasks)


class Client:
    """As far as the workers of a cluster are asked for."""

    def __init__(self, n_threads, lacks=()):
        self.n_threads, self.lacks = n_threads, lacks

    def wait_for_workers(self, n_workers, timeout):
        if not self.n_threads:
            raise TimeoutError

    def nthreads(self):
        return self.n_threads

    def run(self, function, name):
        if self.lacks:
            raise ModuleNotFoundError(f"No module named {self.lacks!r}")
        return {address: function(name) for address in self.n_threads}


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (Client({}), "'tcp://x:1' has no workers"),
        (Client({"a": 1, "b": 2, "c": 4}), "one thread, and b, c has more: .* --nthreads 1"),
        (Client({"a": 1}, "benchmarks_uci"), "No module named 'benchmarks_uci'.*from a checkout"),
    ],
)
def test_workers_that_cannot_run_the_tasks_are_told(client, expected):
    with pytest.raises(EngineError, match=expected):
        engines.check_workers(client, "tcp://x:1")


def test_workers_of_one_thread_will_do():
    engines.check_workers(Client({"a": 1, "b": 1}), "tcp://x:1")


def test_a_task_that_dask_gives_up_is_told(monkeypatch):
    # joblib 1.6 would wait for ever.
    joblib_dask = pytest.importorskip("joblib._dask")
    from distributed.scheduler import KilledWorker

    from benchmarks_uci._dask import Backend

    submitted, told = Future(), []
    monkeypatch.setattr(joblib_dask.DaskDistributedBackend, "submit", lambda *args: submitted)
    backend = object.__new__(Backend)
    backend.submit(None, callback=told.append)
    submitted.set_exception(KilledWorker("task", SimpleNamespace(address="x"), 3))
    assert len(told) == 1
    with pytest.raises(engines.WORKER_DIED, match="task"):
        backend.retrieve_result_callback(told[0])


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "address of its scheduler"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        ({"scheduler": "nonsense://x"}, "nonsense"),
    ],
)
def test_a_cluster_that_is_not_there_is_told(store, where, expected, monkeypatch):
    monkeypatch.setattr(engines, "SECONDS", 1)
    with pytest.raises(EngineError, match=expected):
        list(runner.run(TASKS, DATASETS, store, engine="dask", **where))
