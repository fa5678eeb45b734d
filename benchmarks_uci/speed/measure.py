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
from benchmarks_uci.speed import device as device_beside_cpu
from benchmarks_uci.speed import importing, memory, prediction, training
from benchmarks_uci.speed.results import Result
from benchmarks_uci.threads import threads

MEASUREMENTS = {
    "prediction": prediction.measure,
    "memory": memory.measure,
    "training": training.measure,
    "import": importing.measure,
}


def names(device: str | None) -> list[str]:
    """What is measured: all of `MEASUREMENTS`, or a device beside the CPU."""
    return list(MEASUREMENTS) if device is None else [device]


def run(name: str, *, quick: bool, n_threads: int) -> list[Result]:
    """Results of one of the `names`."""
    with threads(n_threads):
        if name in MEASUREMENTS:
            return MEASUREMENTS[name](quick)
        return device_beside_cpu.measure(quick, name)


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


def as_json(results: list[Result], n_threads: int, device: str | None) -> dict:
    """The results and the environment, ready for `json.dumps`."""
    return {
        "environment": environment(n_threads, device),
        "results": [{**asdict(result), "met": result.met} for result in results],
    }
