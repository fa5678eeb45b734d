"""Results of a measurement, their table and JSON file, and functions that measure in turns."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tabulate import tabulate

HEADERS = ["what", "against", "measured", "goal", "met", "from"]


@dataclass(frozen=True)
class Result:
    """One figure and its goal."""

    what: str  # the measured operation
    against: str  # the operation that it is compared with
    value: float
    unit: str
    goal: float | None = None  # bound of `value`, if there is one
    at_least: bool = False  # whether the goal is a lower bound, not an upper bound
    # The numbers behind the figure, usually the median seconds behind a ratio
    parts: dict[str, float] = field(default_factory=dict)
    parts_unit: str = "s"

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def as_json(self) -> dict:
        """Convert to a dict for `json.dumps`."""
        return {**asdict(self), "met": self.met}

    @classmethod
    def from_json(cls, entry: dict) -> Result:
        """Read the dict that `as_json` returned."""
        return cls(**{name: value for name, value in entry.items() if name != "met"})

    def cells(self) -> list[str]:
        """One table row with the columns `HEADERS`."""
        bound = ">=" if self.at_least else "<="
        return [
            self.what,
            self.against,
            f"{_format(self.value)} {self.unit}".rstrip(),
            "" if self.goal is None else f"{bound} {self.goal:g}",
            {True: "yes", False: "no", None: ""}[self.met],
            ", ".join(
                f"{name} {_format(part)} {self.parts_unit}" for name, part in self.parts.items()
            ),
        ]


def table(results: list[Result]) -> str:
    """The results as text, with one row per result."""
    rows = [result.cells() for result in results]
    return tabulate(rows, HEADERS, "simple", disable_numparse=True)


def collect(environment: dict, found: dict[str, list[Result]], grown: Sequence[Any]) -> dict:
    """Collect the environment, the results of each measurement and the curves for `json.dumps`."""
    return {
        "environment": environment,
        "results": {
            name: [result.as_json() for result in results] for name, results in found.items()
        },
        "curves": [asdict(curve) for curve in grown],
    }


def read_earlier(path: Path, environment: dict) -> dict:
    """Read a file of `collect`, whose figures stay.

    A `ValueError` says that it has another format, or was measured in another environment.
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


def merge(kept: dict, now: dict, order: list[str]) -> dict:
    """Replace the measurements of `kept` that `now` also has; `order` sorts all measurements."""
    results = {**kept["results"], **now["results"]}
    return {
        **now,
        "results": {name: results[name] for name in order if name in results},
        "curves": now["curves"] or kept["curves"],
    }


Seconds = dict[str, list[float]]  # of each function, one number per round


def measure_in_turns(functions: dict[str, Callable], repeats: int) -> Seconds:
    """Run the functions one after the other for `repeats` rounds, with alternating order."""
    seconds: Seconds = {name: [] for name in functions}
    for i in range(repeats):
        for name in list(functions)[:: -1 if i % 2 else 1]:
            start = time.perf_counter()
            functions[name]()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: Seconds, numerator: str, denominator: str) -> float:
    """Median over the rounds of the ratio within a round.

    A slow phase of the machine affects both times of its round, so it hardly affects the ratio.
    """
    pairs = zip(seconds[numerator], seconds[denominator], strict=True)
    return median(a / b for a, b in pairs)


def compute_medians(seconds: Seconds, *names: str) -> dict[str, float]:
    """Median seconds of the named functions."""
    return {name: median(seconds[name]) for name in names}


def speed_up(
    what: str, against: str, seconds: Seconds, ours: str, other: str, goal: float | None = None
) -> Result:
    """How many times faster `ours` is than `other`; the goal is a lower bound."""
    value, parts = ratio(seconds, other, ours), compute_medians(seconds, ours, other)
    return Result(what, against, value, "times faster", goal, at_least=True, parts=parts)


def slow_down(
    what: str, against: str, seconds: Seconds, ours: str, other: str, goal: float | None = None
) -> Result:
    """How many times as long `ours` takes as `other`; the goal is an upper bound."""
    value, parts = ratio(seconds, ours, other), compute_medians(seconds, ours, other)
    return Result(what, against, value, "times as long", goal, parts=parts)


def _format(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3g}"
