"""Seconds per step and accuracy against the number of points: the network beside the process."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks_uci.analysis.tables import Table
from benchmarks_uci.csv_files import read_scores, write_scores
from benchmarks_uci.optimisation.problems import PROBLEMS

FUNCTION = "hartmann-6"
SIZES = (30, 100, 300, 1000, 5000)
METHODS = ("gp", "deltauq")
# The process takes over ten minutes for the largest size.
MOST_OF_GP = 1000
_N_TEST = 2000


@dataclass(frozen=True)
class Cost:
    """One step of one method: a fit, and one proposal."""

    method: str
    n_points: int
    fit_seconds: float  # processor time of one thread
    propose_seconds: float
    error: float  # root mean square error, in standard deviations of the function


def measure(sizes: Iterable[int], methods: Sequence[str]) -> Iterator[Cost]:
    """Measure one step on random points, from small to large."""
    problem = PROBLEMS[FUNCTION]
    low, high = np.array(problem.bounds).T
    rng = np.random.default_rng(100)
    new = rng.uniform(low, high, (_N_TEST, len(low)))
    truth = np.array([problem.function(x) for x in new])
    for method in methods:  # the first fit of a process imports, which no step is charged for
        _step(method, problem.bounds, new[:10], truth[:10], new[:1])
    for n in sorted(sizes):
        X = rng.uniform(low, high, (n, len(low)))
        y = np.array([problem.function(x) for x in X])
        for method in methods:
            if method == "gp" and n > MOST_OF_GP:
                continue
            fit, propose, predicted = _step(method, problem.bounds, X, y, new)
            error = float(np.sqrt(np.mean((predicted - truth) ** 2)) / truth.std())
            yield Cost(method, n, fit, propose, error)


def _step(method, bounds, X, y, new):
    """Return the seconds of the fit and of the proposal, and the predictions of new points."""
    step = _step_gp if method == "gp" else _step_network
    return step(bounds, X, y, new)


def _step_network(bounds, X, y, new):
    from sk_deltauq.optimize import Optimizer

    optimizer = Optimizer(bounds, n_initial=2, random_state=0)
    optimizer.tell(X, y)
    start = time.process_time()
    model: Any = optimizer.estimator_
    fitted = time.process_time()
    optimizer.ask()
    return fitted - start, time.process_time() - fitted, model.predict(new)


def _step_gp(bounds, X, y, new):
    from benchmarks_uci.optimisation.searches import fit_gp, maximise_improvement

    low, high = np.array(bounds).T
    values = torch.tensor((y.mean() - y) / y.std())[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = fit_gp(torch.tensor((X - low) / (high - low)), values)
        fitted = time.process_time()
        maximise_improvement(model, values, len(low))
        proposed = time.process_time()
        with torch.no_grad():
            mean = model.posterior(torch.tensor((new - low) / (high - low))).mean[:, 0].numpy()
    return fitted - start, proposed - fitted, y.mean() - y.std() * mean


def write(costs: Iterable[Cost], path: Path) -> None:
    """Write measurements to a CSV file."""
    write_scores(map(asdict, costs), path)


def read(path: Path) -> list[Cost]:
    """Read measurements from a CSV file; none if there is no file."""
    if not path.exists():
        return []
    return [
        Cost(r["method"], int(r["n_points"]), *(float(r[f.name]) for f in fields(Cost)[2:]))
        for r in read_scores(path)
    ]


def tabulate(costs: Iterable[Cost]) -> Table:
    """One row per number of points: seconds per step, and error, of both methods."""
    found = {(c.method, c.n_points): c for c in costs}
    rows = []
    for n in sorted({n for _, n in found}):
        row = [f"{n:,}"]
        for method in METHODS:
            cost = found.get((method, n))
            seconds = "-" if cost is None else f"{cost.fit_seconds + cost.propose_seconds:.2f}"
            row += [seconds, "-" if cost is None else f"{cost.error:.3f}"]
        rows.append(row)
    headers = ["points", "GP: seconds", "GP: error", "Delta-UQ: seconds", "Delta-UQ: error"]
    return Table(f"One step on {FUNCTION}", headers, rows)
