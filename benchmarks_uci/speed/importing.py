"""Import time in new interpreters."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks_uci.speed.results import Result

STATEMENTS = {"ours": "import sk_deltauq", "libraries": "import torch, sklearn, skorch"}


def measure(quick: bool) -> list[Result]:
    """Import time of the package minus the import time of its libraries."""
    seconds = {name: [] for name in STATEMENTS}
    for _ in range(1 if quick else 3):
        for name, statement in STATEMENTS.items():
            seconds[name].append(import_seconds(statement))
    return [
        Result(
            STATEMENTS["ours"],
            STATEMENTS["libraries"],
            median(a - b for a, b in zip(seconds["ours"], seconds["libraries"], strict=True)),
            "s more",
            goal=0.2,
            parts={name: median(values) for name, values in seconds.items()},
        )
    ]


def import_seconds(statement: str) -> float:
    """Seconds of one import statement in a new interpreter."""
    code = f"import time; start = time.perf_counter(); {statement}\n"
    code += "print(time.perf_counter() - start)"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)
