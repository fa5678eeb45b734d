"""Write formulas as MathML, which browsers show without a script and without a network."""

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def convert(node, **options):
    """Convert LaTeX to MathML. A command that docutils lacks is a warning that names the page."""
    try:
        return latex2mathml.tex2mathml(node.astext(), **options)
    except MathError as error:
        logger.warning("%s in the formula %r", error, node.astext(), location=node)
        return f"<code>{nodes.unescape(node.astext())}</code>"


def visit_math(translator, node):
    """Write a formula in a line of text."""
    translator.body.append(convert(node))
    raise nodes.SkipNode


def visit_displaymath(translator, node):
    """Write a formula as a block of its own."""
    translator.body.append(f'<div class="math">{convert(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; `html_math_renderer = "mathml"` selects it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
