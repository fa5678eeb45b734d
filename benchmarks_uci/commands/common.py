"""Options and exit statuses that several commands share."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from benchmarks_uci.datasets import DataCorrupt, DataError, Sources


def check_writable(context, parameter, path):
    """Say that a file cannot be written before minutes are spent on its contents."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(path.parent)!r}.")
    return path


FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


def add_out_option(help: str):
    """Return the option `--out`, for a file that is written at the end."""
    return click.option("--out", type=FILE, callback=check_writable, help=help)


class Names(click.ParamType):
    """A list of existing names, separated by commas; `all` means every one.

    `more` are groups of further names: the name of a group means all names in it, and `all`
    includes none of them.
    """

    name = "names"

    def __init__(
        self, kind: str, existing: Iterable[str], more: Mapping[str, Iterable[str]] | None = None
    ):
        self.kind, self.all = kind, list(existing)
        self.groups = {group: list(names) for group, names in (more or {}).items()}
        further = (name for names in self.groups.values() for name in names)
        self.existing = list(dict.fromkeys([*self.all, *further]))

    def get_metavar(self, param, ctx=None):
        return "NAME[,NAME...]"

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        names = value.replace(",", " ").split()
        if names == ["all"]:
            return AllNames(self.all)
        groups = {"all": self.all, **self.groups}
        names = [one for name in names for one in groups.get(name, [name])]
        for name in names:
            if name not in self.existing:
                self.fail(explain_unknown(self.kind, name, self.existing), param, ctx)
        return list(dict.fromkeys(names)) or self.fail("it is empty.", param, ctx)


class AllNames(list):
    """Every existing name, because the user gave `all`."""


class Count(click.ParamType):
    """A number from 1, or `all`, which is None."""

    name = "count"

    def get_metavar(self, param, ctx=None):
        return "N|all"

    def convert(self, value, param, ctx):
        return None if value == "all" else click.IntRange(1).convert(value, param, ctx)


def explain_unknown(kind: str, name: str, existing: list[str]) -> str:
    """Say that a name does not exist, which similar name does, and which names exist."""
    near = difflib.get_close_matches(name.lower(), existing, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"there is no {kind} {name!r}.{hint} There are: {', '.join(existing)}."


UNAVAILABLE, CORRUPT = 3, 4  # exit statuses


def add_source_options(command):
    """Add the options to a command, which receives them as one `Sources` named `sources`.

    The command ends with the exit status of a `DataError` that it raises.
    """

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
    @click.pass_context
    @functools.wraps(command)
    def with_sources(ctx, *args, data_dir, cache_dir, offline, timeout, **kwargs):
        if timeout is not None:
            click.echo(
                "--timeout has no effect any more: openml waits without a limit. Use --offline "
                "or --data-dir if the server does not answer.",
                err=True,
            )
        try:
            return command(*args, sources=Sources(data_dir, cache_dir, offline), **kwargs)
        except DataError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(choose_exit_status([error]))

    return with_sources


def choose_exit_status(errors: Iterable[DataError]) -> int:
    """Return the exit status for these errors: wrong data are more serious than missing data."""
    return CORRUPT if any(isinstance(error, DataCorrupt) for error in errors) else UNAVAILABLE
