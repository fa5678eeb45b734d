import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from joblib import parallel_config

from benchmarks_uci.engine import backends, runner
from benchmarks_uci.engine.execute import run_task
from benchmarks_uci.engine.plan import find_finished, plan
from benchmarks_uci.engine.records import read
from benchmarks_uci.engine.store import Store
from benchmarks_uci.engine.study import get_task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci import _runs
from tests.benchmarks_uci._helpers import toy_dataset
from tests.benchmarks_uci._runs import without_seconds

DATASETS = {
    "small": toy_dataset(40, name="small"),
    "large": toy_dataset(80, name="large", seed=1),
}
TASKS, _ = plan(STUDY, "random80", "default", DATASETS, ["marginal"], 3)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results", STUDY)


def records(store):
    return read(store.folder, STUDY)


def undisturbed(tasks):
    return without_seconds(run_task(STUDY, task, DATASETS[task.data]) for task in tasks)


def test_each_record_is_kept_before_it_is_yielded(store):
    seen = []
    for record in runner.run(STUDY, TASKS, DATASETS, store):
        seen.append(record)
        assert len(records(store)) == len(seen)
    assert without_seconds(seen) == undisturbed(TASKS)
    assert without_seconds(records(store)) == undisturbed(TASKS)


def test_stopping_early_keeps_finished_records(store):
    with contextlib.closing(runner.run(STUDY, TASKS, DATASETS, store)) as running:
        next(running), next(running)
    assert len(records(store)) == 2


def test_large_sets_and_slow_methods_begin(store):
    tasks, _ = plan(STUDY, "random80", "default", DATASETS, ["marginal", "mlp"], 1)
    begun = []

    def note(study, task, dataset):
        begun.append((task.data, task.method))
        return _runs.a_record(task)

    list(runner.run(STUDY, tasks, DATASETS, store, run_task=note))
    assert begun == [
        *(("large", "mlp"), ("large", "marginal")),
        *(("small", "mlp"), ("small", "marginal")),
    ]


def test_a_failure_is_kept_and_the_others_go_on(store):
    list(runner.run(STUDY, TASKS, DATASETS, store, run_task=_runs.fails))
    status = {(r["data"], r["split"]): r["status"] for r in records(store)}
    assert status == {(t.data, t.split): "failed" if t.split == 1 else "done" for t in TASKS}
    assert len(find_finished(STUDY, TASKS, DATASETS, store)) == 6


def test_a_task_that_twice_runs_out_of_memory_fails_alone(store, caplog, monkeypatch):
    monkeypatch.setattr(
        backends, "use_processes", lambda jobs: parallel_config(backend="sequential")
    )
    with caplog.at_level(logging.WARNING):
        list(runner.run(STUDY, TASKS, DATASETS, store, run_task=_runs.needs_too_much_memory))
    found = {get_task(r): r for r in records(store)}
    assert list(found) == sorted(TASKS)
    failed = [found.pop(task) for task in TASKS if task.split == 1]
    assert [r["error"] for r in failed] == [runner.DIED] * 2
    assert all({*record} == {*run_task(STUDY, TASKS[0], DATASETS["small"])} for record in failed)
    # It runs again only on request, because it may use up the memory of the machine.
    assert list(find_finished(STUDY, TASKS, DATASETS, store)) == TASKS
    assert without_seconds(found.values()) == undisturbed(found)
    assert "one by one" in caplog.text


def test_a_task_of_a_process_that_was_killed_runs_again(store, tmp_path):
    mark = tmp_path / "killed"
    datasets = {"small": toy_dataset(40, name="small", source=str(mark))}
    # Only one task: each process that gets a task takes seconds to import.
    list(
        runner.run(
            STUDY, TASKS[:1], datasets, store, jobs=2, run_task=_runs.kills_its_process_once
        )
    )
    assert mark.exists()
    assert without_seconds(records(store)) == without_seconds(
        [run_task(STUDY, TASKS[0], datasets["small"])]
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


def test_workers_of_dask_give_the_same_results(store):
    """In threads of this process, which start at once."""
    distributed = pytest.importorskip("distributed")
    quiet = {"processes": False, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster:
        where = {"engine": "dask", "scheduler": cluster.scheduler_address}
        found = list(runner.run(STUDY, TASKS, DATASETS, store, **where))
    assert without_seconds(found) == without_seconds(records(store)) == undisturbed(TASKS)


@pytest.mark.long
def test_dask_cluster_that_loses_a_worker_gives_the_undisturbed_results(scheduler, store):
    from distributed import Client

    address, file = scheduler
    tasks, _ = plan(STUDY, "random80", "default", DATASETS, ["marginal"], 20)
    with a_worker(file) as first, a_worker(file), Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        killer = kill_when(lambda: len([*store.folder.rglob("0*.json")]) >= 4, first)
        where = {"engine": "dask", "scheduler": address}
        found = list(runner.run(STUDY, tasks, DATASETS, store, run_task=_runs.slow, **where))
        killer.join(10)
        assert first.wait(10) == -signal.SIGKILL
        assert len(client.nthreads()) == 1
    assert without_seconds(found) == without_seconds(records(store)) == undisturbed(tasks)
