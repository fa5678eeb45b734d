"""The methods of the comparison and the ablations, as `methods.toml` describes them.

The settings are the same for every data set: nothing is tuned on test rows. Reading this module
imports no estimator; the factories import them when they are called.
"""

from __future__ import annotations

import tomllib
from math import log2, sqrt
from pathlib import Path
from pkgutil import resolve_name

from benchmarks_uci.engine.study import Method

# The literature gives its large sets (protein) a layer of 100 units, and all others one of 50.
LARGE = 30_000
PRESETS = ("default", "paper", "refined")
REFERENCE = "deltauq"  # the method that the ablations change

_EXTERNAL = "benchmarks_uci.regression.external"


def choose_widths(preset, n_rows):
    """Return the widths of the hidden layers."""
    if preset != "paper":
        return (50, 50)
    return (100,) if n_rows > LARGE else (50,)


def make_network_factory(estimator, settings, paper, refined):
    """Return a factory of a network of the package: its defaults except `settings`.

    `estimator` is the full name of its class. The preset paper has other widths, no embedding,
    and the settings in `paper`. In the preset refined, means train on after early stopping, and
    the settings in `refined` change.
    """

    def make(preset, n_rows, random_state):
        changed = settings
        if preset == "paper":
            widths = choose_widths(preset, n_rows)
            changed = {"hidden_layer_sizes": widths, "embedding": None, **settings, **paper}
        elif preset == "refined":
            changed = {"refine_mean": True, **settings, **refined}
        return resolve_name(estimator)(**changed, random_state=random_state)

    return make


def make_external_factory(name, settings, seeded):
    """Return a factory of an estimator in `external`, the same for all presets."""

    def make(preset, n_rows, random_state):
        seed = {"random_state": random_state} if seeded else {}
        return resolve_name(f"{_EXTERNAL}.{name}")(**settings, **seed)

    return make


def _pbp(preset, n_rows, random_state):
    settings = {}
    if preset == "paper":
        # As in its paper. A pass over a large set is many updates, so it needs fewer passes.
        passes = 10 if n_rows > LARGE else 40
        settings = {"early_stopping": False, "max_iter": passes, "n_iter_no_change": passes}
        settings["hidden_layer_sizes"] = choose_widths(preset, n_rows)
    estimator = resolve_name("sk_deltauq.baselines.PBPRegressor")
    return estimator(**settings, random_state=random_state)


def _mlp(preset, n_rows, random_state):
    # The package's rule for batch_size="auto"
    batch_size = min(max(2 ** round(log2(sqrt(n_rows))), 32), 1024)
    make = resolve_name(f"{_EXTERNAL}.make_scaled_mlp")
    return make(choose_widths(preset, n_rows), batch_size, random_state)


def _constant_noise(preset, n_rows, random_state):
    mlp = _mlp(preset, n_rows, random_state)
    return resolve_name(f"{_EXTERNAL}.ConstantNoise")(mlp, random_state=random_state)


def _bagged_noise(preset, n_rows, random_state):
    mlp = _mlp(preset, n_rows, None)  # bagging seeds its members itself
    return resolve_name(f"{_EXTERNAL}.BaggedNoise")(mlp, random_state=random_state)


def _concatenated(shuffled):
    """Return a factory of the network of the paper, as a user's own module."""

    def make(preset, n_rows, random_state):
        reference = METHODS[REFERENCE].make(preset, n_rows, random_state)
        # "auto" gives no embedding to a user's own module.
        embedding = "alternating" if reference.embedding == "auto" else reference.embedding
        factory = resolve_name("benchmarks_uci.regression.variants.Concatenated")
        module = factory(choose_widths(preset, n_rows), shuffled)
        return reference.set_params(module=module, embedding=embedding)

    return make


_FACTORIES = {
    "mlp": _constant_noise,
    "mlp-5": _bagged_noise,
    "pbp": _pbp,
    "deltauq-concatenated": _concatenated(shuffled=False),
    "deltauq-shuffled": _concatenated(shuffled=True),
}


def _presets_of(group, table):
    """Return the presets that a method runs with; None for all."""
    # Most ablations are about random anchors, which the preset refined does not have.
    return ("default", "paper") if group == "ablations" and "refined" not in table else None


def _read_method(group, name, texts, table):
    """Return the method that one table of the file describes; `group` is the table of tables."""
    settings = {**table.get("settings", {}), **dict.fromkeys(table.get("unset", []))}
    if name in _FACTORIES:
        make = _FACTORIES[name]
    elif "external" in table:
        make = make_external_factory(table["external"], settings, table.get("seeded", True))
    else:
        estimator = table.get("network", "sk_deltauq.DeltaUQRegressor")
        make = make_network_factory(
            estimator, settings, table.get("paper", {}), table.get("refined", {})
        )
    return Method(
        name,
        table["title"],
        table["description"],
        table.get("chosen", "{ablation}").format(**texts),
        make,
        max_rows=table.get("max_rows"),
        requires=table.get("requires"),
        presets=_presets_of(group, table),
    )


_FILE = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
METHODS, ABLATIONS = (
    {
        name: _read_method(group, name, _FILE["texts"], table)
        for name, table in _FILE[group].items()
    }
    for group in ("methods", "ablations")
)
