"""A report on the results of a study, as one Markdown page with plots beside it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks_uci.analysis import lines, paired, plots, variants
from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.analysis.tables import (
    Table,
    escape,
    overview,
    score_table,
    tabulate_sets,
    write_bullets,
)
from benchmarks_uci.engine.study import Study


def write_page(
    records: list[dict], study: Study, metric_name: str, plots_folder: str = ""
) -> tuple[str, dict[str, Any]]:
    """Write a report of one part per protocol and preset.

    Returns
    -------
    page : str
        Markdown; a plot is an image `<plots_folder><name>.svg`.
    figures : dict of str to matplotlib.figure.Figure
        The plots by name.
    """
    parts, figures = ["# Results of benchmarks_uci"], {}
    for (protocol, preset), run in split_runs(make_frame(records, study)):
        of_run = [r for r in records if (r["protocol"], r["preset"]) == (protocol, preset)]
        drawn = {} if variants.has_variants(run, study) else _draw(of_run, run, study, metric_name)
        figures |= {name: figure for name, (_, figure) in drawn.items()}
        images = [f"![{alt}]({plots_folder}{name}.svg)" for name, (alt, _) in drawn.items()]
        parts.append(f"## {escape(f'{protocol}, preset {preset}')}")
        parts += _write_run(of_run, run, study, metric_name, images)
    parts += ["## Versions and machines", write_bullets(lines.describe_environments(records))]
    return "\n\n".join(parts) + "\n", figures


def tabulate_run(run: pd.DataFrame, study: Study, metric_name: str) -> tuple[Table, list[str]]:
    """Return the main table of a run, and how to read it."""
    name = run["protocol"].iloc[0]
    if study.metrics[metric_name].loss and variants.has_variants(run, study):
        explained = variants.explain(study.protocols[name], study.references[-1])
        return variants.tabulate_variants(run, study, metric_name), [explained]
    keys = ["scores", "ranks"]
    if metric_name == next(iter(study.metrics)):  # which has published figures
        keys.append(name)
    explained = [study.sentences[key] for key in keys if key in study.sentences]
    return score_table(run, study, metric_name), explained


def summarise_runs(records: list[dict], study: Study) -> str:
    """Return what `run` prints at its end: one table per run, and notes on the data."""
    parts = []
    frames = [] if not records else [*split_runs(make_frame(records, study))]
    for (protocol, preset), run in frames:
        of_run = [r for r in records if (r["protocol"], r["preset"]) == (protocol, preset)]
        notes = [
            f"Protocol {protocol}, preset {preset}, the same splits for every method.",
            *lines.describe_data(of_run, study),
            *lines.describe_problems(of_run, run, study),
            *filter(None, [study.sentences.get("scores")]),
        ]
        parts += [overview(run, study).render(), "\n".join(notes)]
    return "\n\n".join(parts) or "No results."


def _write_run(records, run, study, metric_name, images):
    table, explained = tabulate_run(run, study, metric_name)
    problems = lines.describe_problems(records, run, study)
    return [
        _captioned(table),
        *map(escape, explained),
        *([] if variants.has_variants(run, study) else _compare(run, study, metric_name, images)),
        "### All scores, set by set",
        *map(_captioned, tabulate_sets(run, study, [*study.metrics])),
        "### Methods, their settings, and how these were chosen",
        write_bullets(lines.describe_settings(records, run, study)),
        "### Data",
        write_bullets(lines.describe_data(records, study)),
        *(["### Failures and warnings", write_bullets(problems)] if problems else []),
    ]


def _compare(run, study, metric_name, images):
    """Compare methods side by side; variants of one method are too many, and too similar."""
    protocol = run["protocol"].iloc[0]
    parts = [_captioned(score_table(run, study, name)) for name in study.costs[:1]]
    table = paired.tabulate_pairs(run, study, metric_name)
    if table.rows:
        reference = paired.find_reference(run, study)
        explained = paired.explain(study.protocols[protocol], reference)
        parts += ["### Paired differences", _captioned(table), escape(explained)]
    parts += ["### Plots", *images] if images else []
    return [*parts, *study.sections(run, protocol)]


def _draw(records, run, study, metric_name):
    """Return the plots of a run by name, each with its text for readers without images."""
    prefix = f"{records[0]['protocol']}-{records[0]['preset']}"
    drawn = {
        f"{prefix}-{curve.title.lower()}": (
            f"{curve.title} of every method",
            plots.plot_curve(records, study, name),
        )
        for name, curve in study.curves.items()
        if len(curve.positions)
    }
    ranks = plots.plot_ranks(run, study, metric_name)
    drawn[f"{prefix}-ranks"] = ("Ranks of the methods", ranks)
    return {name: (alt, figure) for name, (alt, figure) in drawn.items() if figure is not None}


def _captioned(table: Table) -> str:
    return f"{escape(table.title)}:\n\n{table.render('markdown')}"
