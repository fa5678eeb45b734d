"""The tables of the studies as Markdown, from the committed results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import make_frame, select_complete, summarise
from benchmarks_uci.analysis.paired import explain, tabulate_pairs
from benchmarks_uci.analysis.tables import escape, write_bullets, write_pipes
from benchmarks_uci.classification import (
    image_study,
    metrics,
    natural_study,
    outlier_study,
    shift_study,
)
from benchmarks_uci.classification.sets import SETS
from benchmarks_uci.classification.shifts import list_shifts, read_strengths
from benchmarks_uci.engine.records import ResultsError, read_compact
from benchmarks_uci.engine.study import Study

RESULTS = Path(__file__).parents[1] / "results" / "classification"
STUDIES = {
    "shift": shift_study.STUDY,
    "outliers": outlier_study.STUDY,
    "natural": natural_study.STUDY,
    "images": image_study.STUDY,
}
QUARTILES = {"lower quartile": 0.25, "median": 0.5, "mean": None, "upper quartile": 0.75}
# Columns of the tables of scores
CLEAN = ("accuracy", "ece", "ece_adaptive", "nll", "brier", "fit_seconds")
SHIFTED = (
    *(f"{name}_3" for name in ("accuracy", "ece", "nll")),
    *(f"{name}_5" for name in ("accuracy", "ece", "ece_adaptive", "nll", "brier")),
    *(f"{name}_unseen" for name in ("ece", "nll")),
)


def read_records(name: str, folder: Path = RESULTS) -> list[dict]:
    """Read the committed results of a protocol, for example `"shift"`."""
    return read_compact(folder / f"{name}-default.csv", STUDIES[name.partition("-")[0]])


def average_over_sets(
    records: list[dict], study: Study, methods: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return the means by method and score, over the sets on which all methods are complete.

    `methods` are all methods of the study, without its variants, if no others are given. The mean
    over the splits comes first, so that all sets have the same weight. The second result are the
    names of the sets.
    """
    run = make_frame(_select(records, methods or study.methods), study)
    run = run.assign(method=run["method"].astype(str))
    values = run.groupby(["method", "score", "data"])["value"]
    n_splits = run.groupby("data")["split"].nunique()
    counts = pd.DataFrame(pd.Series(values.count()).unstack("data"))
    # A method that lacks a split of a set, or failed there, leaves the set out for all methods.
    names = [str(d) for d in counts if bool(np.all(counts[d].to_numpy() == n_splits[d]))]
    if not names:
        raise ResultsError("no set has every split of every method, so there is no mean to show.")
    by_set = pd.DataFrame(pd.Series(values.mean()).unstack("data"))[names]
    means = pd.Series(pd.DataFrame(by_set).mean(axis="columns"))
    return pd.DataFrame(means.unstack("score")), names


def write_sets() -> str:
    """One row per data set."""
    rows = []
    for spec in SETS.values():
        source = f"scikit-learn, `{spec.sklearn}`"
        if spec.sklearn is None:
            ids = f"OpenML {spec.openml_id}, " if spec.openml_id else ""
            ids = f"package `{spec.package}`, " if spec.package else ids
            source = f"{ids}folder"
        size = [f"{spec.n_rows:,}", str(spec.n_features), str(spec.n_classes)]
        note = escape(" ".join([spec.title + ".", spec.note]))
        rows.append([f"`{spec.name}`", *size, source, note, escape(spec.licence)])
    headers = ["set", "rows", "features", "classes", "source", "description", "licence"]
    return write_pipes(headers, rows, n_left=len(headers))


def write_shifts(kind: str) -> str:
    """One row per shift: description, the operation it resembles, and the range of amounts."""
    strengths, rows = read_strengths(), []
    of_kind = [
        name for name, spec in SETS.items() if (spec.shape is not None) == (kind == "images")
    ]
    for shift in list_shifts(kind):
        found = [strengths[name][shift.name] for name in of_kind if name in strengths]
        amounts = f"{min(found):.3g} to {max(found):.3g}" if found else "-"
        rows.append([shift.name, escape(shift.description), shift.resembles or "unseen", amounts])
    return write_pipes(["shift", "change", "resembles", "at severity 5"], rows, n_left=4)


def write_scores(records: list[dict], columns: Sequence[str]) -> str:
    """One row per method: scores as means over the sets."""
    return _write_scores(records, shift_study.STUDY.methods, columns)


def write_ablation(records: list[dict], columns: Sequence[str]) -> str:
    """The same table of the variants and the method that they change."""
    study = shift_study.STUDY
    names = [name for name in study.variants if not name.startswith("deltauq-5")]
    return _write_scores(records, [*names, study.references[-1]], columns)


