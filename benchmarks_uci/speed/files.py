"""The JSON file of all figures; a part of them may be measured anew."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks_uci.speed.curves import Curve
from benchmarks_uci.speed.curves import as_json as curves_as_json
from benchmarks_uci.speed.results import Result


def contents(environment: dict, found: dict[str, list[Result]], grown: list[Curve]) -> dict:
    """The results of each measurement, the curves and the environment, ready for `json.dumps`."""
    return {
        "environment": environment,
        "results": {
            name: [result.as_json() for result in results] for name, results in found.items()
        },
        "curves": curves_as_json(grown),
    }


def earlier(path: Path, environment: dict) -> dict:
    """What the file holds, to be kept beside what is measured now in this environment.

    Raises
    ------
    ValueError
        If it is no such file, or was measured in another environment.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        then = written["environment"]
        written["results"].items(), list(written["curves"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} holds no figures of this command.") from error
    differences = [
        f"{name} was {then.get(name)}, is {environment.get(name)}"
        for name in {**then, **environment}
        if then.get(name) != environment.get(name)
    ]
    if differences:
        raise ValueError(
            f"{path} was measured elsewhere ({'; '.join(differences)}), and its other figures "
            "would stay. Measure all, or name another file."
        )
    return written


def merged(kept: dict, now: dict, order: list[str]) -> dict:
    """What was measured `now` in place of the same in `kept`, in this order of measurements."""
    results = {**kept["results"], **now["results"]}
    return {
        **now,
        "results": {name: results[name] for name in order if name in results},
        "curves": now["curves"] or kept["curves"],
    }
