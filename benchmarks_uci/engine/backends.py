"""Where tasks run: local processes, or a Dask cluster. Both through joblib."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Iterator

from joblib import parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool

BACKENDS = ("processes", "dask")
SECONDS = 20  # to wait for a scheduler, and for its first worker

# A task may have killed its process; joblib's errors for that derive from loky's.
WORKER_DIED = (BrokenProcessPool, MemoryError)


class BackendError(Exception):
    """Tasks cannot run there; the message says what to do."""


@contextlib.contextmanager
def use_processes(jobs: int) -> Iterator[None]:
    """Let joblib use `jobs` local processes; only this process if `jobs` is 1."""
    # Otherwise a worker outlives a killed run by its fit and five minutes more.
    ending = {"initializer": _end_with, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1, **ending):
        yield


def _end_with(parent):
    """End this process when its parent has ended."""

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def use_dask(scheduler: str | None) -> Iterator[None]:
    """Let joblib use the workers that the Dask scheduler at an address has now."""
    if not scheduler:
        raise BackendError("the engine 'dask' needs the address of its scheduler: --scheduler.")
    try:
        from distributed import Client
        from distributed.client import FutureCancelledError
    except ImportError as error:
        raise BackendError("the engine 'dask' needs Dask: pip install 'dask[distributed]'.") from (
            error
        )
    from benchmarks_uci.engine._dask import Backend

    try:
        client = Client(scheduler, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BackendError(f"no Dask scheduler answers at {scheduler!r}: {error}.") from error
    with client:
        check_workers(client, scheduler)
        try:
            with parallel_config(backend=Backend(client=client)):
                yield
        except (TimeoutError, FutureCancelledError) as error:
            raise BackendError(
                f"the Dask cluster at {scheduler!r} was lost ({error}). Finished results are kept."
            ) from error


def check_workers(client, scheduler: str) -> None:
    """Raise an error that says what to do, unless there are workers and each can run tasks."""
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(1, timeout=SECONDS)
    threads = client.nthreads()
    if not threads:
        raise BackendError(f"the Dask scheduler at {scheduler!r} has no workers: start some.")
    # The thread count of torch and the filters of warnings belong to a process.
    if many := sorted(address for address, n in threads.items() if n > 1):
        raise BackendError(
            f"each Dask worker must have one thread, and {', '.join(many)} has more: start the "
            f"workers with --nthreads 1, and --nworkers for more of them."
        )
    try:
        client.run(importlib.import_module, "benchmarks_uci.engine.execute")
    except ImportError as error:
        raise BackendError(
            f"the workers of the Dask scheduler at {scheduler!r} cannot import the benchmark "
            f"({error}): start them from a checkout of this version, with its dependencies."
        ) from error