def _write_scores(records, names, columns) -> str:
    records = _select(records, names)
    means, sets_ = average_over_sets(records, shift_study.STUDY, names)
    known = [name for name in names if name in means.index]
    shown = pd.DataFrame(means.reindex(index=known, columns=[*columns]))
    headers = [shift_study.STUDY.metrics[column].title for column in columns]
    table = _write_best(shown, headers, [column.startswith("accuracy") for column in columns])
    return f"{table}\n\n{_describe(records, sets_)}"


def write_corruptions(records: list[dict]) -> str:
    """The same table of five members with each corruption, and of the deep ensemble."""
    names = ["deepensemble", "deltauq-5-distance", "deltauq-5-noise", "deltauq-5"]
    columns = ("ece", "nll", "ece_3", "nll_3", "ece_5", "nll_5", "ece_unseen", "nll_unseen")
    return _write_scores(records, names, columns)


def write_quartiles(records: list[dict]) -> str:
    """Quartiles over sets and shifts at severity 5, in the layout of the paper's table."""
    _, sets_ = average_over_sets(records, shift_study.STUDY)
    values = gather_shifts(records, sets_)
    methods = _order({r["method"] for r in records} - {*shift_study.STUDY.variants})
    rows = []
    for name in ("ece", "nll", "brier"):
        for label, level in QUARTILES.items():
            numbers = [
                np.mean(values[method, name])
                if level is None
                else np.quantile(values[method, name], level)
                for method in methods
            ]
            texts = [f"{number:.3f}" for number in numbers]
            best = min(texts, key=float)
            title = metrics.PROBABILITY[name][0] if label == "lower quartile" else ""
            rows.append([title, label, *(f"**{t}**" if t == best else t for t in texts)])
    return write_pipes(["score", "", *methods], rows, n_left=2)


def gather_shifts(records: list[dict], names: Sequence[str]) -> dict[tuple[str, str], np.ndarray]:
    """Return a score at severity 5 for each set and shift, by method and score.

    The curves of compact results are means over the splits already.
    """
    found: dict[tuple[str, str], dict] = {}
    for record in records:
        for name in metrics.PROBABILITY:
            values = record.get(f"{name}_by_shift")
            if record["data"] in names and values:
                found.setdefault((record["method"], name), {})[record["data"]] = values
    return {key: np.concatenate([*by_set.values()]) for key, by_set in found.items()}


def write_by_set(records: list[dict], metric_name: str) -> str:
    """One row per set, one column per method; variants are left out."""
    records = [r for r in records if r["method"] not in shift_study.STUDY.variants]
    run = make_frame(records, shift_study.STUDY)
    run = run.assign(method=run["method"].cat.remove_unused_categories())
    means = select_complete(summarise(run, shift_study.STUDY.metrics[metric_name]))
    shown = pd.DataFrame(means[_order(means.columns)])
    rows = [
        [str(data), *("-" if np.isnan(v) else f"{v:.3f}" for v in row)]
        for data, row in zip(shown.index, shown.to_numpy(), strict=True)
    ]
    return write_pipes(["set", *map(str, shown.columns)], rows)


def write_pairs(records: list[dict], study_name: str, metric_name: str) -> str:
    """Differences from the reference on the same splits, with tests."""
    study = STUDIES[study_name]
    records = [record for record in records if record["method"] not in study.variants]
    run = make_frame(records, study)
    run = run.assign(method=run["method"].cat.remove_unused_categories())
    table = tabulate_pairs(run, study, metric_name)
    protocol = study.protocols[run["protocol"].iloc[0]]
    return f"{table.render('markdown')}\n\n{escape(explain(protocol, study.references[0]))}"


def write_prediction_sets(records: list[dict]) -> str:
    """Coverage and size of prediction sets, by method."""
    _, names = average_over_sets(records, shift_study.STUDY)
    rows = []
    for method in _order({r["method"] for r in records if r.get("sets")}):
        by_set = {r["data"]: r["sets"] for r in records if r["method"] == method and r.get("sets")}
        if {*names} <= {*by_set}:
            values = np.mean([by_set[name] for name in names], axis=0)
            rows.append([method, *(f"{value:.3f}" for value in values)])
    if not rows:
        return "No estimator of these results predicts sets for all data sets."
    return write_pipes(["method", *metrics.SET_PARTS], rows)


