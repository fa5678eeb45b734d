"""Differences to a reference method on the same splits, and tests that respect the pairing.

Random splits of one set overlap, so that their scores are correlated and the usual paired t-test
finds differences that are not there. The corrected resampled t-test of Nadeau and Bengio (2003,
"Inference for the Generalization Error", Machine Learning 52) enlarges the variance for it. Where
each split leaves out part of another feature, splits are no draws from one distribution; there
the signed-rank test of Wilcoxon is used, which assumes no normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks_uci.analysis.tables import Table, format_value
from benchmarks_uci.engine.study import Metric, Protocol, Study

COLUMNS = ["data", "method", "mean", "error", "p_value", "n"]


def find_reference(run: pd.DataFrame, study: Study) -> str | None:
    """Return the first reference of the study that the run has."""
    names = set(run["method"])
    return next((name for name in study.references if name in names), None)


def compare(
    run: pd.DataFrame, metric: Metric, reference: str | None, overlapping: bool
) -> pd.DataFrame:
    """Compare every method with a reference, on each set where both finished a split.

    Returns
    -------
    DataFrame
        One row per method and data set. `mean`: mean over the common splits of loss(method) -
        loss(reference); above 0 the reference is better. `error`: standard error, corrected if
        the splits overlap; missing for one split. `p_value`: two-sided; missing if the splits
        are too few. `n`: number of common splits.
    """
    rows = pd.DataFrame(run[(run["score"] == metric.name) & run["value"].notna()])
    if metric.loss is None or reference is None or reference not in set(rows["method"]):
        return pd.DataFrame(columns=pd.Index(COLUMNS))
    rows = rows.assign(
        loss=rows["value"].map(metric.loss), test_to_train=rows["n_test"] / rows["n_train"]
    )
    losses = rows.pivot(index=["data", "split"], columns="method", values="loss")
    ratios = rows.groupby(["data", "split"])["test_to_train"].first()
    found = []
    for method in losses.columns.drop(reference):
        pairs = pd.Series(losses[method] - losses[reference]).dropna()
        for data, group in pairs.groupby(level="data"):
            values, error, p_value = group.to_numpy(), None, None
            if len(values) > 1 and overlapping:
                test_to_train = float(np.mean(ratios.loc[group.index].to_numpy()))
                error, p_value = corrected_t_test(values, test_to_train)
            elif len(values) > 1:
                error, p_value = stats.sem(values), signed_rank_test(values)
            found.append((data, method, values.mean(), error, p_value, len(values)))
    table = pd.DataFrame(found, columns=pd.Index(COLUMNS))
    return table.astype({"error": float, "p_value": float})


def corrected_t_test(values: np.ndarray, test_to_train: float) -> tuple[float, float]:
    """Test for a mean of 0 (Nadeau and Bengio, 2003): standard error, two-sided p-value.

    The variance of the mean of J differences is (1/J + n_test/n_train) times their sample
    variance, instead of 1/J times it; t has J - 1 degrees of freedom.
    """
    n = len(values)
    error = sqrt((1 / n + test_to_train) * np.var(values, ddof=1))
    if error == 0:
        return 0.0, 1.0 if np.mean(values) == 0 else 0.0
    return error, float(2 * stats.t.sf(abs(np.mean(values)) / error, n - 1))


def signed_rank_test(values: Sequence[float] | np.ndarray) -> float | None:
    """Return the two-sided p-value of Wilcoxon's test; None for fewer than two non-zero values."""
    nonzero = np.asarray(values, dtype=float)
    nonzero = nonzero[nonzero != 0]  # as Wilcoxon did
    if len(nonzero) < 2:
        return None
    return float(stats.wilcoxon(nonzero)[1])  # pyright: ignore


def tabulate_pairs(run: pd.DataFrame, study: Study, metric_name: str) -> Table:
    """Compare each method with the reference: mean difference ± standard error, and p-value.

    One row per set, one column per method.

    The last rows count the sets on which the reference is better and, for scores without units,
    test over the sets. The table is empty for a score that has no better side.
    """
    metric, reference = study.metrics[metric_name], find_reference(run, study)
    found = compare(run, metric, reference, study.protocols[run["protocol"].iloc[0]].overlapping)
    title = f"{metric.title}, difference to {reference}"
    n_splits = run.groupby("data")["split"].nunique().to_dict()
    headers, columns = ["data"], [[*sorted(set(found["data"]))]]
    for method, rows in found.groupby("method", sort=False):
        cells = {row["data"]: row for row in rows.to_dict("records")}
        column = [_format(cells.get(data), metric, n_splits[data]) for data in columns[0]]
        column.append(f"{(rows['mean'] > 0).sum()} of {len(rows)}")
        if metric.unit_free:
            column.append(format_p(signed_rank_test(rows["mean"].tolist())) or "-")
        headers.append(str(method))
        columns.append(column)
    columns[0] += [f"sets where {reference} is better", "all sets (Wilcoxon)"]
    rows = [list(row) for row in zip(*columns, strict=False)] if len(found) else []
    return Table(title, headers, rows)


def explain(protocol: Protocol, reference: str | None) -> str:
    """Say how to read `tabulate_pairs`."""
    test = (
        "the corrected resampled t-test of Nadeau and Bengio (2003), which allows for the "
        "overlap of the random splits, as the standard error does"
        if protocol.overlapping
        else "the signed-rank test of Wilcoxon over the splits"
    )
    return (
        "Mean difference over the common splits ± standard error; above 0, "
        f"{reference} is better. p: two-sided, by {test}. Over all sets: the signed-rank test of "
        "Wilcoxon on the mean differences. No p-value is adjusted for the number of comparisons."
    )


def _format(cell: dict | None, metric: Metric, n_splits: int) -> str:
    """Return `+0.120 ± 0.030 (p = 0.001)`, and how many splits if some are missing."""
    if cell is None:
        return "-"
    text = format_value(cell["mean"], cell["error"], metric, sign="+")
    fewer = f"{cell['n']}/{n_splits}" if cell["n"] < n_splits else ""
    details = ", ".join(filter(None, [format_p(cell["p_value"]), fewer]))
    return f"{text} ({details})" if details else text


def format_p(value: float | None) -> str:
    """Write a p-value; nothing if it is missing."""
    if value is None or np.isnan(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
