"""What was measured: results, their table, and running things in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from tabulate import tabulate


@dataclass(frozen=True)
class Result:
    """One figure beside its goal.

    Attributes
    ----------
    what, against : str
        What was measured, and beside what.
    value : float
    unit : str
    goal : float or None
        Bound that `value` should keep, if there is one.
    at_least : bool
        Whether the goal is a lower bound; if not, an upper one.
    parts : dict of str to float
        What the figure was computed from: median seconds behind a ratio, as a rule.
    parts_unit : str
    """

    what: str
    against: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False
    parts: dict[str, float] = field(default_factory=dict)
    parts_unit: str = "s"

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def table(results: list[Result]) -> str:
    """The results as text, one row each."""
    words = {True: "yes", False: "no", None: ""}
    rows = [
        [
            result.what,
            result.against,
            f"{_figure(result.value)} {result.unit}".rstrip(),
            "" if result.goal is None else f"{'>=' if result.at_least else '<='} {result.goal:g}",
            words[result.met],
            ", ".join(
                f"{name} {_figure(part)} {result.parts_unit}"
                for name, part in result.parts.items()
            ),
        ]
        for result in results
    ]
    headers = ["what", "against", "measured", "goal", "met", "from"]
    return tabulate(rows, headers, "simple", disable_numparse=True)


def in_turns(functions: dict[str, Callable], repeats: int) -> dict[str, list[float]]:
    """Seconds of each function, run one after the other, `repeats` times, in alternating order."""
    seconds = {name: [] for name in functions}
    for i in range(repeats):
        for name in list(functions)[:: -1 if i % 2 else 1]:
            start = time.perf_counter()
            functions[name]()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], numerator: str, denominator: str) -> float:
    """Median over rounds of the ratio within a round, which slow spells of the machine spare."""
    pairs = zip(seconds[numerator], seconds[denominator], strict=True)
    return median(a / b for a, b in pairs)


def medians(seconds: dict[str, list[float]], *names: str) -> dict[str, float]:
    """Median seconds of some of the functions."""
    return {name: median(seconds[name]) for name in names}


def _figure(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3g}"
