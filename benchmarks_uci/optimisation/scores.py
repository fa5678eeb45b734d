"""Run a search and score its progress."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks_uci.engine.study import Split, Task
from benchmarks_uci.optimisation.problems import Problem

# Shares of the evaluations at which the progress is recorded
POSITIONS = tuple(i / 10 for i in range(11))

# Below this part of |optimum| + 1 the starting points hold the optimum itself.
_NOTHING_LEFT = 1e-9


def search_and_score(task: Task, model: Any, split: Split, problem: Problem) -> dict:
    """Return all metrics and curves of one search, by name."""
    values, seconds = model.search(problem, problem.X[split.train])
    progress = measure_progress(values, len(split.train), problem.optimum)
    n_steps = len(progress) - 1
    at = [round(share * n_steps) for share in POSITIONS]
    return {
        "auc": area_under(progress),
        "closed": float(progress[-1]),
        "regret": float(values.min() - problem.optimum),
        "step_seconds": float(np.mean(seconds)),
        "progress": progress[at].tolist(),
    }


def measure_progress(values: np.ndarray, n_initial: int, optimum: float) -> np.ndarray:
    """Return the closed part of the gap from the best starting point to the optimum, per step.

    Step 0 is before the first proposal. The part is 1 where a starting point is the optimum.
    """
    best = np.minimum.accumulate(values)[n_initial - 1 :]
    gap = best[0] - optimum
    if gap <= _NOTHING_LEFT * (abs(optimum) + 1):
        return np.ones(len(best))
    return (best[0] - best) / gap


def area_under(progress: np.ndarray) -> float:
    """Return the authors' area: trapezoids over steps 0 to T, over T + 1 (so it is below 1)."""
    return float(np.trapezoid(progress) / len(progress))
