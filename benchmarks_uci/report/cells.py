"""One cell of a table: a method on a set, its scores over the splits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf, isfinite, isnan, sqrt

import numpy as np
from scipy.stats import rankdata

from benchmarks_uci.report.grouping import grouped, methods, sets
from benchmarks_uci.report.metrics import Metric


@dataclass(frozen=True)
class Cell:
    """The scores of a method on a set.

    Attributes
    ----------
    values : tuple of float
        Scores of the splits that are done, where the score is defined.
    n_failed : int
        Tasks that failed.
    n_splits : int
        Splits of the set that any method was run on.
    """

    values: tuple[float, ...] = ()
    n_failed: int = 0
    n_splits: int = 0

    @property
    def complete(self) -> bool:
        """Whether every split is in the mean."""
        return len(self.values) == self.n_splits > 0

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float | None:
        """None for a single split."""
        if len(self.values) < 2:
            return None
        return float(np.std(self.values, ddof=1) / sqrt(len(self.values)))

    def text(self, metric: Metric) -> str:
        """Mean ± standard error, and what is missing from them."""
        if not self.values:
            return f"failed ({self.n_failed})" if self.n_failed else "-"
        decimals = metric.decimals_of(self.mean)
        text = f"{self.mean:.{decimals}f}"
        if self.standard_error is not None:
            text += f" ± {self.standard_error:.{decimals}f}"
        if not self.complete:
            text += f" ({len(self.values)}/{self.n_splits}"
            text += f", {self.n_failed} failed)" if self.n_failed else ")"
        return text


def cells(records: list[dict], metric: Metric) -> dict[tuple[str, str], Cell]:
    """Every (set, method) of one protocol and preset; a cell without records is empty."""
    seen = {
        data: len({record["split"] for record in of_set})
        for (data,), of_set in grouped(records, "data").items()
    }
    groups = grouped(records, "data", "method")
    found = {}
    for data in sets(records):
        for method in methods(records):
            group = groups.get((data, method), [])
            done = [record for record in group if record["status"] == "done"]
            values = (record.get(metric.name) for record in done)
            found[data, method] = Cell(
                tuple(float(value) for value in values if value is not None),
                n_failed=len(group) - len(done),
                n_splits=seen[data],
            )
    return found


def best(found: dict[tuple[str, str], Cell], metric: Metric) -> set[tuple[str, str]]:
    """The (set, method) with the smallest loss of each set, out of two or more complete cells."""
    by_set = defaultdict(list)
    for (data, method), loss in _losses(found, metric).items():
        by_set[data].append((loss, method))
    winners = set()
    for data, losses in by_set.items():
        least, _ = min(losses)
        if len(losses) > 1 and isfinite(least):
            winners |= {(data, method) for loss, method in losses if loss == least}
    return winners


def ranks(found: dict[tuple[str, str], Cell], metric: Metric) -> dict[str, dict[str, float]]:
    """Rank on each set, 1 is best, by method: ties share their mean rank.

    Only methods whose cells are complete on every set are ranked, so that all are ranked on the
    same rows and a failed task cannot improve a rank; one method alone is not ranked.
    """
    losses = _losses(found, metric)
    all_sets = list(dict.fromkeys(data for data, _ in found))
    all_methods = list(dict.fromkeys(method for _, method in found))
    ranked = [m for m in all_methods if all((data, m) in losses for data in all_sets)]
    if len(ranked) < 2:
        return {}
    result = {method: {} for method in ranked}
    for data in all_sets:
        of_set = [losses[data, method] for method in ranked]
        for method, rank in zip(ranked, rankdata(of_set), strict=True):
            result[method][data] = float(rank)
    return result


def average_ranks(found: dict[tuple[str, str], Cell], metric: Metric) -> dict[str, float]:
    """Mean over the sets of `ranks`."""
    return {
        method: float(np.mean(list(of_method.values())))
        for method, of_method in ranks(found, metric).items()
    }


def _losses(found: dict[tuple[str, str], Cell], metric: Metric) -> dict[tuple[str, str], float]:
    if metric.loss is None:
        return {}
    losses = {key: metric.loss(cell.mean) for key, cell in found.items() if cell.complete}
    # A score that is not a number is the worst there is.
    return {key: inf if isnan(loss) else loss for key, loss in losses.items()}
