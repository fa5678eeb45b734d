"""The JSON file of all figures. A part of it may be measured again."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks_uci.speed.curves import Curve
from benchmarks_uci.speed.curves import as_json as curves_as_json
from benchmarks_uci.speed.results import Result


def contents(environment: dict, found: dict[str, list[Result]], grown: list[Curve]) -> dict:
    """Collect the environment, the results of each measurement and the curves for `json.dumps`."""
    return {
        "environment": environment,
        "results": {
            name: [result.as_json() for result in results] for name, results in found.items()
        },
        "curves": curves_as_json(grown),
    }


def earlier(path: Path, environment: dict) -> dict:
    """Read the file. It must have been measured in this environment, because its figures stay.

    Raises
    ------
    ValueError
        If the file has another format, or was measured in another environment.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        then = dict(written["environment"])
        written = {**written, "results": {**written["results"]}, "curves": [*written["curves"]]}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no figures of this command.") from error
    differences = [
        f"{name} was {then.get(name)}, is {environment.get(name)}"
        for name in {**then, **environment}
        if then.get(name) != environment.get(name)
    ]
    if differences:
        raise ValueError(
            f"{path} was measured in another environment ({'; '.join(differences)}), and its "
            f"other figures would stay. Measure everything, or name another file."
        )
    return written


def merged(kept: dict, now: dict, order: list[str]) -> dict:
    """Replace the measurements of `kept` that `now` also has; `order` sorts all measurements."""
    results = {**kept["results"], **now["results"]}
    return {
        **now,
        "results": {name: results[name] for name in order if name in results},
        "curves": now["curves"] or kept["curves"],
    }
