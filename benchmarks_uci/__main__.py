"""The command line: `python -m benchmarks_uci [COMMAND] [options]`; without a command, run."""

from __future__ import annotations

import importlib
import logging

import click

# Imported when they are used: `report` needs no torch, and nothing else needs pandas.
COMMANDS = {
    "choice": "benchmarks_uci.commands.intervals:choice",
    "classification": "benchmarks_uci.commands.classification:classification",
    "conformal": "benchmarks_uci.commands.intervals:conformal",
    "fetch": "benchmarks_uci.commands.fetch:fetch",
    "optimisation": "benchmarks_uci.commands.optimisation:optimisation",
    "report": "benchmarks_uci.commands.report:report",
    "run": "benchmarks_uci.commands.run:run",
    "speed": "benchmarks_uci.commands.speed:speed",
    "trust": "benchmarks_uci.commands.trust:trust",
}


class Commands(click.Group):
    """The commands, with `run` as the default."""

    def list_commands(self, ctx):
        return sorted(COMMANDS)

    def get_command(self, ctx, cmd_name):
        module, _, name = COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(module), name)

    def parse_args(self, ctx, args):
        first = args[0] if args else "-"
        if first.startswith("-") and first not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx, args):
        if args[0] not in COMMANDS:
            from benchmarks_uci.commands.common import explain_unknown

            ctx.fail(explain_unknown("command", args[0], sorted(COMMANDS)))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli():
    """Measure sk_deltauq on real data. Without a command: run."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, force=True)


if __name__ == "__main__":
    cli(prog_name="python -m benchmarks_uci")
