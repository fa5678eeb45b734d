"""The whole report, as Markdown, HTML and reStructuredText."""

import base64
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import docutils.core
import docutils.nodes
import pytest
from benchmarks_uci.report import html, markdown, rst
from benchmarks_uci.report.contents import Bullets, Heading, Plot, Text, contents
from benchmarks_uci.report.tables import Table
from tests.benchmarks_uci.analysis._helpers import failed, records

from benchmarks_uci import methods

pytest.importorskip("matplotlib")
VOID = {"meta", "img", "br"}


class Balanced(HTMLParser):
    """Fails on a tag that is closed out of order, and counts the tags."""

    def __init__(self):
        super().__init__()
        self.open, self.count = [], {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def found(monkeypatch):
    known = {"deltauq": SimpleNamespace(title="Delta-UQ", description="A net.", chosen="By hand.")}
    monkeypatch.setattr(methods, "ALL", known)
    both = [*records(), *records(protocol="gap")]
    place = both[-1]
    both[-1] = failed(place["data"], place["method"], place["split"], protocol="gap")
    return both


def test_contents_have_a_part_a_run(found):
    blocks = contents(found)
    headings = [block.text for block in blocks if isinstance(block, Heading)]
    assert [text for text in headings if "preset" in text] == [
        "gap, preset paper",
        "random80, preset paper",
    ]
    assert headings.count("Baselines beside their published figures") == 1  # not of the gaps
    assert headings.count("Failures and warnings") == 1
    names = [block.name for block in blocks if isinstance(block, Plot)]
    assert names == [
        *("gap-paper-calibration", "gap-paper-ranks"),
        *("random80-paper-calibration", "random80-paper-ranks"),
    ]


def test_markdown_page_holds_everything(found):
    blocks = contents(found)
    page = markdown.page(blocks)
    assert page.startswith("# Results of benchmarks_uci\n\n## gap, preset paper\n")
    assert "](random80-paper-ranks.svg)" in page
    for text in ("paper: Delta-UQ", "Nadeau and Bengio", "How chosen: By hand.", "python 3.11.7"):
        assert text in page
    assert page.count("\n|:--") == sum(isinstance(block, Table) for block in blocks)


def test_html_page_stands_alone(found):
    page = html.page(contents(found[-12:]))  # drawing takes time: one run
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert parser.count["img"] == 2
    assert parser.count["table"] == page.count("<figcaption>")
    assert not re.search(r'(src|href)="(?!data:)', page)
    for data in re.findall(r"data:image/png;base64,([^\"]+)", page):
        assert base64.b64decode(data).startswith(b"\x89PNG")
    for text in ("Average rank", "a method that the", "a processor", "1 of 4 splits failed"):
        assert text in page


def parsed(text):
    """The document that docutils reads; a warning is an error."""
    settings = {"halt_level": 2, "report_level": 5, "file_insertion_enabled": False}
    return docutils.core.publish_doctree(text, settings_overrides=settings)


def texts(document, kind):
    return [node.astext() for node in document.findall(kind)]


def test_rst_page_holds_everything(found):
    blocks = contents(found[-12:])
    document = parsed(rst.page(blocks, plots="plots/"))
    tables = [block for block in blocks if isinstance(block, Table)]
    cells = [cell for table in tables for row in (table.headers, *table.rows) for cell in row]
    assert texts(document, docutils.nodes.entry) == cells
    stressed = [table.rows[i][j] for table in tables for i, j in sorted(table.bold)]
    assert texts(document, docutils.nodes.strong) == stressed
    titles = [block.text for block in blocks if isinstance(block, Heading)]
    assert set(titles) <= set(texts(document, docutils.nodes.title))
    assert [image["uri"] for image in document.findall(docutils.nodes.image)] == [
        "plots/gap-paper-calibration.svg",
        "plots/gap-paper-ranks.svg",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "`x` *y* **z** |s| a_ _b __init__ :math:`x`",
        "- no list",
        "1. no list either",
        "a) nor this",
        ".. note:: no directive",
        "-",
        "-6.79 ± 0.05",
        "a colon::",
        "back\\slash",
        "====",
        "[1]_ http://example.org/a_b",
    ],
)
def test_rst_shows_text_as_it_is(text):
    for blocks in ([Text(text)], [Bullets([text])]):
        [paragraph] = parsed(rst.page(blocks)).findall(docutils.nodes.paragraph)
        assert paragraph.astext() == text
    table = Table(text, [text, text], [[text, text]], bold={(0, 1)})
    document = parsed(rst.page([table]))
    assert texts(document, docutils.nodes.entry) == [text] * 4
    assert texts(document, docutils.nodes.strong) == [text]


def test_text_of_records_cannot_break_the_page():
    blocks = [Heading(1, "<h>"), Text("a <script> | b"), Bullets(["*x*\n<y>"])]
    page = html.page(blocks)
    assert "<script>" not in page
    assert "<title>&lt;h&gt;</title>" in page
    assert markdown.page(blocks) == "# \\<h>\n\na \\<script> \\| b\n\n- \\*x\\* \\<y>\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`x` &lt;", r"\`x\` \&lt;"),
        ("__init__ and _y_", r"\_\_init\_\_ and \_y\_"),
        ("learning_rate_init=[1, 2]", "learning_rate_init=[1, 2]"),
        ("[here](x) [a][b]", r"[here]\(x) [a]\[b]"),
        ("a\\b", r"a\\b"),
    ],
)
def test_markdown_shows_text_as_it_is(text, expected):
    assert markdown.page([Text(text)]) == f"{expected}\n"


@pytest.mark.parametrize("page", [markdown.page, html.page, rst.page])
def test_unknown_block_is_an_error(page):
    with pytest.raises(TypeError, match="no such block: 3"):
        page([3])
