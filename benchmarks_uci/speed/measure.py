"""All measurements, in the order of the table, and what to say beside it."""

from __future__ import annotations

import os
import platform

import numpy as np
import sklearn
import skorch
import torch

import sk_deltauq
from benchmarks_uci.datasets import Sources
from benchmarks_uci.speed import (
    curves,
    importing,
    members,
    memory,
    peers,
    prediction,
    profile,
    searching,
    training,
)
from benchmarks_uci.speed import device as device_beside_cpu
from benchmarks_uci.speed.results import Result
from benchmarks_uci.threads import threads

# Each is called with `quick` and the sources of data, and answers a list of results.
MEASUREMENTS = {
    "prediction": lambda quick, sources: prediction.measure(quick),
    "memory": lambda quick, sources: memory.measure(quick),
    "training": lambda quick, sources: training.measure(quick),
    "members": lambda quick, sources: members.measure(quick),
    "peers": peers.measure,
    "search": lambda quick, sources: searching.measure(quick),
    "profile": lambda quick, sources: profile.measure(quick),
    "import": lambda quick, sources: importing.measure(quick),
}


def run(name: str, *, quick: bool, n_threads: int, sources: Sources) -> list[Result]:
    """Results of one of the `MEASUREMENTS`."""
    with threads(n_threads):
        return MEASUREMENTS[name](quick, sources)


def run_on(device: str, *, quick: bool, n_threads: int) -> list[Result]:
    """Results of a device beside the CPU."""
    with threads(n_threads):
        return device_beside_cpu.measure(quick, device)


def run_curves(*, quick: bool, n_threads: int) -> list[curves.Curve]:
    """How the cost grows."""
    with threads(n_threads):
        return curves.measure(quick)


def environment(n_threads: int, device: str | None) -> dict:
    """Versions and machine."""
    accelerator = {} if device is None else {"device": device_beside_cpu.card(device)}
    return {
        **accelerator,
        "sk_deltauq": sk_deltauq.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "skorch": skorch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "threads": n_threads,
    }


def notes(n_threads: int, device: str | None) -> str:
    """How the figures came about."""
    facts = environment(n_threads, device)
    versions = ", ".join(f"{name} {value}" for name, value in facts.items())
    return (
        "Run in turns; the figure is the median of the ratios within a round. Every prediction "
        f"starts from the same unscaled rows.\n{versions}"
    )
