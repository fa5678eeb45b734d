"""The results in the README are generated from the committed ones, and checked against them."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from benchmarks_uci.report import sentences
from benchmarks_uci.report.cells import cells
from benchmarks_uci.report.checks import ResultsError
from benchmarks_uci.report.contents import ranks_and_others
from benchmarks_uci.report.grouping import grouped, ours, the_run
from benchmarks_uci.report.literature import literature_counts, literature_table
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.paired import differences, over_sets, which_test
from benchmarks_uci.report.records import read
from benchmarks_uci.report.tables import score_table

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks_uci" / "results"
# What is shown is named by its file in there, without the ending.
MARKER = re.compile(r"<!-- results (\S+): (?:begin|end) -->")
BLOCK = re.compile(r"(<!-- results (\S+): begin -->\n).*?(<!-- results \2: end -->)", re.DOTALL)


def block(records: list[dict]) -> str:
    """What stands between two markers: table, how to read it, who is better, and calibration.

    On the literature's splits these are the literature's figures beside Delta-UQ; on all others
    the methods that were run.
    """
    protocol, preset = the_run(records)
    published = literature_table(records)
    table, notes = (
        (published, [sentences.PUBLISHED])
        if published.rows
        else (score_table(records), ranks_and_others(protocol, "nll"))
    )
    lines = [*(literature_counts(records) or comparisons(records)), *calibration(records)]
    parts = [
        f"NLL in nats on {_splits(records)} splits a set (protocol `{protocol}`, preset "
        f"`{preset}`), mean ± standard error; lower is better, the best method on each set is in "
        "bold.",
        table.render("markdown"),
        " ".join(notes),
        "\n".join(f"- {line}" for line in lines),
    ]
    return "\n\n".join(filter(None, parts))


def _splits(records: list[dict]) -> str:
    """How many splits the sets have: "20", or "5 to 20" where it is not the same for all."""
    of_sets = grouped(records, "data").values()
    counts = {len({record["split"] for record in of_set}) for of_set in of_sets}
    return " to ".join(str(count) for count in sorted({min(counts), max(counts)}))


def comparisons(records: list[dict]) -> list[str]:
    """A line a method: on how many sets Delta-UQ has the lower NLL, and whether that is chance."""
    found, reference = differences(records), ours(records)
    test = which_test(the_run(records)[0])
    lines = []
    for method in dict.fromkeys(one.method for one in found):
        of_method = [one for one in found if one.method == method]
        clear = [one.mean for one in of_method if one.p_value is not None and one.p_value < 0.05]
        p_value = over_sets(found, method)
        over = "" if p_value is None else f", p = {p_value:.3f} over the sets (Wilcoxon)"
        lines.append(
            f"`{reference}` against `{method}`: lower NLL on "
            f"{sum(one.mean > 0 for one in of_method)} of {len(of_method)} sets{over}; by the "
            f"{test} at 0.05, better on {sum(mean > 0 for mean in clear)} "
            f"and worse on {sum(mean < 0 for mean in clear)}."
        )
    return lines


def calibration(records: list[dict]) -> list[str]:
    """What the intervals of Delta-UQ hold, and by how much its quantiles are off.

    Of sets with all splits: where some failed or are missing, the table says so.
    """
    reference, lines = ours(records), []
    for score, of_what in (
        ("coverage", "share of the test rows within its 90 % intervals"),
        ("calibration_error", "quantile calibration error"),
    ):
        metric = METRICS[score]
        means = ", ".join(
            f"{data} {cell.mean:.{metric.decimals_of(cell.mean)}f}"
            for (data, method), cell in cells(records, metric).items()
            if method == reference and cell.complete
        )
        if means:
            lines.append(f"`{reference}`, {of_what}: {means}.")
    return lines


def with_blocks(text: str, results: Path = RESULTS) -> str:
    """The text of a README, with what the files in `results` say between its markers.

    Raises
    ------
    ResultsError
        If there are no markers or they are not in pairs, or if a file is missing or damaged.
    """
    n_markers, n_blocks = len(MARKER.findall(text)), len(BLOCK.findall(text))
    if not n_blocks or n_markers != 2 * n_blocks:
        raise ResultsError(
            "the README should hold a pair of lines, <!-- results NAME: begin --> and "
            f"<!-- results NAME: end -->, around what it shows of {results.name}/NAME.csv; "
            f"found {n_markers} such lines and {n_blocks} pairs."
        )
    return BLOCK.sub(lambda m: f"{m[1]}{block(read(results / f'{m[2]}.csv'))}\n{m[3]}", text)


def disagreement(readme: Path = README, results: Path = RESULTS) -> str:
    """A diff from the README as it is to what the committed results say; empty if they agree."""
    text = readme.read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        text.splitlines(),
        with_blocks(text, results).splitlines(),
        readme.name,
        f"{readme.name} by the results",
        lineterm="",
    )
    return "\n".join(lines)


def write(readme: Path = README, results: Path = RESULTS) -> None:
    """Put the blocks of the committed results into the README."""
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_blocks(text, results), encoding="utf-8")
