"""joblib's Dask backend, made to tell of a task that the scheduler has given up."""

from __future__ import annotations

from distributed.scheduler import KilledWorker
from joblib._dask import DaskDistributedBackend
from joblib.externals.loky.process_executor import BrokenProcessPool


class Backend(DaskDistributedBackend):
    """joblib's (seen in 1.6) waits for ever when a task has killed all workers it was tried on."""

    def submit(self, func, callback=None):
        def tell(future):
            if error := future.exception():
                callback(error)

        future = super().submit(func, callback)
        future.add_done_callback(tell)
        return future

    def retrieve_result_callback(self, out):
        if isinstance(out, KilledWorker):
            raise BrokenProcessPool(str(out))
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)
