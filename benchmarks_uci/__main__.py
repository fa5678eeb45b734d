"""The command line: `python -m benchmarks_uci [COMMAND] [options]`; without a command, run."""

from __future__ import annotations

import logging

import click

from benchmarks_uci.commands.common import DefaultRun
from benchmarks_uci.commands.fetch import fetch
from benchmarks_uci.commands.report import report
from benchmarks_uci.commands.run import run
from benchmarks_uci.commands.speed import speed


@click.group(
    cls=DefaultRun,
    commands=[run, fetch, report, speed],
    context_settings={"help_option_names": ["-h", "--help"]},
)
def cli():
    """Measure sk_deltauq on real data. Without a command: run."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, force=True)


if __name__ == "__main__":
    cli(prog_name="python -m benchmarks_uci")
