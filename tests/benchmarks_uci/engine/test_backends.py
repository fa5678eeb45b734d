from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from benchmarks_uci.engine import backends, runner
from benchmarks_uci.engine.backends import BackendError
from benchmarks_uci.engine.store import Store
from benchmarks_uci.regression.study import STUDY


class Client:
    """The parts of a Dask client that concern its workers."""

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
def test_workers_that_cannot_run_tasks_are_an_error(client, expected):
    with pytest.raises(BackendError, match=expected):
        backends.check_workers(client, "tcp://x:1")


def test_workers_of_one_thread_are_accepted():
    backends.check_workers(Client({"a": 1, "b": 1}), "tcp://x:1")


def test_a_task_that_dask_gives_up_is_reported(monkeypatch):
    # joblib 1.6 would wait forever.
    joblib_dask = pytest.importorskip("joblib._dask")
    from distributed.scheduler import KilledWorker

    from benchmarks_uci.engine._dask import Backend

    submitted, reported = Future(), []
    monkeypatch.setattr(joblib_dask.DaskDistributedBackend, "submit", lambda *args: submitted)
    backend = object.__new__(Backend)
    backend.submit(None, callback=reported.append)
    submitted.set_exception(KilledWorker("task", SimpleNamespace(address="x"), 3))
    assert len(reported) == 1
    with pytest.raises(backends.WORKER_DIED, match="task"):
        backend.retrieve_result_callback(reported[0])


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "address of its scheduler"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        ({"scheduler": "nonsense://x"}, "nonsense"),
    ],
)
def test_a_missing_cluster_is_an_error(where, expected, monkeypatch, tmp_path):
    monkeypatch.setattr(backends, "SECONDS", 1)
    with pytest.raises(BackendError, match=expected):
        list(runner.run(STUDY, [], {}, Store(tmp_path, STUDY), engine="dask", **where))
