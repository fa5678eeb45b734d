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
    device,
    latency,
    memory,
    neighbours,
    peers,
    prediction,
    profile,
    training,
)
from benchmarks_uci.speed.results import Result

# Only the peers need the sources of data.
MEASUREMENTS = {
    "prediction": lambda quick, sources: prediction.measure(quick),
    "latency": lambda quick, sources: latency.measure(quick),
    "memory": lambda quick, sources: memory.measure(quick),
    "training": lambda quick, sources: training.measure(quick),
    "members": lambda quick, sources: training.measure_members(quick),
    "neighbours": lambda quick, sources: neighbours.measure(quick),
    "peers": peers.measure,
    "search": lambda quick, sources: training.measure_search(quick),
    "profile": lambda quick, sources: profile.measure(quick),
    "import": lambda quick, sources: memory.measure_import(quick),
}


def run(name: str, quick: bool, sources: Sources) -> list[Result]:
    """Run one of the `MEASUREMENTS`."""
    return MEASUREMENTS[name](quick, sources)


def describe_environment(n_threads: int, device_: str | None) -> dict:
    """Return versions and machine."""
    accelerator = {} if device_ is None else {"device": device.read_device_name(device_)}
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


def explain(environment: dict) -> str:
    """Say how the figures were measured."""
    versions = ", ".join(f"{name} {value}" for name, value in environment.items())
    return (
        "The compared functions ran in turns. A ratio is the median of the ratios within a round. "
        f"Every prediction starts from the same unscaled rows.\n{versions}"
    )
