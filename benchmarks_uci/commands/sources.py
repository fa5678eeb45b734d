"""The options that say where data may come from, the same for every command that loads some."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import click

from benchmarks_uci.datasets import DataCorrupt, DataError, Sources

UNAVAILABLE, CORRUPT = 3, 4  # exit statuses


def source_options(command):
    """Add the options to a command, which gets them as one `Sources` named `sources`."""

    @click.option(
        "--data-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        envvar="SK_DELTAUQ_DATA_DIR",
        show_envvar=True,
        help="A folder that holds every set asked for; nothing else is then looked at.",
    )
    @click.option(
        "--cache-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The cache of OpenML.  [default: OPENML_CACHE_DIR, else the one that openml uses]",
    )
    @click.option(
        "--offline",
        is_flag=True,
        envvar="SK_DELTAUQ_OFFLINE",
        show_envvar=True,
        help="Leave the network alone.",
    )
    @click.option(
        "--timeout",
        type=click.IntRange(1, 3600),
        default=int(Sources.timeout),
        show_default=True,
        help="Seconds that a server may be silent.",
    )
    @functools.wraps(command)
    def with_sources(*args, data_dir, cache_dir, offline, timeout, **kwargs):
        return command(*args, sources=Sources(data_dir, cache_dir, offline, timeout), **kwargs)

    return with_sources


def exit_status(errors: Iterable[DataError]) -> int:
    """The exit status of a command that lacks these sets: wrong data weigh more than none."""
    return CORRUPT if any(isinstance(error, DataCorrupt) for error in errors) else UNAVAILABLE
