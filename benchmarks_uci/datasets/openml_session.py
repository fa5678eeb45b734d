"""openml with time limits, settings that are put back, and errors that say what to do.

openml 0.15 asks without a time limit, sends its API key with every request, and keeps its
settings in module variables that its own context manager does not restore after an error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

from benchmarks_uci.datasets import openml_cache
from benchmarks_uci.datasets.errors import DataCorrupt, DataError, DataUnavailable
from benchmarks_uci.datasets.registry import Spec

# Tries of one request, a second apart: what openml calls connection_n_retries.
TRIES = 2
# Two tries of two addresses, and finding their name, stay below half a minute.
CONNECT_SECONDS = 5.0
NAME_SECONDS = 5.0

WITHOUT_A_NETWORK = "Without a network use --data-dir or a filled OpenML cache."

_QUIET = logging.getLogger("benchmarks_uci.openml")
_QUIET.setLevel(logging.ERROR)


@dataclass
class Exchange:
    """The last request, and how its answer began; the status is None if there was none."""

    url: str = ""
    status: int | None = None
    start: str = ""


@contextlib.contextmanager
def session(root: Path, timeout: float | None, *, parquet: bool):
    """Let openml work on the cache `root`; give the `Exchange`, kept up to date.

    Parameters
    ----------
    root : Path
    timeout : float or None
        Seconds that the server may be silent; None makes any request an error.
    parquet : bool
        Whether openml may prefer parquet, which has no checksum, to ARFF.
    """
    from openml import _api_calls, config

    exchange = Exchange()
    with (
        _replaced(
            vars(config),
            server=openml_cache.SERVER,
            apikey="",
            _root_cache_directory=root,
            retry_policy="human",
            connection_n_retries=TRIES,
            show_progress=False,
        ),
        # Private names: the test of a server that stalls fails if they move.
        _replaced(
            vars(_api_calls),
            requests=_limited_requests(_api_calls.requests, timeout, exchange),
            minio=_limited_minio(_api_calls.minio, timeout, exchange),
            # It logs each request, and each answer that is not gzipped, to the root logger.
            logging=_QUIET,
        ),
        _replaced(os.environ, OPENML_SKIP_PARQUET=str(not parquet).lower()),
    ):
        yield exchange


@contextlib.contextmanager
def _replaced(variables, **values):
    before = {name: variables[name] for name in values if name in variables}
    variables.update(values)
    try:
        yield
    finally:
        for name in values:
            del variables[name]
        variables.update(before)


def _limited_requests(requests, timeout, exchange):
    """The module as openml sees it, with sessions that do not wait for ever."""

    class Session(requests.Session):
        def request(self, method, url, **kwargs):
            _note(exchange, url, timeout)
            limits = (min(CONNECT_SECONDS, timeout), timeout)
            response = super().request(method, url, **{"timeout": limits, **kwargs})
            exchange.status = response.status_code
            exchange.start = response.content[:200].decode("utf-8", "replace")
            return response

    return SimpleNamespace(**{**vars(requests), "Session": Session})


def _limited_minio(minio, timeout, exchange):
    """The same for the client of parquet files, whose own limit is five minutes, six times."""
    import urllib3

    def client(endpoint, *, secure, http_client=None):
        _note(exchange, f"http://{endpoint}", timeout)
        http_client = http_client or urllib3.PoolManager()
        http_client.connection_pool_kw.update(
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout),
            retries=urllib3.Retry(TRIES - 1),
        )
        return minio.Minio(endpoint=endpoint, secure=secure, http_client=http_client)

    return SimpleNamespace(**{**vars(minio), "Minio": client})


def _note(exchange, url, timeout):
    if timeout is None:
        raise RuntimeError(f"openml asked for {url}, which should have been in the cache")
    exchange.url, exchange.status, exchange.start = url, None, ""


def require_openml(spec: Spec) -> None:
    """Fail, with what to do, unless openml can be imported."""
    try:
        import openml  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "openml":
            raise _cannot_import(spec, error) from error
        raise DataUnavailable(
            f'{spec.name}: the package openml is not installed. pip install "sk-deltauq[openml]", '
            f"or pass --data-dir."
        ) from error
    except Exception as error:  # it reads and makes files on import, and depends on many packages
        raise _cannot_import(spec, error) from error


def _cannot_import(spec, error):
    return DataUnavailable(
        f"{spec.name}: the package openml cannot be imported ({type(error).__name__}: {error}). "
        f"Mend it, or pass --data-dir."
    )


def require_name(spec: Spec) -> None:
    """Fail if the server's name is not found in a few seconds.

    Without a network a resolver may take half a minute for each try, and has no time limit of its
    own.
    """
    host = urlsplit(openml_cache.SERVER)
    proxied = {host.scheme, "all"} & urllib.request.getproxies().keys()
    if proxied and not urllib.request.proxy_bypass(host.netloc):
        return  # the proxy resolves it
    found = threading.Event()

    def look_up():
        with contextlib.suppress(OSError):
            socket.getaddrinfo(host.hostname, host.port)
            found.set()

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(NAME_SECONDS)
    if not found.is_set():
        raise DataUnavailable(
            f"{spec.name}: {openml_cache.SERVER} could not be reached (the name {host.hostname} "
            f"is not found). {WITHOUT_A_NETWORK}"
        )


def explained(error: Exception, spec: Spec, root: Path, exchange: Exchange) -> DataError:
    """What an error during a download means, in the terms of the command line."""
    import requests
    import urllib3
    from openml import exceptions

    name, number, tries = spec.name, spec.openml_id, f"{TRIES} tries" if TRIES > 1 else "1 try"
    url = exchange.url or openml_cache.SERVER
    match error:
        case exceptions.OpenMLServerNoResult():
            return DataUnavailable(
                f"{name}: OpenML does not know data set {number} (code {error.code}: "
                f"{error.message}). It may have been withdrawn; pass --data-dir."
            )
        case exceptions.OpenMLHashException():
            return DataCorrupt(
                f"{name}: the file that OpenML sent for data set {number} does not have the MD5 "
                f"that its description names ({tries}). Nothing was kept."
            )
        case _ if _is_timeout(error):
            return DataUnavailable(
                f"{name}: {url} did not answer in time. Nothing was kept; try again, raise "
                f"--timeout, or pass --data-dir."
            )
        case requests.RequestException() | urllib3.exceptions.HTTPError():
            return DataUnavailable(
                f"{name}: {url} could not be reached or broke off ({tries}, the last a "
                f"{type(error).__name__}). {WITHOUT_A_NETWORK}"
            )
        case exceptions.OpenMLCacheException() | OSError():
            cause = error if isinstance(error, OSError) else error.__cause__ or error
            return openml_cache.not_writable(name, root, cause)
        case exceptions.OpenMLServerException() | exceptions.OpenMLPrivateDatasetError():
            return DataUnavailable(
                f"{name}: OpenML refused data set {number} ({' '.join(str(error).split())}). Try "
                f"again later, or pass --data-dir."
            )
    # Pages instead of the answer end in errors of all kinds, KeyError among them.
    status = "nothing" if exchange.status is None else f"status {exchange.status}"
    start = " ".join(exchange.start.split()) or f"{type(error).__name__}: {error}"[:200]
    return DataUnavailable(
        f"{name}: {url} answered with something that is not OpenML's ({status}: {start}). Is "
        f"there a proxy or a login page in between?"
    )


def _is_timeout(error):
    import requests
    import urllib3

    # The end of a body that never comes is a plain ConnectionError.
    kinds = requests.Timeout, urllib3.exceptions.TimeoutError
    return isinstance(error, kinds) or "Read timed out" in str(error)
