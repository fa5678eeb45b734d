"""`python -m benchmarks_uci speed`: compare the speed of operations run side by side."""

from __future__ import annotations

import json
import logging
import sys
from itertools import chain

import click
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from benchmarks_uci import figures
from benchmarks_uci.commands.common import (
    FILE,
    Names,
    add_out_option,
    add_source_options,
    check_writable,
)
from benchmarks_uci.speed import curves, measure, results
from benchmarks_uci.speed import device as devices
from benchmarks_uci.threads import threads as limit_threads

logger = logging.getLogger("benchmarks_uci")


def _check_device(context, parameter, device):
    if device is None:
        return None
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise click.BadParameter(f"torch cannot use {device!r} here: {error}") from error
    return device


def _check_plot(context, parameter, path):
    if check_writable(context, parameter, path) is None:
        return None
    if path.suffix[1:] not in figures.FORMATS:
        endings = " or ".join(f".{fmt}" for fmt in figures.FORMATS)
        raise click.BadParameter(f"its name must end in {endings}, got {path.name!r}.")
    try:
        figures.make_figure(1, 1)
    except ImportError as error:
        raise click.BadParameter(str(error)) from error
    return path


@click.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="Tiny sizes: tests the code, measures nothing.")
@click.option("--threads", type=click.IntRange(1), default=1, help="Threads of torch and BLAS.")
@click.option(
    "--only",
    type=Names("measurement", measure.MEASUREMENTS),
    default="all",
    help=f"Measurements: {', '.join(measure.MEASUREMENTS)}.",
)
@click.option(
    "--device",
    callback=_check_device,
    help="A torch device, such as cuda: compare it with the CPU, and measure nothing else.",
)
@add_out_option("JSON file for all results.")
@click.option(
    "--plot",
    type=FILE,
    callback=_check_plot,
    help="PNG or SVG file: cost against rows, features, anchors, members and width.",
)
@add_source_options
def speed(quick, threads, only, device, out, plot, sources):
    """Compare the speed of operations run side by side, and print their ratios.

    With --only, the file of --out keeps its other results.
    """
    if device is not None and plot is not None:
        raise click.UsageError("--plot shows the CPU only: do not combine it with --device.")
    a_part = len(only) < len(measure.MEASUREMENTS)
    if device is not None and a_part:
        raise click.UsageError("--only measures the CPU only: do not combine it with --device.")
    environment = measure.describe_environment(threads, device)
    kept = None
    if out is not None and out.exists() and a_part:
        try:
            kept = results.read_earlier(out, environment)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--out") from error
    found, grown = {}, []
    with limit_threads(threads):
        for name in _announce(only if device is None else [device]):
            if device is None:
                found[name] = measure.run(name, quick, sources)
            else:
                found[name] = devices.measure(quick, device)
        if plot is not None:
            for _ in _announce(["curves"]):
                grown = curves.measure(quick)
    click.echo(results.table(list(chain.from_iterable(found.values()))))
    click.echo(f"\n{measure.explain(environment)}")
    if out is not None:
        report = results.collect(environment, found, grown)
        if kept is not None:
            report = results.merge(kept, report, list(measure.MEASUREMENTS))
        out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if plot is not None:
        plot.write_bytes(figures.as_bytes(curves.plot(grown), plot.suffix[1:]))


def _announce(names):
    """Yield the names, and show each one when its turn comes."""
    bar = tqdm(names, desc="speed", disable=not sys.stderr.isatty())
    with logging_redirect_tqdm():
        for name in bar:
            bar.set_postfix_str(name)
            if bar.disable:
                logger.info("measuring: %s", name)
            yield name
