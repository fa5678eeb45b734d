"""All measurements, in the order of the table, and what to say beside it."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict

import numpy as np
import sklearn
import skorch
import torch

import sk_deltauq
from benchmarks_uci.speed import importing, memory, prediction, training
from benchmarks_uci.speed.results import Result
from benchmarks_uci.threads import threads

MEASUREMENTS = {
    "prediction": prediction.measure,
    "memory": memory.measure,
    "training": training.measure,
    "import": importing.measure,
}


def run(name: str, *, quick: bool, n_threads: int) -> list[Result]:
    """Results of one of `MEASUREMENTS`."""
    with threads(n_threads):
        return MEASUREMENTS[name](quick)


def environment(n_threads: int) -> dict:
    """Versions and machine."""
    return {
        "sk_deltauq": sk_deltauq.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "skorch": skorch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "threads": n_threads,
    }


def notes(n_threads: int) -> str:
    """How the figures came about."""
    versions = ", ".join(f"{name} {value}" for name, value in environment(n_threads).items())
    return (
        "Run in turns; the figure is the median of the ratios within a round. Every prediction "
        f"starts from the same unscaled rows.\n{versions}"
    )


def as_json(results: list[Result], n_threads: int) -> dict:
    """The results and the environment, ready for `json.dumps`."""
    return {
        "environment": environment(n_threads),
        "results": [{**asdict(result), "met": result.met} for result in results],
    }
