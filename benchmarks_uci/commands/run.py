"""`python -m benchmarks_uci run`: fit what has no result yet, and print the table of all asked."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from pathlib import Path

import click
import joblib
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from benchmarks_uci import datasets, report, runner
from benchmarks_uci.commands.common import AllNames, Names
from benchmarks_uci.commands.sources import exit_status, source_options
from benchmarks_uci.engines import ENGINES, EngineError
from benchmarks_uci.methods import ABLATIONS, METHODS, PRESETS, REFERENCE
from benchmarks_uci.protocols import PROTOCOLS
from benchmarks_uci.store import Store, StoreError
from benchmarks_uci.task import task_of
from benchmarks_uci.tasks import plan

logger = logging.getLogger("benchmarks_uci")

INTERRUPTED = 130  # what shells give for Ctrl-C


class Count(click.IntRange):
    """A number from 1, or `all`, which is None."""

    name = "count"

    def __init__(self):
        super().__init__(min=1)

    def get_metavar(self, param, ctx=None):
        return "N|all"

    def convert(self, value, param, ctx):
        return None if value == "all" else super().convert(value, param, ctx)


@click.command(context_settings={"show_default": True})
@click.option(
    "--data",
    type=Names("set", datasets.NAMES),
    default="boston,wine",  # with two splits, a matter of a minute on two cores
    help="Sets; all: those that can be had.",
)
@click.option(
    "--methods",
    type=Names("method", METHODS, {"ablations": [REFERENCE, *ABLATIONS]}),
    default="marginal,deltauq,mcdropout,deepensemble,bnn",
    help="Methods; all: those that are compared; ablations: Delta-UQ and what it is without.",
)
@click.option(
    "--protocol", type=click.Choice(list(PROTOCOLS)), default="random80", help="How to split."
)
@click.option("--preset", type=click.Choice(PRESETS), default="default", help="Whose settings.")
@click.option("--splits", type=Count(), default=2, help="The first so many of the splits.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    help="Folder with a file a fit. What it has is not done again.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=joblib.cpu_count,
    show_default="one a core",
    help="Processes, one thread each.",
)
@click.option(
    "--engine", type=click.Choice(ENGINES), default="processes", help="Where the fits run."
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="For --engine dask: a cluster whose workers have one thread each, and this code.",
)
@click.option(
    "--known",
    type=click.Path(exists=True, path_type=Path),
    help="Results to go on from, a folder of another run or a CSV of report --compact; copied.",
)
@click.option("--retry-failed", is_flag=True, help="Do again what failed before.")
@source_options
@click.pass_context
def run(
    ctx, data, methods, protocol, preset, splits, results, known, retry_failed, sources, **where
):
    """Fit every method on every split of every set, and print a table of scores.

    Each result is kept in a file: after a run that was stopped, the same command goes on from
    there. Exit status: 1 if a fit failed, 2 for a wrong option, 3 if a set cannot be had, 4 if
    one is not the expected data, 130 after Ctrl-C.
    """
    if (where["engine"] == "dask") != bool(where["scheduler"]):
        raise click.UsageError("--engine dask and --scheduler ADDRESS go together.")
    if where["scheduler"] and ctx.get_parameter_source("jobs").name == "COMMANDLINE":
        raise click.UsageError("--jobs is of --engine processes: a Dask cluster has its workers.")
    start = time.perf_counter()
    try:
        store = Store(results, report.read(known) if known else ())
        loaded, no_data = _load(data, sources)
        tasks, left_out = plan(protocol, preset, loaded, methods, splits)
        records = runner.finished(tasks, loaded, store)
        todo = [t for t in tasks if t not in records or (retry_failed and _failed(records[t]))]
        logger.info("%d fits, %d to do; results are in %s.", len(tasks), len(todo), results)
        with contextlib.closing(runner.run(todo, loaded, store, **where)) as done:
            for record in _with_progress(done, len(todo)):
                records[task_of(record)] = record
    except KeyboardInterrupt:
        click.echo(f"\nStopped. What was finished is in {results}; run again to go on.", err=True)
        ctx.exit(INTERRUPTED)
    except datasets.DataError as error:
        click.echo(f"Error: {error}", err=True)
        ctx.exit(exit_status([error]))
    except (EngineError, StoreError, report.ResultsError) as error:
        raise click.ClickException(str(error)) from error
    records = {task: records[task] for task in tasks}  # in the order of the table
    _print_results(list(records.values()), [*no_data, *left_out])
    click.echo(f"{len(todo)} fits in {time.perf_counter() - start:.0f} s.")
    if failed := [task for task, record in records.items() if _failed(record)]:
        _print_failures({task: _last_line(records[task]) for task in failed}, store)
        ctx.exit(1)


def _load(names, sources):
    """The sets by name, and those left out with the reason; only of all may some be left out."""
    loaded, left_out = {}, []
    for name in names:
        try:
            loaded[name] = datasets.load(name, sources)
        except datasets.DataUnavailable as error:
            if not isinstance(names, AllNames):
                raise
            left_out.append((name, str(error)))
    if not loaded:
        raise datasets.DataUnavailable(f"no set can be had. {left_out[0][1]}")
    return loaded, left_out


def _failed(record):
    return record["status"] == "failed"


def _last_line(record):
    return record["error"].strip().splitlines()[-1]


def _print_results(records, left_out):
    """The table, what it shows, and what is not in it."""
    if records:
        click.echo(report.table(records))
        click.echo(f"\n{report.notes(records)}")
    for what, why in left_out:
        click.echo(f"Left out: {what}: {why}")


def _print_failures(failed, store):
    for task, why in failed.items():
        click.echo(f"Failed: {task}: {why}\n  {store.path(task)}", err=True)
    click.echo(
        f"{len(failed)} fits failed; these files hold their tracebacks. With --retry-failed they "
        "are done again.",
        err=True,
    )


def _with_progress(records, n_tasks):
    """A progress bar on a terminal, one log line a task elsewhere."""
    if sys.stderr.isatty():
        with logging_redirect_tqdm():
            yield from tqdm(records, total=n_tasks, desc="fits", unit="fit")
        return
    for i, record in enumerate(records, 1):
        if _failed(record):
            told = f"failed: {_last_line(record)}"
        else:
            told = f"NLL {record['nll']:.3f}, {record['fit_seconds']:.1f} s"
        names = record["data"], record["method"], record["split"]
        logger.info("%d/%d %s %s split %d: %s", i, n_tasks, *names, told)
        yield record
