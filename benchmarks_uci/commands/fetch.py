"""`python -m benchmarks_uci fetch`: load every data set, check it, and say where it came from."""

from __future__ import annotations

import logging
import sys

import click
from tabulate import tabulate
from tqdm import tqdm

from benchmarks_uci import datasets
from benchmarks_uci.commands.common import Names, add_source_options, choose_exit_status

logger = logging.getLogger("benchmarks_uci")

HEADERS = "set", "rows", "features", "source", "content hash", "licence"


@click.command(context_settings={"show_default": True})
@click.option("--data", type=Names("set", datasets.NAMES), default="all", help="Data sets.")
@add_source_options
@click.pass_context
def fetch(ctx, data, sources):
    """Load every data set, check it, and print its source.

    OpenML is used if no other source has the set. Its cache keeps the download, so that `run`
    needs no network. Exit status: 3 if a set is not available, 4 if one is not the expected data.
    """
    rows, failed = [], []
    names = tqdm(data, desc="fetch", unit="set", disable=not sys.stderr.isatty())
    for name in names:
        names.set_postfix_str(name)
        if names.disable:
            logger.info("loading %s", name)
        try:
            rows.append(_as_row(datasets.load(name, sources)))
        except datasets.DataError as error:
            failed.append(error)
    if rows:
        click.echo(tabulate(rows, HEADERS, disable_numparse=[3, 4]))
    if failed:
        click.echo(f"\n{len(failed)} of {len(data)} sets are missing:", err=True)
        for error in failed:
            click.echo(f"  {error}", err=True)
        ctx.exit(choose_exit_status(failed))


def _as_row(dataset):
    # `load` compares the whole hash and raises if it differs.
    checked = f"{dataset.content_hash[:12]}, as expected"
    licence = datasets.SETS[dataset.name].licence
    return dataset.name, *dataset.X.shape, dataset.source, checked, licence
