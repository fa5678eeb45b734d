"""From records to the table that is printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from tabulate import tabulate

from benchmarks_uci import datasets

# Field of a record, column title, decimals of the mean
COLUMNS = [
    ("nll", "NLL", 3),
    ("rmse", "RMSE", 3),
    ("crps", "CRPS", 3),
    ("coverage", "90 % coverage", 3),
    ("width", "mean width", 2),
    ("fit_seconds", "fit seconds", 2),
]


def table(records: Iterable[dict], tablefmt: str = "simple") -> str:
    """One row a set and method, mean ± standard error over the splits, in the order of records."""
    groups = defaultdict(list)
    for record in records:
        groups[record["data"], record["method"]].append(record)
    rows, last = [], None
    for (data, method), group in groups.items():
        cells = [_mean_and_error([r[f] for r in group], digits) for f, _, digits in COLUMNS]
        rows.append([data if data != last else "", method, *cells])
        last = data
    headers = ["data", "method", *(title for _, title, _ in COLUMNS)]
    return tabulate(
        rows, headers, tablefmt, disable_numparse=True, colalign=["left"] * 2 + ["right"] * 6
    )


def notes(records: list[dict]) -> str:
    """What the table shows: data, splits, units, and fits that complained."""
    n_splits = 1 + max(record["split"] for record in records)
    lines = []
    for name in dict.fromkeys(record["data"] for record in records):
        dataset = datasets.load(name)
        n_rows, n_features = dataset.X.shape
        lines.append(f"{name}: {n_rows} rows, {n_features} features; {dataset.source}.")
    seeds = "seed 0" if n_splits == 1 else f"seeds 0 to {n_splits - 1}"
    lines += [
        f"Random 80/20 splits with {seeds}, the same for every method. Mean ± standard error.",
        "NLL (of a Gaussian, nats), RMSE and CRPS: lower is better. Coverage: 0.9 is right, and "
        "then narrower is better.",
        "RMSE, CRPS and width are in the units of the target. One thread a fit.",
        "marginal: the normal distribution of the training targets. mlp: scikit-learn's "
        "MLPRegressor with one noise level, from five held-out folds of the training rows.",
    ]
    complaints = defaultdict(int)
    for record in records:
        for message in filter(None, record["warnings"].split("; ")):
            complaints[record["data"], record["method"], message] += 1
    for (data, method, message), count in complaints.items():
        lines.append(f"Warning, {data}, {method}, {count} of {n_splits} splits: {message}")
    return "\n".join(lines)


def _mean_and_error(values: list[float], digits: int) -> str:
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / len(values) ** 0.5:.{digits}f}"
