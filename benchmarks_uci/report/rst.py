"""A report as reStructuredText, for the documentation; its plots in files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks_uci.report.contents import Block, Bullets, Heading, Plot, Text
from benchmarks_uci.report.tables import Table

UNDERLINES = "=-~"
MARKUP = re.compile(r"[\\*`_|]|:$")
# What would begin a list, a directive or a transition
BEGINNING = re.compile(r"[^\w\s\\]|\w+[.)](?=\s)")


def page(blocks: Iterable[Block], plots: str = "") -> str:
    """The whole page; a plot is `<name>.svg` in the folder `plots`."""
    return "\n\n".join(_block(block, plots) for block in blocks) + "\n"


def list_table(headers: Iterable[str], rows: Iterable[Iterable[str]], title: str = "") -> str:
    """A table of cells that are reStructuredText already."""
    lines = [f".. list-table:: {title}".rstrip(), "   :header-rows: 1", ""]
    for row in (headers, *rows):
        lines += [f"   {' ' if i else '*'} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text as it is, whatever stands in it, on one line."""
    text = MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
    return f"\\{text}" if BEGINNING.match(text) else text


def _block(block: Block, plots: str) -> str:
    match block:
        case Heading(level, text):
            line = escape(text)
            return f"{line}\n{UNDERLINES[level - 1] * len(line)}"
        case Text(text):
            return escape(text)
        case Bullets(items):
            return "\n".join(f"- {escape(item)}" for item in items)
        case Table():
            return _table(block)
        case Plot(name, alt):
            return f".. image:: {plots}{name}.svg\n   :alt: {escape(alt)}"
    raise TypeError(f"no such block: {block!r}")


def _table(table: Table) -> str:
    rows = [
        [
            f"**{escape(cell)}**" if (i, j) in table.bold else escape(cell)
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(table.rows)
    ]
    return list_table(map(escape, table.headers), rows, escape(table.title))
