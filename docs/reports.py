"""Reports of the committed results, made whenever the documentation is built."""

from __future__ import annotations

from pathlib import Path

from tables import RESULTS

from benchmarks_uci.figures import as_bytes
from benchmarks_uci.report import read, rst
from benchmarks_uci.report.contents import Heading, Plot, contents


def report(name: str, plots: Path) -> tuple[str, list[Path]]:
    """The report of `NAME.csv` below the title of a page, and the files that it is made of.

    `plots` is a folder beside the page: the plots are written there.
    """
    source = RESULTS / f"{name}.csv"
    blocks = contents(read(source))
    plots.mkdir(exist_ok=True)
    for block in blocks:
        if isinstance(block, Plot):
            (plots / f"{block.name}.svg").write_bytes(as_bytes(block.figure, "svg"))
    blocks = [b for b in blocks if not (isinstance(b, Heading) and b.level == 1)]
    return rst.page(blocks, plots=f"{plots.name}/"), [source, source.with_suffix(".json")]
