"""Tables of the page on the benchmark, made from its code whenever the documentation is built.

No import here needs more than the package's documentation does.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks_uci import methods
from benchmarks_uci.datasets import EMBEDDED, SETS
from benchmarks_uci.protocols import PROTOCOLS
from benchmarks_uci.report.rst import escape, list_table
from benchmarks_uci.speed.results import HEADERS, Result

RESULTS = Path(__file__).parents[1] / "benchmarks_uci" / "results"


def sets() -> str:
    """One row a set: its size, its target, where it may come from, its licence."""
    rows = [
        (
            _code(spec.name),
            f"{spec.n_rows:,}",
            str(spec.n_features),
            _code(spec.target),
            "embedded" if spec.name in EMBEDDED else "",
            str(spec.openml_id or "none known"),
            spec.licence,
        )
        for spec in SETS.values()
    ]
    headers = "set", "rows", "features", "target", "repository", "OpenML id", "licence"
    return list_table(headers, rows)


def citations() -> str:
    """A paragraph a set: its title, where it was published, and what to know about it."""
    entries = []
    for spec in SETS.values():
        text = " ".join(filter(None, [f"{spec.title}. {spec.citation}", spec.note]))
        if spec.duplicate_rows:
            text += f" {spec.duplicate_rows:,} rows repeat an earlier one."
        entries.append(f"{_code(spec.name)}\n   {escape(text)}\n")
    return "\n".join(entries)


def protocols() -> str:
    """One row a protocol."""
    return list_table(
        ("protocol", "splits"), [(_code(p.name), p.description) for p in PROTOCOLS.values()]
    )


def chosen() -> str:
    """A paragraph a method: what it is, and how its settings were chosen."""
    entries = []
    for method in methods.METHODS.values():
        text = f"{method.title[0].upper()}{method.title[1:]}. {method.description}"
        text += f" *How chosen:* {escape(method.chosen)}"
        if method.max_rows is not None:
            text += f" At most {method.max_rows:,} training rows: larger sets are left out."
        if method.requires:
            text += f" Left out where {_code(method.requires)} is not installed."
        entries.append(f"{_code(method.name)}\n   {text}\n")
    return "\n".join(entries)


def ablations() -> str:
    """One row an ablation: what is changed."""
    rows = [
        (_code(m.name), escape(m.title), escape(m.description)) for m in methods.ABLATIONS.values()
    ]
    return list_table(("method", "short", "what is changed"), rows)


def settings(preset: str) -> str:
    """One row a method: the settings that are not the defaults of its estimator."""
    rows = []
    for name, text, _ in methods.table(preset):
        first, *large = text.split("; ")
        parts = [_code(first)]
        for other in large:
            where, call = other.split(" training rows ")
            parts.append(f"{where} training rows {_code(call)}")
        rows.append((_code(name), "; ".join(parts)))
    return list_table(("method", "settings"), rows)


def speed(name: str) -> str:
    """One row a measurement, and what they were measured on."""
    written = json.loads((RESULTS / f"speed-{name}.json").read_text(encoding="utf-8"))
    rows = [
        Result.from_json(entry).cells()
        for entries in written["results"].values()
        for entry in entries
    ]
    facts = ", ".join(f"{key} {value}" for key, value in written["environment"].items())
    return f"{list_table(HEADERS, rows)}\nMeasured with: {facts}.\n"


TABLES = {
    "sets": sets,
    "citations": citations,
    "protocols": protocols,
    "methods": chosen,
    "ablations": ablations,
    **{f"preset {name}": lambda name=name: settings(name) for name in methods.PRESETS},
    **{f"speed {name}": lambda name=name: speed(name) for name in ("cpu", "gpu")},
}


def _code(text):
    return f"``{text}``"
