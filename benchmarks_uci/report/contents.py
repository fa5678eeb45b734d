"""What a report holds, in order; how it looks is for `markdown`, `html` and `rst`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks_uci.report import fairness, plots, sentences, variants
from benchmarks_uci.report.grouping import by_run
from benchmarks_uci.report.literature import literature_counts, literature_table
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.paired import explanation, paired_table
from benchmarks_uci.report.reference import beside
from benchmarks_uci.report.tables import Table, all_metrics, score_table


@dataclass(frozen=True)
class Heading:
    """A title; `level` 1 is that of the page."""

    level: int
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: list[str]


@dataclass(frozen=True)
class Plot:
    """A matplotlib figure; `name` is that of its file, without an ending."""

    name: str
    alt: str
    figure: Any


Block = Heading | Text | Bullets | Table | Plot


def contents(records: list[dict], metric: str = "nll") -> list[Block]:
    """Everything to show, one part a protocol and preset."""
    blocks: list[Block] = [Heading(1, "Results of benchmarks_uci")]
    for (protocol, preset), run in by_run(records).items():
        blocks += [Heading(2, f"{protocol}, preset {preset}"), *_run(run, protocol, metric)]
    return [
        *blocks,
        Heading(2, "Versions and machines"),
        Bullets(sentences.environment_lines(records)),
    ]


def main_table(run: list[dict], metric: str) -> tuple[Table, list[str]]:
    """What a run is about, and how to read it, a sentence or two each."""
    protocol = run[0]["protocol"]
    if METRICS[metric].loss and variants.of_variants(run):
        return variants.variant_table(run, metric), [variants.explanation(protocol)]
    return score_table(run, metric), caption(protocol, metric)


def caption(protocol: str, metric: str) -> list[str]:
    """How to read `score_table`, a sentence or two each."""
    return [sentences.SCORES, *ranks_and_others(protocol, metric)]


def ranks_and_others(protocol: str, metric: str) -> list[str]:
    """How to read the ranks of `score_table`, and its columns of others' figures if it has any."""
    lines = [sentences.RANKS]
    if beside(protocol, metric):
        lines.append(sentences.PAPER if protocol == "random80" else sentences.PUBLISHED)
    return lines


def _run(run: list[dict], protocol: str, metric: str) -> list[Block]:
    table, explained = main_table(run, metric)
    blocks = [
        table,
        *map(Text, explained),
        *([] if variants.of_variants(run) else _comparison(run, protocol, metric)),
        Heading(3, "All scores, set by set"),
        *all_metrics(run),
        Heading(3, "Methods, their settings, and how these were chosen"),
        Bullets(sentences.settings_lines(run)),
        Heading(3, "Data"),
        Bullets(sentences.data_lines(run)),
    ]
    problems = sentences.problem_lines(run)
    if problems:
        blocks += [Heading(3, "Failures and warnings"), Bullets(problems)]
    return blocks


def _comparison(run: list[dict], protocol: str, metric: str) -> list[Block]:
    """Methods side by side: what says nothing of variants of one, or would have too many."""
    return [
        score_table(run, "fit_seconds"),
        *_paired(run, metric),
        *_plots(run, metric),
        *_literature(run),
        *_fairness(run, protocol),
    ]


def _paired(run: list[dict], metric: str) -> list[Block]:
    table = paired_table(run, metric)
    if not table.rows:
        return []
    return [Heading(3, "Paired differences"), table, Text(explanation(run))]


def _plots(run: list[dict], metric: str) -> list[Block]:
    name = f"{run[0]['protocol']}-{run[0]['preset']}"
    drawn = [
        Plot(f"{name}-calibration", "Calibration of every method", plots.calibration_plot(run)),
        Plot(f"{name}-ranks", "Ranks of the methods", plots.rank_plot(run, metric)),
    ]
    drawn = [plot for plot in drawn if plot.figure is not None]
    return [Heading(3, "Calibration and ranks"), *drawn] if drawn else []


def _literature(run: list[dict]) -> list[Block]:
    table = literature_table(run)
    if not table.rows:
        return []
    return [Heading(3, "Beside the literature"), table, Bullets(literature_counts(run))]


def _fairness(run: list[dict], protocol: str) -> list[Block]:
    table = fairness.fairness_table(run)
    if protocol not in ("random80", "hl90") or not table.rows:
        return []
    exceptions = fairness.exceptions(run)
    return [
        Heading(3, "Baselines beside their published figures"),
        Bullets(fairness.counts(run)),
        table,
        *([Bullets(exceptions)] if exceptions else []),
    ]
