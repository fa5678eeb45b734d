"""`python -m benchmarks_uci run`: run the tasks without a result, and print a table of all."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import joblib
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from benchmarks_uci import datasets
from benchmarks_uci.analysis.lines import find_last_line
from benchmarks_uci.analysis.page import summarise_runs
from benchmarks_uci.commands.common import AllNames, Count, Names, add_source_options
from benchmarks_uci.engine import runner
from benchmarks_uci.engine.backends import BACKENDS, BackendError
from benchmarks_uci.engine.plan import find_finished, plan
from benchmarks_uci.engine.records import ResultsError, read
from benchmarks_uci.engine.store import Store, StoreError
from benchmarks_uci.engine.study import Study, get_task
from benchmarks_uci.regression.study import STUDY

logger = logging.getLogger("benchmarks_uci")

INTERRUPTED = 130  # as shells return after Ctrl-C


def make_run(study: Study) -> click.Command:
    """Return the command that runs a study."""

    def run(ctx, sources=None, **options):
        """Fit every method on every split of every set, and print a table of scores.

        Each result is kept in a file. After an interruption, the same command continues from
        there. Exit status: 1 if a fit failed, 2 for a wrong option, 3 if a set is not available,
        4 if one is not the expected data, 130 after Ctrl-C.
        """
        if (options["engine"] == "dask") != bool(options["scheduler"]):
            raise click.UsageError("--engine dask and --scheduler ADDRESS need each other.")
        source = ctx.get_parameter_source("jobs")
        if options["scheduler"] and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError("--jobs needs --engine processes: a cluster has its workers.")
        try:
            _run(ctx, study, sources=sources, **options)
        except KeyboardInterrupt:
            click.echo(
                f"\nStopped. Finished results are in {options['results']}; run again to continue.",
                err=True,
            )
            ctx.exit(INTERRUPTED)
        except (BackendError, StoreError, ResultsError) as error:
            raise click.ClickException(str(error)) from error

    command = click.pass_context(run)
    options = [*_list_task_options(study), *_EXECUTION_OPTIONS]
    if study.reads_sources:
        options.append(add_source_options)
    for option in reversed(options):
        command = option(command)
    return click.command("run", context_settings={"show_default": True})(command)


def _list_task_options(study: Study) -> list[Callable]:
    """Return the options that say what to run."""
    variants = {"ablations": [study.references[-1], *study.variants]} if study.variants else {}
    help_of_variants = "; ablations: Delta-UQ and its variants" if variants else ""
    return [
        click.option(
            "--data",
            type=Names("set", study.data),
            default=study.defaults["data"],
            help="Data sets; all: every set that is available.",
        ),
        click.option(
            "--methods",
            type=Names("method", study.methods, variants),
            default=study.defaults["methods"],
            help=f"Methods; all: every method of the tables{help_of_variants}.",
        ),
        click.option(
            "--protocol",
            type=click.Choice([*study.protocols]),
            default=study.defaults["protocol"],
            help="How to split the rows.",
        ),
        click.option(
            "--preset",
            type=click.Choice(study.presets),
            default=study.presets[0],
            help="Settings of the methods.",
        ),
        click.option(
            "--splits", type=Count(), default=2, help="Number of splits, from the first."
        ),
    ]


# Options that say where to run, and what not to repeat
_EXECUTION_OPTIONS = [
    click.option(
        "--results",
        type=click.Path(file_okay=False, path_type=Path),
        default="results",
        help="Folder with one file per fit. Fits that have a file are not repeated.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=joblib.cpu_count,
        show_default="one per core",
        help="Number of processes, with one thread each.",
    ),
    click.option(
        "--engine", type=click.Choice(BACKENDS), default="processes", help="Where fits run."
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="For --engine dask: a cluster whose workers have one thread each, and this code.",
    ),
    click.option(
        "--known",
        type=click.Path(exists=True, path_type=Path),
        help="Results to start from: a folder of another run, or a CSV of report --compact. They "
        "are copied.",
    ),
    click.option("--retry-failed", is_flag=True, help="Repeat fits that failed before."),
]


def _run(
    ctx,
    study: Study,
    *,
    data,
    methods,
    protocol,
    preset,
    splits,
    results,
    known,
    retry_failed,
    sources,
    **where,
):
    """Run what has no result, and print all results that were asked for."""
    start = time.perf_counter()
    _check_packages(study, methods)
    store = Store(results, study, read(known, study) if known else ())
    loaded, no_data = _load(study, data, sources)
    tasks, left_out = plan(study, protocol, preset, loaded, methods, splits)
    if not tasks:
        reasons = "; ".join(f"{what}: {why}" for what, why in left_out)
        raise click.UsageError(f"there is nothing to run. {reasons}")
    records = find_finished(study, tasks, loaded, store)
    todo = [t for t in tasks if t not in records or (retry_failed and _has_failed(records[t]))]
    logger.info("%d fits, %d to do; results are in %s.", len(tasks), len(todo), results)
    with contextlib.closing(runner.run(study, todo, loaded, store, **where)) as done:
        for record in _with_progress(study, done, len(todo)):
            records[get_task(record)] = record
    records = {task: records[task] for task in tasks}  # in the order of the table
    if records:
        click.echo(summarise_runs([*records.values()], study))
    for what, why in [*no_data, *left_out]:
        click.echo(f"Left out: {what}: {why}")
    click.echo(f"{len(todo)} fits in {time.perf_counter() - start:.0f} s.")
    if failed := [task for task, record in records.items() if _has_failed(record)]:
        _print_failures({task: find_last_line(records[task]["error"]) for task in failed}, store)
        ctx.exit(1)


def _check_packages(study: Study, names: list[str]) -> None:
    """Raise an error if a method that the user names lacks its package; `all` leaves it out."""
    if isinstance(names, AllNames):
        return
    for name in names:
        if absence := study.method(name).explain_absence():
            raise click.UsageError(f"the method {name} cannot run: {absence}")


def _load(study, names, sources):
    """Load the sets by name; with `all`, a set that is not available is left out."""
    loaded, left_out = {}, []
    for name in names:
        try:
            loaded[name] = study.load(name, sources)
        except datasets.DataUnavailable as error:
            if not isinstance(names, AllNames):
                raise
            left_out.append((name, str(error)))
    if not loaded:
        raise datasets.DataUnavailable(f"no set is available. {left_out[0][1]}")
    return loaded, left_out


def _has_failed(record):
    return record["status"] == "failed"


def _print_failures(failed, store):
    for task, why in failed.items():
        click.echo(f"Failed: {task}: {why}\n  {store.path(task)}", err=True)
    click.echo(
        f"{len(failed)} fits failed; these files hold their tracebacks. --retry-failed repeats "
        "them.",
        err=True,
    )


def _with_progress(study, records, n_tasks):
    """Show a progress bar on a terminal, and log one line per task elsewhere."""
    if sys.stderr.isatty():
        with logging_redirect_tqdm():
            yield from tqdm(records, total=n_tasks, desc="fits", unit="fit")
        return
    first, *_ = study.metrics.values()
    for i, record in enumerate(records, 1):
        if _has_failed(record):
            outcome = f"failed: {find_last_line(record['error'])}"
        else:
            costs = "".join(f", {record[name]:.1f} s" for name in study.costs[:1])
            outcome = f"{first.title} {record[first.name]:.3f}{costs}"
        names = record["data"], record["method"], record["split"]
        logger.info("%d/%d %s %s split %d: %s", i, n_tasks, *names, outcome)
        yield record


run = make_run(STUDY)
