"""`python -m benchmarks_uci choice` and `conformal`: compare the intervals of several methods."""

from __future__ import annotations

import importlib.util
import logging
import warnings

import click

from benchmarks_uci.commands.common import add_out_option, add_source_options
from benchmarks_uci.csv_files import write_scores
from benchmarks_uci.intervals import choice as choices
from benchmarks_uci.intervals import conformal as conformals
from benchmarks_uci.intervals import simulated as simulations
from benchmarks_uci.threads import threads as limit_threads

logger = logging.getLogger("benchmarks_uci")

OUT = "CSV file for the scores."


def check_packages(names) -> None:
    """Raise an error if an optional package is missing, before anything is fitted."""
    if missing := [name for name in names if importlib.util.find_spec(name) is None]:
        raise click.ClickException(
            f"this comparison needs {' and '.join(missing)}. Install the extra external: "
            'python -m pip install -e ".[benchmark,external]".'
        )


@click.command()
@add_source_options
@add_out_option(OUT)
def choice(sources, out):
    """Compare the intervals of methods that a reader would choose between."""
    check_packages(["mapie", "ngboost"])
    problems, rows = choices.get_problems(sources), []
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows, and bounds of the processes' parameters
        for name, draw_rows in problems.items():
            logger.info("measuring: %s", name)
            for seed in choices.SEEDS:
                rows += choices.measure(name, draw_rows, seed)
    if out is not None:
        write_scores(rows, out)
    click.echo(choices.write_table("score", rows))


@click.command(context_settings={"show_default": True})
@click.option(
    "--simulated", is_flag=True, help="Measure our coverage on simulated data, without MAPIE."
)
@click.option(
    "--repetitions", type=click.IntRange(1), default=60, help="With --simulated: training sets."
)
@add_source_options
@add_out_option(OUT)
def conformal(simulated, repetitions, sources, out):
    """Compare conformal intervals with MAPIE, or measure their coverage."""
    if simulated:
        with limit_threads(1):
            rows = list(simulations.measure_all(repetitions))
        if out is not None:
            write_scores(rows, out)
        click.echo(simulations.write_table(rows))
        return
    check_packages(["mapie"])
    problems, rows = conformals.get_problems(sources), []
    with limit_threads(1):
        for name, draw_rows in problems.items():
            logger.info("measuring: %s", name)
            rows += conformals.measure(name, draw_rows)
    if out is not None:
        write_scores(rows, out)
    click.echo(conformals.write_table(rows))
