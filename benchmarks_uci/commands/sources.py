"""The options that say where data may come from, the same for every command that loads data."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import click

from benchmarks_uci.datasets import DataCorrupt, DataError, Sources

UNAVAILABLE, CORRUPT = 3, 4  # exit statuses


def source_options(command):
    """Add the options to a command, which receives them as one `Sources` named `sources`."""

    @click.option(
        "--data-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        envvar="SK_DELTAUQ_DATA_DIR",
        show_envvar=True,
        help="Folder with every set that is asked for; no other source is used.",
    )
    @click.option(
        "--cache-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Cache of OpenML.  [default: OPENML_CACHE_DIR, else the cache that openml uses]",
    )
    @click.option(
        "--offline",
        is_flag=True,
        envvar="SK_DELTAUQ_OFFLINE",
        show_envvar=True,
        help="Do not use the network.",
    )
    @click.option(
        "--timeout",
        type=click.IntRange(1, 3600),
        hidden=True,
        help="No effect: openml has no time limit. Kept so that old commands run.",
    )
    @functools.wraps(command)
    def with_sources(*args, data_dir, cache_dir, offline, timeout, **kwargs):
        if timeout is not None:
            click.echo(
                "--timeout has no effect any more: openml waits without a limit. Use --offline "
                "or --data-dir if the server does not answer.",
                err=True,
            )
        return command(*args, sources=Sources(data_dir, cache_dir, offline), **kwargs)

    return with_sources


def exit_status(errors: Iterable[DataError]) -> int:
    """Return the exit status for these errors: wrong data are more serious than missing data."""
    return CORRUPT if any(isinstance(error, DataCorrupt) for error in errors) else UNAVAILABLE
