"""`python -m benchmarks_uci optimisation`: searches, their report, and the cost of a step."""

from __future__ import annotations

import click

from benchmarks_uci.commands.common import add_out_option
from benchmarks_uci.commands.report import make_report
from benchmarks_uci.commands.run import make_run
from benchmarks_uci.csv_files import write_scores
from benchmarks_uci.optimisation.study import STUDY
from benchmarks_uci.threads import threads


@click.group("optimisation")
def optimisation():
    """Compare surrogates in sequential optimisation. It needs the extra `optimize`."""


optimisation.add_command(make_run(STUDY))
optimisation.add_command(make_report(STUDY))


@optimisation.command(context_settings={"show_default": True})
@click.option("--most", type=click.IntRange(30), default=5000, help="Largest number of points.")
@add_out_option("CSV file to write.")
def cost(most, out):
    """Measure the seconds of one step against the number of points."""
    from benchmarks_uci.optimisation.cost import METHODS, SIZES, measure, tabulate, write

    found = []
    with threads(1):
        for one in measure([n for n in SIZES if n <= most], METHODS):
            found.append(one)
            click.echo(
                f"{one.method}, {one.n_points} points: fit {one.fit_seconds:.2f} s", err=True
            )
    click.echo(tabulate(found).render())
    if out is not None:
        write(found, out)


@optimisation.command(context_settings={"show_default": True})
@click.option("--seeds", type=click.IntRange(1, 10), default=4, help="Number of designs.")
@add_out_option("CSV file to write.")
def spread(seeds, out):
    """Compare errors with the epistemic standard deviation, on 30 points without noise."""
    from benchmarks_uci.optimisation.spread import measure, tabulate

    with threads(1):
        found = measure(seeds)
    click.echo(tabulate(found).render())
    if out is not None:
        write_scores(found, out)
