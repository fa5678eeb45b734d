"""joblib's Dask backend, extended to report a task that the scheduler has given up."""

from __future__ import annotations

from distributed.scheduler import KilledWorker
from joblib._dask import DaskDistributedBackend
from joblib.externals.loky.process_executor import BrokenProcessPool


class Backend(DaskDistributedBackend):
    """joblib's own backend (1.6) waits forever for a task that has killed all its workers."""

    def submit(self, func, callback=None):
        def report(future):
            if callback is not None and (error := future.exception()):
                callback(error)

        future = super().submit(func, callback)
        future.add_done_callback(report)
        return future

    def retrieve_result_callback(self, out):
        if isinstance(out, KilledWorker):
            raise BrokenProcessPool(str(out))
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)
