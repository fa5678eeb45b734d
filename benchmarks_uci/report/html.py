"""A report as one HTML file that needs nothing else: style and plots are inside."""

from __future__ import annotations

import base64
from html import escape

from benchmarks_uci.figures import as_bytes
from benchmarks_uci.report.contents import Block, Bullets, Heading, Plot, Text
from benchmarks_uci.report.tables import Table

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #ddd; padding: 0.2rem 0.6rem; vertical-align: top }
figure { margin: 1rem 0; overflow-x: auto }
figcaption { font-weight: 600 }
img { max-width: 100% }
"""


def page(blocks: list[Block]) -> str:
    """The whole page."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Results")
    body = "\n".join(_block(block) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"
        case Table():
            caption = f"<figcaption>{escape(block.title)}</figcaption>"
            return f"<figure>{caption}\n{block.render('html')}\n</figure>"
        case Plot(_, alt, figure):
            data = base64.b64encode(as_bytes(figure, "png")).decode()
            return f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'
    raise TypeError(f"no such block: {block!r}")
