"""Reports of the committed results as Markdown, made whenever the pages are built."""

from __future__ import annotations

from pathlib import Path

from tables import RESULTS

from benchmarks_uci.analysis.page import write_page
from benchmarks_uci.engine.records import read
from benchmarks_uci.figures import as_bytes
from benchmarks_uci.regression.study import STUDY


def report(name: str, plots: Path) -> tuple[str, list[Path]]:
    """Return the report of `NAME.csv` without the title of a page, and the files it is made of.

    `plots` is a folder beside the page; the plots are written there.
    """
    source = RESULTS / f"{name}.csv"
    text, figures = write_page(read(source, STUDY), STUDY, "nll", f"{plots.name}/")
    plots.mkdir(exist_ok=True)
    for plot, figure in figures.items():
        (plots / f"{plot}.svg").write_bytes(as_bytes(figure, "svg"))
    return text.partition("\n\n")[2], [source, source.with_suffix(".json")]
