"""The results in the README are generated from the committed ones, and checked against them."""

from __future__ import annotations

import difflib
import re
import textwrap
from pathlib import Path

import pandas as pd

from benchmarks_uci.analysis.frame import make_frame, select_complete, split_runs, summarise
from benchmarks_uci.analysis.tables import format_range, write_pipes
from benchmarks_uci.engine.records import ResultsError, read_compact
from benchmarks_uci.engine.study import Study

# NAME is a file of committed results, without its ending.
MARKER = re.compile(r"<!-- results (\S+): (?:begin|end) -->")
BLOCK = re.compile(r"(<!-- results (\S+): begin -->\n).*?(<!-- results \2: end -->)", re.DOTALL)
WIDTH = 100  # of a line


def write_block(records: list[dict], study: Study) -> str:
    """Write what stands between two markers: one table of means, and how to read it.

    Methods that did not run on every set have no column.
    """
    [((protocol, _), run)] = split_runs(make_frame(records, study))
    means = select_complete(summarise(run, next(iter(study.metrics.values()))))
    n_sets = run.groupby("method", observed=True)["data"].nunique().to_dict()
    most = run["data"].nunique()
    methods = [name for name in study.readme if n_sets.get(name) == most]
    shown = means.reindex(columns=methods).rename(columns=dict(study.readme))
    published = pd.DataFrame({column.title: column.values for column in study.published(protocol)})
    shown[study.sentences["published"]] = published.reindex(shown.index).min(axis="columns")
    shown = shown.round(2) + 0.0  # without the sign of -0.0
    lowest = shown.eq(shown.min(axis="columns"), axis="index")
    texts = shown.map("{:.2f}".format).mask(shown.isna(), "-")
    texts = texts.mask(lowest, "**" + texts + "**")
    rows = [[str(data), *row] for data, row in zip(texts.index, texts.to_numpy(), strict=True)]
    table = write_pipes(["set", *texts.columns], rows)
    n_splits = format_range(len(set(rows["split"])) for _, rows in run.groupby("data"))
    explained = study.sentences["readme"].format(n_splits=n_splits)
    return f"{table}\n\n{textwrap.fill(explained, WIDTH)}"


def update(text: str, results: Path, study: Study) -> str:
    """Return the text of a README with the blocks of the committed results between its markers.

    A `ResultsError` says that there are no pairs of markers, or that a file is missing or damaged.
    """
    n_markers, n_blocks = len(MARKER.findall(text)), len(BLOCK.findall(text))
    if not n_blocks or n_markers != 2 * n_blocks:
        raise ResultsError(
            "the README should hold a pair of lines, <!-- results NAME: begin --> and "
            f"<!-- results NAME: end -->, around what it shows of {results.name}/NAME.csv; "
            f"found {n_markers} such lines and {n_blocks} pairs."
        )

    def replace(match):
        records = read_compact(results / f"{match[2]}.csv", study)
        return f"{match[1]}{write_block(records, study)}\n{match[3]}"

    return BLOCK.sub(replace, text)


def compare(readme: Path, results: Path, study: Study) -> str:
    """Return a diff from the README to what the committed results say; empty if they agree."""
    text = readme.read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        text.splitlines(),
        update(text, results, study).splitlines(),
        readme.name,
        f"{readme.name} by the results",
        lineterm="",
    )
    return "\n".join(lines)
