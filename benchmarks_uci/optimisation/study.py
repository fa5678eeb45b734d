"""The study of sequential optimisation as a value."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from pathlib import Path

from benchmarks_uci.engine.study import Curve, Metric, Protocol, Published, Split, Study
from benchmarks_uci.optimisation.methods import METHODS, PRESETS, REFERENCE
from benchmarks_uci.optimisation.problems import DEVELOPMENT, PAPER, PROBLEMS, SEEDS, Problem
from benchmarks_uci.optimisation.scores import POSITIONS

_PUBLISHED = Path(__file__).parents[1] / "reference" / "paper_optimisation_auc.csv"
_COLUMNS = {
    "gp": ("paper: GP", "gp"),
    "mc_dropout": ("paper: MC dropout", "mcdropout"),
    "bnn": ("paper: BNN", "bnn"),
    "deep_ensemble": ("paper: deep ensemble", "deepensemble"),
    "delta_uq": ("paper: Delta-UQ", REFERENCE),
}


def _load(name: str, sources) -> Problem:
    return PROBLEMS[name]


def _score(task, model, split, problem):
    from benchmarks_uci.optimisation.scores import search_and_score

    return search_and_score(task, model, split, problem)


def _write_sections(run, protocol):
    from benchmarks_uci.optimisation.report import write_sections  # imports pandas

    return write_sections(run, protocol)


def _splits(seeds: range, first: int):
    """Return the function that lists the starting points of each seed."""

    def split(problem: Problem) -> list[Split]:
        n, splits = problem.n_initial, []
        for i, seed in enumerate(seeds):
            rows = range((first + i) * n, (first + i + 1) * n)
            train = problem.order[rows.start : rows.stop]
            splits.append(Split(f"seed {seed}", train=train, test=train[:0]))
        return splits

    return split


@cache
def read_published() -> tuple[Published, ...]:
    """Read the columns of the paper's table."""
    with _PUBLISHED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        Published(title, method, "search", {r["function"]: float(r[column]) for r in rows})
        for column, (title, method) in _COLUMNS.items()
    )


def _find_beside(protocol: str) -> list[Published]:
    return list(read_published()) if protocol == "search" else []


_PROTOCOLS = [
    Protocol(
        "search",
        "uniform starting points of seeds 0 to 9, the same for every method",
        _splits(SEEDS, 0),
        count=lambda data: len(SEEDS),
    ),
    Protocol(
        "development",
        "starting points of seeds 100 to 109, on which settings are chosen",
        _splits(DEVELOPMENT, len(SEEDS)),
        count=lambda data: len(DEVELOPMENT),
    ),
]


def _negative(value: float) -> float:
    return -value


STUDY = Study(
    module=__name__,
    reads_sources=False,
    data=tuple(PROBLEMS),
    load=_load,
    methods=METHODS,
    protocols={protocol.name: protocol for protocol in _PROTOCOLS},
    presets=PRESETS,
    metrics={
        metric.name: metric
        for metric in [
            Metric("auc", "AUC", 2, loss=_negative),
            Metric("closed", "closed gap", 2, loss=_negative),
            Metric("regret", "final regret", None, unit_free=False),
            Metric("step_seconds", "seconds per step", 2, loss=None, unit_free=False),
        ]
    },
    curves={
        "progress": Curve(
            "Progress",
            "share of the steps",
            "closed part of the gap to the optimum",
            list(POSITIONS),
        )
    },
    score=_score,
    references=(REFERENCE,),
    costs=("step_seconds",),
    overview=("auc", "closed", "regret", "step_seconds"),
    defaults={
        "data": ",".join(PAPER),
        "methods": "sobol,gp,plain,deltauq",
        "protocol": "search",
    },
    published=_find_beside,
    sections=_write_sections,
    sentences=tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8")),
)
