"""`python -m benchmarks_uci speed`: compare the speed of things run side by side."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import click
import torch
from tqdm import tqdm

from benchmarks_uci.speed import measure, results

logger = logging.getLogger("benchmarks_uci")


def _usable(device: str) -> str:
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise click.BadParameter(f"torch cannot use {device!r} here: {error}") from error
    return device


@click.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="Tiny sizes: tries the code, measures nothing.")
@click.option("--threads", type=click.IntRange(1), default=1, help="Threads of torch and BLAS.")
@click.option(
    "--device",
    callback=lambda context, parameter, name: name and _usable(name),
    help="A device of torch, such as cuda, to measure beside the CPU, and nothing else.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="JSON file."
)
def speed(quick, threads, device, out):
    """Compare the speed of things run side by side, and print their ratios."""
    if out is not None and not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(out.parent)!r}.", param_hint="--out")
    steps = tqdm(measure.names(device), desc="speed", disable=not sys.stderr.isatty())
    found = []
    for name in steps:
        steps.set_postfix_str(name)
        if steps.disable:
            logger.info("measuring: %s", name)
        found += measure.run(name, quick=quick, n_threads=threads)
    click.echo(results.table(found))
    click.echo(f"\n{measure.notes(threads, device)}")
    if out is not None:
        out.write_text(json.dumps(measure.as_json(found, threads, device), indent=1) + "\n")
