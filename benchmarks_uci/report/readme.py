"""The results in the README are generated from the committed ones, and checked against them."""

from __future__ import annotations

import difflib
from pathlib import Path

from benchmarks_uci.report import sentences
from benchmarks_uci.report.checks import ResultsError
from benchmarks_uci.report.contents import caption
from benchmarks_uci.report.grouping import OURS, the_run
from benchmarks_uci.report.paired import differences, over_sets
from benchmarks_uci.report.records import read
from benchmarks_uci.report.tables import score_table

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks_uci" / "results" / "random80-paper.csv"


def block(records: list[dict]) -> str:
    """What stands between the markers: table, how to read it, and the comparison with Delta-UQ."""
    protocol, preset = the_run(records)
    n_splits = max(record["split"] for record in records) + 1
    parts = [
        f"NLL in nats on {n_splits} splits a set (protocol `{protocol}`, preset `{preset}`), mean "
        "± standard error; lower is better, the best method on each set is in bold.",
        score_table(records).render("markdown"),
        " ".join([sentences.RANKS, *caption(protocol, "nll")[2:]]),
        "\n".join(f"- {line}" for line in comparisons(records)),
    ]
    return "\n\n".join(filter(None, parts))


def comparisons(records: list[dict]) -> list[str]:
    """A line a method: on how many sets Delta-UQ has the lower NLL, and whether that is chance."""
    found = differences(records)
    lines = []
    for method in dict.fromkeys(one.method for one in found):
        of_method = [one for one in found if one.method == method]
        clear = [one.mean for one in of_method if one.p_value is not None and one.p_value < 0.05]
        p_value = over_sets(found, method)
        over = "" if p_value is None else f", p = {p_value:.3f} over the sets (Wilcoxon)"
        lines.append(
            f"`{OURS}` against `{method}`: lower NLL on "
            f"{sum(one.mean > 0 for one in of_method)} of {len(of_method)} sets{over}; by the "
            f"corrected paired t-test at 0.05, better on {sum(mean > 0 for mean in clear)} "
            f"and worse on {sum(mean < 0 for mean in clear)}."
        )
    return lines


def with_block(text: str, new: str) -> str:
    """The text of the README with `new` between the markers, or a `ResultsError` without them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ResultsError(
            f"the README should hold one line {BEGIN} and after it one line {END}, where its "
            f"results are to stand; found {text.count(BEGIN)} and {text.count(END)}."
        )
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{new}\n{END}{rest.split(END)[1]}"


def disagreement(readme: Path = README, results: Path = RESULTS) -> str:
    """A diff from the README as it is to what the committed results say; empty if they agree."""
    text = readme.read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        text.splitlines(),
        with_block(text, block(read(results))).splitlines(),
        readme.name,
        f"{readme.name} by {results.name}",
        lineterm="",
    )
    return "\n".join(lines)


def write(readme: Path = README, results: Path = RESULTS) -> None:
    """Put the block of the committed results into the README."""
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_block(text, block(read(results))), encoding="utf-8")
