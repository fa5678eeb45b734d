"""What was measured: results, their table, and running things in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median

from tabulate import tabulate

HEADERS = ["what", "against", "measured", "goal", "met", "from"]


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

    def as_json(self) -> dict:
        """Ready for `json.dumps`."""
        return {**asdict(self), "met": self.met}

    @classmethod
    def from_json(cls, entry: dict) -> Result:
        """What `as_json` was made from."""
        return cls(**{name: value for name, value in entry.items() if name != "met"})

    def cells(self) -> list[str]:
        """A row of a table, under `HEADERS`."""
        bound = ">=" if self.at_least else "<="
        return [
            self.what,
            self.against,
            f"{_figure(self.value)} {self.unit}".rstrip(),
            "" if self.goal is None else f"{bound} {self.goal:g}",
            {True: "yes", False: "no", None: ""}[self.met],
            ", ".join(
                f"{name} {_figure(part)} {self.parts_unit}" for name, part in self.parts.items()
            ),
        ]


def table(results: list[Result]) -> str:
    """The results as text, one row each."""
    rows = [result.cells() for result in results]
    return tabulate(rows, HEADERS, "simple", disable_numparse=True)


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
