"""`python -m benchmarks_uci classification`: shifts, outliers, and the tables of the studies."""

from __future__ import annotations

import logging

import click

from benchmarks_uci.classification import (
    image_study,
    natural_study,
    outlier_study,
    sets,
    shift_study,
)
from benchmarks_uci.commands.common import Names, add_source_options
from benchmarks_uci.commands.report import make_report
from benchmarks_uci.commands.run import make_run
from benchmarks_uci.threads import threads

logger = logging.getLogger("benchmarks_uci")


@click.group("classification")
def classification():
    """Measure classifiers: calibration under shift, outliers, and prediction sets."""


def _add_study(name, study, text):
    group = click.Group(name, help=text)
    group.add_command(make_run(study))
    group.add_command(make_report(study))
    classification.add_command(group)


_add_study(
    "shift", shift_study.STUDY, "Clean test rows, and test rows shifted at five severities."
)
_add_study(
    "outliers", outlier_study.STUDY, "Shifted rows, a left-out class, and another data set."
)

_add_study("natural", natural_study.STUDY, "Flights: trained on one season, tested on all four.")

_add_study("images", image_study.STUDY, "Convolutional networks, and images of another kind.")


@classification.command()
@click.option("--data", type=Names("set", sets.NAMES), default="all", help="Data sets.")
@add_source_options
def strengths(data, sources):
    """Print the amounts of the shifts at severity 5, chosen on development splits."""
    from benchmarks_uci.classification.strengths import choose_strengths, write_strengths

    found = {}
    with threads(1):
        for name in data:
            found[name] = choose_strengths(sets.load(name, sources))
            logger.info("chosen: %s", name)
    click.echo(write_strengths(found), nl=False)