def write_outliers(records: list[dict]) -> str:
    """One row per method: detection scores by source of the outliers, means over the sets."""
    means, sets_ = average_over_sets(records, outlier_study.STUDY)
    columns = [f"{score}_{source}" for source in metrics.SOURCES for score in metrics.DETECTION]
    shown = pd.DataFrame(means[columns])
    aurocs = pd.DataFrame(means[[f"auroc_{source}" for source in metrics.SOURCES]])
    shown = shown.assign(mean=aurocs.mean(axis="columns"))
    shown = shown.iloc[np.argsort(-shown["mean"].to_numpy(), kind="stable")]
    headers = [outlier_study.STUDY.metrics[column].title for column in columns]
    table = _write_best(shown, [*headers, "mean AUROC"], [True] * (len(columns) + 1))
    return f"{table}\n\n{_describe(records, sets_)}"


def write_natural(records: list[dict], names: Sequence[str]) -> str:
    """One row per method: some scores, in every season."""
    study = natural_study.STUDY
    means, sets_ = average_over_sets(records, study)
    columns = [f"{name}_{season}" for name in names for season in metrics.SEASONS]
    shown = pd.DataFrame(means.reindex(index=[m for m in study.methods if m in means.index]))
    rows = [
        [str(method), *(f"{value:.3f}" for value in row)]
        for method, row in zip(shown.index, shown[columns].to_numpy(), strict=True)
    ]
    headers = ["method", *(study.metrics[column].title for column in columns)]
    return f"{write_pipes(headers, rows)}\n\n{_describe(records, sets_)}"


def write_images(records: list[dict]) -> str:
    """One row per set and method: scores of test images, and the AUROC of each kind."""
    study = image_study.STUDY
    run = make_frame(records, study)
    columns = ["accuracy", "ece", "nll", *(f"auroc_{kind}" for kind in metrics.KINDS)]
    rows = []
    for data in study.data:
        of_set = run[run["data"].astype(str) == data]
        means = of_set.pivot_table(index="method", columns="score", values="value", observed=True)
        rows += [
            [data, name, *(f"{means.loc[name, column]:.3f}" for column in columns)]
            for name in study.methods
            if name in means.index
        ]
    headers = ["set", "method", *(study.metrics[column].title for column in columns)]
    shown = list(dict.fromkeys(row[0] for row in rows))
    return f"{write_pipes(headers, rows, n_left=2)}\n\n{_describe(records, shown)}"


def write_kinds(records: list[dict], method: str) -> str:
    """One row per kind of outlier score of one method: AUROC by source."""
    _, names = average_over_sets(records, outlier_study.STUDY)
    of_method = {r["data"]: r for r in records if r["method"] == method and r["data"] in names}
    rows = []
    for kind in metrics.KINDS:
        cells = [[r.get(f"{kind}_{s}") or [] for s in metrics.SOURCES] for r in of_method.values()]
        if cells and all(map(all, cells)):
            values = np.mean([[cell[0] for cell in row] for row in cells], axis=0)
            rows.append((float(values.mean()), [kind, *(f"{v:.3f}" for v in values)]))
    rows = [[*row, f"{mean:.3f}"] for mean, row in sorted(rows, reverse=True)]
    return write_pipes(["score", *metrics.SOURCES.values(), "mean"], rows)


def write_methods() -> str:
    """One item per method of the studies."""
    methods = {**shift_study.STUDY.methods, **shift_study.STUDY.variants, **outlier_study.PEERS}
    methods |= image_study.STUDY.methods
    return "\n".join(
        f"- `{m.name}`: {escape(f'{m.title}. {m.description} How chosen: {m.chosen}')}"
        for m in methods.values()
    )


def _select(records: list[dict], methods) -> list[dict]:
    return [record for record in records if record["method"] in {*methods}]


def _order(names) -> list[str]:
    known = [*shift_study.STUDY.methods, *shift_study.STUDY.variants]
    return [name for name in known if name in {*map(str, names)}]


def _write_best(shown: pd.DataFrame, headers: Sequence[str], larger: Sequence[bool]) -> str:
    """Write a table of three decimals with the best value of each column in bold."""
    texts = [[f"{value:.3f}" for value in row] for row in shown.to_numpy()]
    for j, is_larger in enumerate(larger):
        column = [float(row[j]) for row in texts]
        best = max(column) if is_larger else min(column)
        for row in texts:
            row[j] = f"**{row[j]}**" if float(row[j]) == best else row[j]
    rows = [[str(name), *row] for name, row in zip(shown.index, texts, strict=True)]
    return write_pipes(["method", *headers], rows)


def _describe(records: list[dict], names: Sequence[str]) -> str:
    counts = {name: len({r["split"] for r in records if r["data"] == name}) for name in names}
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
    return write_bullets([f"Mean over the sets, with the number of splits: {listed}."])
