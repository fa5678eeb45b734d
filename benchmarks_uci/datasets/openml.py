"""OpenML as a source: what its cache holds, and a download into it."""

from __future__ import annotations

import logging
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets import openml_cache
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import RawTable
from benchmarks_uci.datasets.errors import DataCorrupt, DataError, DataUnavailable
from benchmarks_uci.datasets.openml_cache import Entry
from benchmarks_uci.datasets.openml_session import (
    WITHOUT_A_NETWORK,
    explained,
    require_name,
    require_openml,
    session,
)
from benchmarks_uci.datasets.registry import Spec
from benchmarks_uci.datasets.sources import Sources

# A server that did not answer at all is not asked for the next set at once: without a network,
# nine sets would take nine times as long to say so.
SILENCE_SECONDS = 60.0
_silent_since: dict[str, float] = {}

logger = logging.getLogger("benchmarks_uci")


def read_cache(spec: Spec, sources: Sources) -> RawTable | None:
    """The rows of the set that openml has in its cache, None if it has none.

    None too, and a warning in the log, if they are there but cannot be read at all: another
    source may have them, and `download` says why if not.

    Raises
    ------
    DataCorrupt
        The cached files are not those that were downloaded, or cannot be parsed.
    """
    try:
        return _from_cache(spec, sources)
    except DataUnavailable as error:
        logger.warning("%s", error)
        return None


def _from_cache(spec, sources):
    if spec.openml_id is None:
        return None
    entry = Entry.of(openml_cache.root(sources), spec.openml_id)
    if entry.data_file() is None:
        return None
    require_openml(spec)
    try:
        with tempfile.TemporaryDirectory(prefix="openml-") as root:
            entry.copy_to(Entry.of(Path(root), spec.openml_id), spec.name)
            return _parsed(spec, Path(root), "from its cache", entry.way_out())
    except OSError as error:
        raise DataUnavailable(
            f"{spec.name}: the OpenML cache {entry.folder} cannot be read, or not be copied to a "
            f"temporary folder ({error})."
        ) from error


def download(spec: Spec, sources: Sources) -> RawTable:
    """The rows of the set from OpenML, which are then in its cache, if they are the expected ones.

    Raises
    ------
    DataUnavailable
        They could not be had; what the cache held before is still there.
    DataCorrupt
        Other rows came than expected. They are not kept.
    """
    if spec.openml_id is None:
        raise DataUnavailable(
            f"{spec.name}: no OpenML id is known for this set; give it with --data-dir."
        )
    root = openml_cache.root(sources)
    entry = Entry.of(root, spec.openml_id)
    if sources.offline:
        if entry.data_file() and (table := _from_cache(spec, sources)):
            return table
        raise DataUnavailable(
            f"{spec.name}: not in the OpenML cache ({entry.folder}) and --offline was given. "
            f"Run once with a network, or put {spec.name}.csv into a folder and pass --data-dir "
            f"FOLDER."
        )
    require_openml(spec)
    _require_network(spec)
    with openml_cache.staging(spec.name, root) as stage:
        try:
            _fetch(spec, root, stage, sources.timeout)
            staged = Entry.of(stage, spec.openml_id)
            if staged.data_file() is None:
                raise DataCorrupt(
                    f"{spec.name}: what OpenML sent for data set {spec.openml_id} describes "
                    f"another one. Nothing was kept."
                )
            table = _parsed(spec, stage, "downloaded", "Nothing was kept.")
            build(spec, table)  # for its checks
            staged.move_to(entry)
        except OSError as error:
            raise openml_cache.not_writable(spec.name, root, error) from error
    return table


def _require_network(spec):
    since = _silent_since.get(openml_cache.SERVER)
    if since is not None and time.monotonic() - since < SILENCE_SECONDS:
        raise DataUnavailable(
            f"{spec.name}: {openml_cache.SERVER} did not answer a moment ago and was not asked "
            f"again. {WITHOUT_A_NETWORK}"
        )
    try:
        require_name(spec)
    except DataUnavailable:
        _silent_since[openml_cache.SERVER] = time.monotonic()
        raise


def _fetch(spec, root, stage, timeout):
    """Let openml fill the staging folder, with ARFF or else parquet."""
    # ARFF has a checksum. OpenML has lost ARFF files for days while parquet was there.
    for parquet in (False, True):
        with session(stage, timeout, parquet=parquet) as exchange:
            try:
                _openml_dataset(spec)
                return
            except MemoryError:
                raise
            except Exception as error:  # for a page openml raises even a bare KeyError
                asked_for_rows = not exchange.url.startswith(openml_cache.SERVER)
                if exchange.status == 404 and asked_for_rows and not parquet:
                    continue
                if exchange.status is None and not asked_for_rows:
                    _silent_since[openml_cache.SERVER] = time.monotonic()
                raise explained(error, spec, root, exchange) from error


def _openml_dataset(spec):
    import openml

    # By the id alone: a look-up by name asks the server each time, and may find another version.
    return openml.datasets.get_dataset(spec.openml_id, download_data=True)


def _parsed(spec, root, how, way_out):
    """All columns of the set in the cache `root`, as numbers; nothing is asked for."""
    parquet = Entry.of(root, spec.openml_id).data_file().suffix == ".pq"
    try:
        with session(root, timeout=None, parquet=parquet):
            dataset = _openml_dataset(spec)
            frame, *_ = dataset.get_data(include_row_id=True, include_ignore_attribute=True)
        source = f"OpenML data set {spec.openml_id} ({dataset.name}, version {dataset.version})"
        columns = [_numbers(spec, source, column) for _, column in frame.items()]
    except (DataError, MemoryError, OSError):
        raise
    except Exception as error:  # openml's parsers, of files that may hold anything
        raise DataCorrupt(
            f"{spec.name}: OpenML data set {spec.openml_id}, {how}, cannot be read "
            f"({type(error).__name__}: {error}). {way_out}"
        ) from error
    return RawTable(tuple(map(str, frame.columns)), np.column_stack(columns), f"{source}, {how}")


def _numbers(spec, source, column):
    """A column as float64: nominal ones by what they spell, small integers out of their uint8."""
    if column.dtype.name == "category":
        column = column.astype(object)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise DataCorrupt(
            f"{spec.name}: {source} is not the expected data: column {column.name} is not of "
            f"numbers ({error})."
        ) from error
