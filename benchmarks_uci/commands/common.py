"""What the commands share: options that are lists of names, and `run` as the default command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

import click


class Names(click.ParamType):
    """Names out of those that exist, with commas between them; `all` means every one.

    `more` are groups of further names: the name of a group stands for all of its names, and `all`
    has none of them.
    """

    name = "names"

    def __init__(
        self, kind: str, existing: Iterable[str], more: Mapping[str, Iterable[str]] | None = None
    ):
        self.kind, self.all = kind, list(existing)
        self.groups = {group: list(names) for group, names in (more or {}).items()}
        further = (name for names in self.groups.values() for name in names)
        self.existing = list(dict.fromkeys([*self.all, *further]))

    def get_metavar(self, param, ctx=None):
        return "NAME[,NAME...]"

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        names = [name for name in value.replace(",", " ").split() if name]
        if names == ["all"]:
            return AllNames(self.all)
        names = [one for name in names for one in self.groups.get(name, [name])]
        for name in names:
            if name not in self.existing:
                self.fail(unknown(self.kind, name, self.existing), param, ctx)
        return list(dict.fromkeys(names)) or self.fail("it is empty.", param, ctx)


class AllNames(list):
    """Every name that exists, because the user said `all`."""


class DefaultRun(click.Group):
    """A group that means `run` where no command is named."""

    def parse_args(self, ctx, args):
        first = args[0] if args else "-"
        if first.startswith("-") and first not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx, args):
        if args[0] not in (commands := self.list_commands(ctx)):
            ctx.fail(unknown("command", args[0], commands))
        return super().resolve_command(ctx, args)


def unknown(kind: str, name: str, existing: list[str]) -> str:
    """Say that a name does not exist, which one may be meant, and which there are."""
    near = difflib.get_close_matches(name.lower(), existing, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"there is no {kind} {name!r}.{hint} There are: {', '.join(existing)}."
