"""`python -m benchmarks_uci trust`: measure the intervals where they are easily wrong."""

from __future__ import annotations

import logging
import sys

import click
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from benchmarks_uci.commands.common import Names, add_out_option
from benchmarks_uci.threads import threads as limit_threads
from benchmarks_uci.trust import report, results, runner, uci
from benchmarks_uci.trust.cases import CASES, SITUATIONS

logger = logging.getLogger("benchmarks_uci")


@click.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="One seed, two epochs: tests the code only.")
@click.option("--threads", type=click.IntRange(1), default=1, help="Threads of torch and BLAS.")
@click.option(
    "--only",
    type=Names("situation", SITUATIONS),
    default="all",
    help=f"Situations: {', '.join(SITUATIONS)}.",
)
@add_out_option("CSV file for the scores.")
@click.option("--report", "of_report", is_flag=True, help="Fit nothing, show committed results.")
def trust(quick, threads, only, out, of_report):
    """Measure the intervals where they are easily wrong, and compare them with the goals.

    With --only, the file of --out keeps its other situations.
    """
    if of_report:
        click.echo(report.write_report(report.read_committed()))
        click.echo(f"\n{uci.write_report()}")
        return
    earlier = []
    if out is not None and out.exists() and len(only) < len(SITUATIONS):
        try:
            earlier = results.read(out)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--out") from error
    cases = [case for case in CASES if case.situation in only]
    if quick:
        cases = runner.select_quick(cases)
    with limit_threads(threads):
        rows = [row for case in _announce(cases) for row in runner.run_case(case, quick)]
    click.echo(report.write_report({**report.read_first(), "this run": rows}))
    if out is not None:
        results.write(results.merge(earlier, rows, SITUATIONS), out)


def _announce(cases):
    """Yield the cases, and show the situation of each one when its turn comes."""
    bar = tqdm(cases, desc="trust", disable=not sys.stderr.isatty())
    shown = ""
    with logging_redirect_tqdm():
        for case in bar:
            bar.set_postfix_str(case.situation)
            if bar.disable and case.situation != shown:
                logger.info("measuring: %s", case.situation)
            shown = case.situation
            yield case
