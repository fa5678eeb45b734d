"""A report as Markdown, its plots in files beside it."""

from __future__ import annotations

from benchmarks_uci.report.contents import Block, Bullets, Heading, Plot, Text
from benchmarks_uci.report.tables import Table, escape_markdown


def page(blocks: list[Block]) -> str:
    """The whole page; a plot is a link to `<name>.svg` in the same folder."""
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escape_markdown(text)}"
        case Text(text):
            return escape_markdown(text)
        case Bullets(items):
            return "\n".join(f"- {escape_markdown(item)}" for item in items)
        case Table():
            return f"{escape_markdown(block.title)}:\n\n{block.render('markdown')}"
        case Plot(name, alt):
            return f"![{escape_markdown(alt)}]({name}.svg)"
    raise TypeError(f"no such block: {block!r}")
