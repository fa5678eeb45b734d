"""The command line: `python -m benchmarks_uci [run | speed] [options]`; without a command, run."""

from __future__ import annotations

import difflib
import json
import logging
import sys
import time
from pathlib import Path

import click
from tqdm import tqdm

from benchmarks_uci import report
from benchmarks_uci.datasets import DATASETS
from benchmarks_uci.methods import METHODS
from benchmarks_uci.runner import all_tasks, run_tasks
from benchmarks_uci.speed import measure, results

logger = logging.getLogger("benchmarks_uci")


class Names(click.ParamType):
    """Names out of those that exist, with commas between them."""

    name = "names"

    def __init__(self, kind: str, existing):
        self.kind, self.existing = kind, list(existing)

    def get_metavar(self, param, ctx=None):
        return "NAME[,NAME...]"

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        names = [name for name in value.replace(",", " ").split() if name]
        for name in names:
            if name not in self.existing:
                near = difflib.get_close_matches(name.lower(), self.existing, n=1, cutoff=0.5)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                self.fail(
                    f"there is no {self.kind} {name!r}.{hint} There are: "
                    f"{', '.join(self.existing)}.",
                    param,
                    ctx,
                )
        return list(dict.fromkeys(names)) or self.fail("it is empty.", param, ctx)


class DefaultRun(click.Group):
    """A group that means `run` where no command is named."""

    def parse_args(self, ctx, args):
        first = args[0] if args else "-"
        if first.startswith("-") and first not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx, args):
        name, commands = args[0], self.list_commands(ctx)
        if name not in commands:
            near = difflib.get_close_matches(name, commands, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"there is no command {name!r}.{hint} There are: {', '.join(commands)}.")
        return super().resolve_command(ctx, args)


@click.group(cls=DefaultRun, context_settings={"help_option_names": ["-h", "--help"]})
def cli():
    """Measure sk_deltauq on real data. Without a command: run."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, force=True)


@cli.command(context_settings={"show_default": True})
@click.option("--data", type=Names("set", DATASETS), default=",".join(DATASETS), help="Sets.")
@click.option(
    "--methods", type=Names("method", METHODS), default=",".join(METHODS), help="Methods."
)
@click.option(
    "--splits", type=click.IntRange(1), default=5, help="Random 80/20 splits, seeds 0, 1, ..."
)
@click.option("--jobs", type=click.IntRange(1), default=2, help="Processes, one thread each.")
def run(data, methods, splits, jobs):
    """Fit every method on every split of every set, and print a table of scores."""
    tasks = all_tasks(data, methods, splits)
    order = {(t.data, t.method, t.split): i for i, t in enumerate(tasks)}
    start = time.perf_counter()
    records = list(_with_progress(run_tasks(tasks, jobs), len(tasks)))
    records.sort(key=lambda r: order[r["data"], r["method"], r["split"]])
    click.echo(report.table(records))
    click.echo(f"\n{report.notes(records)}")
    click.echo(f"{len(tasks)} fits in {time.perf_counter() - start:.0f} s, {jobs} processes.")


@cli.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="Tiny sizes: tries the code, measures nothing.")
@click.option("--threads", type=click.IntRange(1), default=1, help="Threads of torch and BLAS.")
@click.option(
    "--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="JSON file."
)
def speed(quick, threads, out):
    """Compare the speed of things run side by side, and print their ratios."""
    if out is not None and not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(out.parent)!r}.", param_hint="--out")
    steps = tqdm(measure.MEASUREMENTS, desc="speed", disable=not sys.stderr.isatty())
    found = []
    for name in steps:
        steps.set_postfix_str(name)
        if steps.disable:
            logger.info("measuring: %s", name)
        found += measure.run(name, quick=quick, n_threads=threads)
    click.echo(results.table(found))
    click.echo(f"\n{measure.notes(threads)}")
    if out is not None:
        out.write_text(json.dumps(measure.as_json(found, threads), indent=1) + "\n")


def _with_progress(records, n_tasks):
    """A progress bar on a terminal, one log line a task elsewhere."""
    if sys.stderr.isatty():
        yield from tqdm(records, total=n_tasks, desc="fits", unit="fit")
        return
    for i, record in enumerate(records, 1):
        logger.info(
            "%d/%d %s %s split %d: NLL %.3f, %.1f s",
            *(i, n_tasks, record["data"], record["method"], record["split"]),
            *(record["nll"], record["fit_seconds"]),
        )
        yield record


if __name__ == "__main__":
    cli(prog_name="python -m benchmarks_uci")
