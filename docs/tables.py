"""Tables of the documentation as Markdown, made from the code whenever the pages are built.

No import here needs more than the documentation does.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from benchmarks_uci.analysis.tables import escape, write_pipes
from benchmarks_uci.analysis.verdicts import tabulate_verdicts
from benchmarks_uci.classification import goals as classification_goals
from benchmarks_uci.classification import report as classification
from benchmarks_uci.csv_files import read_scores
from benchmarks_uci.datasets import EMBEDDED, SETS
from benchmarks_uci.intervals import choice, conformal, simulated
from benchmarks_uci.optimisation import goals as optimisation_goals
from benchmarks_uci.optimisation import report as optimisation
from benchmarks_uci.optimisation import spread
from benchmarks_uci.regression import goals, widening
from benchmarks_uci.regression.methods import ABLATIONS, LARGE, METHODS, PRESETS
from benchmarks_uci.regression.protocols import PROTOCOLS
from benchmarks_uci.speed.results import HEADERS, Result
from benchmarks_uci.trust import report as trust
from benchmarks_uci.trust import uci

RESULTS = Path(__file__).parents[1] / "benchmarks_uci" / "results"


def list_sets() -> str:
    """One row per data set: its size, its target, its sources, its licence."""
    rows = [
        (
            f"`{spec.name}`",
            f"{spec.n_rows:,}",
            str(spec.n_features),
            f"`{spec.target}`",
            "embedded" if spec.name in EMBEDDED else "",
            str(spec.openml_id or "none known"),
            escape(spec.licence),
        )
        for spec in SETS.values()
    ]
    headers = "set", "rows", "features", "target", "repository", "OpenML id", "licence"
    return write_pipes(headers, rows, n_left=len(headers))


def list_citations() -> str:
    """One item per data set: its title, its publication, and what to know about it."""
    entries = []
    for spec in SETS.values():
        text = " ".join(filter(None, [f"{spec.title}. {spec.citation}", spec.note]))
        if spec.duplicate_rows:
            text += f" {spec.duplicate_rows:,} rows repeat an earlier one."
        entries.append(f"- `{spec.name}`: {escape(text)}")
    return "\n".join(entries)


def list_protocols() -> str:
    """One row per protocol."""
    rows = [(f"`{p.name}`", escape(p.description)) for p in PROTOCOLS.values()]
    return write_pipes(("protocol", "splits"), rows, n_left=2)


def list_methods() -> str:
    """One item per method: its description, and how its settings were chosen."""
    entries = []
    for method in METHODS.values():
        text = f"{method.title[0].upper()}{method.title[1:]}. {method.description}"
        text = f"{escape(text)} *How chosen:* {escape(method.chosen)}"
        if method.max_rows is not None:
            text += f" At most {method.max_rows:,} training rows; larger sets are left out."
        if method.requires:
            text += f" Left out if `{method.requires}` is not installed."
        entries.append(f"- `{method.name}`: {text}")
    return "\n".join(entries)


def list_ablations() -> str:
    """One row per ablation: its change."""
    rows = [(f"`{m.name}`", escape(m.title), escape(m.description)) for m in ABLATIONS.values()]
    return write_pipes(("method", "short", "change"), rows, n_left=3)


def list_settings(preset: str) -> str:
    """One row per method: the settings that differ from the defaults of its estimator."""
    rows = []
    for method in METHODS.values():
        # scikit-learn's repr shows what differs from the defaults.
        small, large = (
            " ".join(repr(method.make(preset, n_rows, None)).split())
            for n_rows in (LARGE, LARGE + 1)
        )
        other = f"; above {LARGE:,} training rows `{large}`" if large != small else ""
        rows.append((f"`{method.name}`", f"`{small}`{other}"))
    return write_pipes(("method", "settings"), rows, n_left=2)


def list_speed(name: str) -> str:
    """One row per measurement, and the machine of the measurement."""
    written = json.loads((RESULTS / f"speed-{name}.json").read_text(encoding="utf-8"))
    rows = [
        [escape(cell) for cell in Result.from_json(entry).cells()]
        for entries in written["results"].values()
        for entry in entries
    ]
    facts = ", ".join(f"{key} {value}" for key, value in written["environment"].items())
    table = write_pipes(HEADERS, rows, n_left=len(HEADERS))
    return f"{table}\n\nMeasured with: {escape(facts)}.\n"


def compare_versions(protocol: str) -> str:
    """One row per set: scores of the version before and of this version."""
    return uci.write_table(protocol, uci.read_frame(protocol))


def tabulate_shifts(write, *arguments) -> str:
    """Return a table of the committed results of the study of shifts."""
    return write(classification.read_records("shift"), *arguments)


def tabulate_outliers(write, *arguments) -> str:
    """Return a table of the committed results of the study of outliers."""
    return write(classification.read_records("outliers"), *arguments)


def tabulate_natural(*names) -> str:
    """Return a table of the committed results of the natural shift."""
    return classification.write_natural(classification.read_records("natural"), names)


def tabulate_images() -> str:
    """One row per set of images and method."""
    return classification.write_images(classification.read_records("images"))


def tabulate_corruptions() -> str:
    """One row per corruption, on development splits."""
    return classification.write_corruptions(classification.read_records("shift-development"))


def write_goals() -> str:
    """One row per goal of the classification studies."""
    records = {name: classification.read_records(name) for name in classification.STUDIES}
    return classification_goals.write_goals(records)


CLASSIFICATION = {
    "goals": write_goals,
    "clean": partial(tabulate_shifts, classification.write_scores, classification.CLEAN),
    "shifted": partial(tabulate_shifts, classification.write_scores, classification.SHIFTED),
    "quartiles": partial(tabulate_shifts, classification.write_quartiles),
    **{
        name: partial(tabulate_shifts, classification.write_by_set, name)
        for name in ("nll_5", "accuracy_5")
    },
    "pairs": partial(tabulate_shifts, classification.write_pairs, "shift", "nll_5"),
    **{
        f"ablation {name}": partial(tabulate_shifts, classification.write_ablation, columns)
        for name, columns in (
            ("clean", classification.CLEAN),
            ("shifted", classification.SHIFTED),
        )
    },
    "corruptions": tabulate_corruptions,
    "images": tabulate_images,
    "natural calibration": partial(tabulate_natural, "ece", "nll"),
    "natural others": partial(tabulate_natural, "accuracy", "coverage"),
    "prediction sets": partial(tabulate_shifts, classification.write_prediction_sets),
    "outliers": partial(tabulate_outliers, classification.write_outliers),
    "kinds": partial(tabulate_outliers, classification.write_kinds, "deltauq-5"),
    "sets": classification.write_sets,
    **{
        f"shifts {kind}": partial(classification.write_shifts, kind)
        for kind in ("tables", "images")
    },
    "methods": classification.write_methods,
}
TABLES = {
    **{f"classification {name}": write for name, write in CLASSIFICATION.items()},
    "sets": list_sets,
    "citations": list_citations,
    "protocols": list_protocols,
    "methods": list_methods,
    "ablations": list_ablations,
    **{f"preset {name}": lambda name=name: list_settings(name) for name in PRESETS},
    "conformal": lambda: conformal.write_table(read_scores(conformal.COMMITTED)),
    "conformal simulated": lambda: simulated.write_table(read_scores(simulated.COMMITTED)),
    **{
        f"choice {column}": lambda column=column: choice.write_table(
            column, read_scores(choice.COMMITTED)
        )
        for column in ("score", "coverage")
    },
    "optimisation": optimisation.write_committed,
    "optimisation-goals": lambda: tabulate_verdicts(optimisation_goals.judge_all()).render(
        "markdown"
    ),
    "optimisation-large": optimisation.write_large,
    "optimisation-cost": optimisation.write_cost,
    "optimisation-spread": lambda: spread.tabulate(read_scores(spread.COMMITTED)).render(
        "markdown"
    ),
    "trust situations": lambda: trust.write_situations(trust.read_committed()),
    "trust small": lambda: trust.write_small(trust.read_committed()),
    "trust sizes": lambda: trust.write_sizes(trust.read_committed()),
    "trust uci": lambda: compare_versions("random80"),
    **{f"trust {name}": lambda name=name: compare_versions(name) for name in ("gap", "tail")},
    **{f"widening {name}": partial(widening.write_table, name) for name in ("gap", "tail")},
    "goals by set": lambda: goals.tabulate_figures().render("markdown"),
    "goals over sets": lambda: tabulate_verdicts(goals.judge_all()).render("markdown"),
    **{f"speed {name}": lambda name=name: list_speed(name) for name in ("cpu", "gpu")},
}
