"""The methods of the studies and the ablations, as `methods.toml` describes them.

Reading this module imports no estimator; the factories import them when they are called.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from pkgutil import resolve_name

from benchmarks_uci.engine.study import Method

PRESETS = ("default", "quick")
QUICK = {"max_iter": 5}  # tests the code, measures nothing
REFERENCE = "sk_deltauq.DeltaUQClassifier"
_VARIANTS = "benchmarks_uci.classification.variants"


def network(estimator, settings, module=""):
    """Return a factory of a network of the package: its defaults except `settings`.

    `estimator` is the full name of its class, `module` the name of a factory in `variants.py`.
    """

    def make(preset, n_rows, random_state):
        changed = dict(settings)
        if module:
            changed["module"] = resolve_name(f"{_VARIANTS}.{module}")()
        if preset == "quick":
            changed |= QUICK
        return resolve_name(estimator)(**changed, random_state=random_state)

    return make


def _read_method(name, texts, table):
    """Return the method that one table of the file describes."""
    settings = {**table.get("settings", {}), **dict.fromkeys(table.get("unset", []))}
    make = network(table.get("network", REFERENCE), settings, table.get("module", ""))
    chosen = table.get("chosen", "{ablation}").format(**texts)
    return Method(name, table["title"], table["description"], chosen, make)


_FILE = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
METHODS, ABLATIONS, IMAGE_METHODS = (
    {name: _read_method(name, _FILE["texts"], table) for name, table in _FILE[group].items()}
    for group in ("methods", "ablations", "images")
)
