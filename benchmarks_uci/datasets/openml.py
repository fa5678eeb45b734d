"""OpenML as a source, through the public interface of openml-python only.

The content hash of the rows decides whether they are right. The rest is left to openml, with these
consequences:

- There is no time limit. openml waits without end for a server that accepts a connection and then
  sends nothing. Without a network, each set waits until the name look-up fails twice.
- openml deletes its copy of a set when it fails to complete that copy.
- openml reads its own pickle of a downloaded file, and does not verify cached files. The content
  hash finds wrong rows in both.
- A cache without write permission works only if it holds that pickle, and never for Parquet files.
- openml prefers Parquet, which it loads by HTTP without a checksum, to ARFF with its MD5 checksum.
- openml creates its configuration and cache folders when it is imported, and logs each request.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import (
    DataCorrupt,
    DataError,
    Dataset,
    DataUnavailable,
    RawTable,
    Sources,
)
from benchmarks_uci.datasets.registry import Spec

# The registry has the ids of this server, so the user's choice of a server does not matter.
SERVER = "https://www.openml.org/api/v1/xml"
TRIES = 2  # of each request, one second apart

logger = logging.getLogger("benchmarks_uci")


def load(spec: Any, sources: Sources, make: Callable[[Any, Any, str], Any] | None = None) -> Any:
    """Load the set from the OpenML cache, or else download it into the cache.

    A cached copy with wrong rows is downloaded again, except offline.

    `spec` has a `name` and an `openml_id`. `make(spec, frame, source)` checks the data frame and
    returns the set; None makes a regression set (`Dataset`).

    Raises
    ------
    DataUnavailable
        The set is not in the cache and could not be downloaded.
    DataCorrupt
        OpenML, or its cache while offline, has other rows than expected.
    """
    if spec.openml_id is None:
        raise DataUnavailable(
            f"{spec.name}: no OpenML id is known for this set; give it with --data-dir."
        )
    make = build_frame if make is None else make
    _require_openml(spec)
    with _configure_openml(spec.openml_id, sources) as (folder, is_cached):
        if not is_cached:
            if sources.offline:
                raise DataUnavailable(
                    f"{spec.name}: not in the OpenML cache ({folder}) and --offline was given. "
                    f"Run once with a network, or put {spec.name}.csv into a folder and pass "
                    f"--data-dir FOLDER."
                )
            return _load(spec, folder, make, "downloaded")
        try:
            return _load(spec, folder, make, "from its cache")
        except DataCorrupt as error:
            if sources.offline:
                raise
            logger.warning("%s The set is downloaded again.", error)
        return _load(spec, folder, make, "downloaded", refresh=True)


def build_frame(spec: Spec, frame, source: str) -> Dataset:
    """Make a regression set from a data frame of OpenML."""
    # openml stores small whole numbers as uint8, which would overflow.
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return build(spec, RawTable(tuple(map(str, frame.columns)), values, source))


def _require_openml(spec) -> None:
    try:
        import openml  # noqa: F401
    # Any class of error: on import openml reads its configuration, creates folders, and imports
    # many packages.
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "openml":
            problem = 'is not installed. pip install "sk-deltauq[openml]"'
        else:
            problem = f"cannot be imported ({type(error).__name__}: {error}). Repair it"
        raise DataUnavailable(
            f"{spec.name}: the package openml {problem}, or pass --data-dir."
        ) from error


@contextlib.contextmanager
def _configure_openml(openml_id: int, sources: Sources):
    """Configure openml, and restore the user's configuration afterwards.

    The context gives the cache folder of the set, and whether that folder holds the rows.
    """
    from openml import config

    before, skip_parquet = config.get_config_as_dict(), config.OPENML_SKIP_PARQUET_ENV_VAR
    variable = os.environ.get(skip_parquet)
    try:
        config.server = SERVER
        config.apikey = ""  # openml would send it with every request
        config.set_retry_policy("human", TRIES)
        if sources.cache_dir is not None:
            config.set_root_cache_directory(sources.cache_dir.expanduser().absolute())
        folder = Path(config.get_cache_directory(), "datasets", str(openml_id))
        has_description, has_arff, has_parquet = (
            os.path.isfile(folder / file)
            for file in ("description.xml", "dataset.arff", f"dataset_{openml_id}.pq")
        )
        is_cached = has_description and (has_arff or has_parquet)
        if is_cached:  # openml would download the other format as well
            os.environ[skip_parquet] = str(not has_parquet).lower()
        if sources.offline:
            # The cache folder depends on the host only, and no request can use this scheme.
            config.server = SERVER.replace(SERVER.partition(":")[0], "offline", 1)
        yield folder, is_cached
    finally:
        config.server, config.apikey = before["server"], before["apikey"]
        config.set_root_cache_directory(before["cachedir"])
        config.set_retry_policy(before["retry_policy"], before["connection_n_retries"])
        os.environ.pop(skip_parquet, None)
        if variable is not None:
            os.environ[skip_parquet] = variable


def _load(spec, folder: Path, make, how: str, refresh: bool = False):
    import openml
    import pandas as pd

    number = str(spec.openml_id)  # a look-up by name asks the server each time
    try:
        dataset = openml.datasets.get_dataset(
            number, download_data=True, force_refresh_cache=refresh
        )
    except MemoryError:
        raise
    # Any class of error: openml has no common one. A web page in place of XML is a bare KeyError.
    except Exception as error:
        raise _explain_failure(error, spec, folder) from error
    source = f"OpenML data set {number} ({dataset.name}, version {dataset.version}), {how}"
    way_out = f"The copy is in {folder}. Delete this folder to download the set again."
    try:
        data, *_ = dataset.get_data(include_row_id=True, include_ignore_attribute=True)
        return make(spec, pd.DataFrame(data), source)
    except MemoryError:
        raise
    except OSError as error:
        raise _explain_failure(error, spec, folder) from error
    except DataCorrupt as error:
        raise DataCorrupt(f"{error} {way_out}") from error
    # Any class of error: a damaged cache file reaches the parsers of ARFF, Parquet and pickle.
    except Exception as error:
        raise DataCorrupt(
            f"{spec.name}: {source}, cannot be read ({type(error).__name__}: {error}). {way_out}"
        ) from error


def _explain_failure(error: Exception, spec, folder: Path) -> DataError:
    """Translate an error of openml into the terms of the command line."""
    import requests
    from openml import exceptions

    name, number = spec.name, spec.openml_id
    text = " ".join(f"{type(error).__name__}: {error}".split())[:400]
    match error:
        case exceptions.OpenMLServerNoResult():
            return DataUnavailable(
                f"{name}: OpenML does not know data set {number} (code {error.code}: "
                f"{error.message}). It may have been withdrawn; pass --data-dir."
            )
        case exceptions.OpenMLHashException():
            return DataCorrupt(
                f"{name}: the file that OpenML sent for data set {number} does not have the MD5 "
                f"of its description ({TRIES} tries). Nothing was kept."
            )
        case requests.RequestException():
            return DataUnavailable(
                f"{name}: OpenML could not be reached or the connection broke off ({TRIES} tries, "
                f"the last error is {text}). Without a network use --data-dir or a filled OpenML "
                f"cache."
            )
        case exceptions.OpenMLCacheException() | OSError():
            return DataUnavailable(
                f"{name}: cannot write to the OpenML cache {folder} ({text}). Set "
                f"OPENML_CACHE_DIR or --cache-dir to a folder with write permission."
            )
    return DataUnavailable(
        f"{name}: OpenML did not send data set {number} ({text}). If this text is a web page, a "
        f"proxy or a login page answered instead. Try again later, or pass --data-dir."
    )
