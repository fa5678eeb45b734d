"""All measurements in the order of the table, and the environment."""

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
    device,
    importing,
    members,
    memory,
    peers,
    prediction,
    profile,
    searching,
    training,
)
from benchmarks_uci.speed.results import Result
from benchmarks_uci.threads import threads

# Only the peers need the sources of data.
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
    """Run one of the `MEASUREMENTS`."""
    with threads(n_threads):
        return MEASUREMENTS[name](quick, sources)


def run_on(device_: str, *, quick: bool, n_threads: int) -> list[Result]:
    """Compare a device with the CPU."""
    with threads(n_threads):
        return device.measure(quick, device_)


def run_curves(*, quick: bool, n_threads: int) -> list[curves.Curve]:
    """Measure how the cost grows."""
    with threads(n_threads):
        return curves.measure(quick)


def environment(n_threads: int, device_: str | None) -> dict:
    """Versions and machine."""
    accelerator = {} if device_ is None else {"device": device.device_name(device_)}
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


def notes(n_threads: int, device_: str | None) -> str:
    """A text that explains the figures."""
    facts = environment(n_threads, device_)
    versions = ", ".join(f"{name} {value}" for name, value in facts.items())
    return (
        "The compared functions ran in turns. A ratio is the median of the ratios within a round. "
        f"Every prediction starts from the same unscaled rows.\n{versions}"
    )
