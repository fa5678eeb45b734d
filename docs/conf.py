"""Sphinx configuration; builds without a network: sphinx-build -W docs docs/_build/html."""

import sys
from pathlib import Path

from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.util.docutils import SphinxDirective

import sk_deltauq

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # tables.py, reports.py, and benchmarks_uci for them

project = "sk_deltauq"
author = "The sk_deltauq developers"
copyright = "2026, The sk_deltauq developers"
version = release = sk_deltauq.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "myst_parser",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]  # the gallery makes pages of the examples
suppress_warnings = ["myst.header"]  # reports begin at the level of their page
templates_path = ["_templates"]
default_role = "code"  # single backticks, as in the docstrings

autosummary_generate = True
# The docstrings give the types, in words.
autodoc_typehints = "none"
numpydoc_show_class_members = False  # _templates/autosummary/class.rst lists them

# Check all references to our own names. References to other packages need a network connection.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(sklearn|skorch|torch|numpy)\..*")]

# The build draws the figures, so that they always show what the code does.
plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 120)]

# The titles of the axes become the alternative texts of the pictures.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "generated/examples",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reference_url": {"sk_deltauq": None},  # links from the code to our own pages only
}

html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "sk_deltauq"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,  # all sections, none under "More"
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
toc_object_entries_show_parents = (
    "hide"  # the page of a class lists its methods by their short names
)
# A section of one page has no pages to list.
html_sidebars = {name: [] for name in ("index", "install", "genindex", "search")}


def skip_members_of_others(app, what, name, member, skip, options):
    """Skip `get_params`, `to` and similar methods: the packages of the base classes have them."""
    module = getattr(member, "__module__", None) or ""
    from_others = module.startswith(("sklearn.", "torch.", "botorch."))
    return True if from_others else None  # None: autodoc decides


def parse_markdown(directive, text):
    """Parse Markdown with MyST and return its nodes, for the page of a directive."""
    # As docutils' include directive does with `:parser:`. A page in Markdown needs nothing else.
    document = new_document(directive.env.docname, directive.state.document.settings)
    MystParser().parse(text, document)
    return document.children


class BenchmarkTable(SphinxDirective):
    """`benchmark-table:: NAME`, one of `TABLES` in `tables.py`."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        from tables import TABLES

        return parse_markdown(self, TABLES[self.arguments[0]]())


class BenchmarkReport(SphinxDirective):
    """`benchmark-report:: NAME`, of the results in `benchmarks_uci/results/NAME.csv`."""

    required_arguments = 1

    def run(self):
        from reports import report

        text, sources = report(self.arguments[0], plots=HERE / "generated")
        for source in sources:
            self.env.note_dependency(str(source))
        return parse_markdown(self, text)


def setup(app):
    app.add_directive("benchmark-table", BenchmarkTable)
    app.add_directive("benchmark-report", BenchmarkReport)
    app.connect("autodoc-skip-member", skip_members_of_others)
