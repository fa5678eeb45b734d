"""Means, standard errors and ranks of one score."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks_uci.engine.study import Metric


def summarise(run: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Summarise a score over the splits, for each data set and method of one run.

    Returns
    -------
    DataFrame
        Index: data, method, every combination. Columns: `mean`; `error`, its standard error,
        missing for one split; `n`, the splits in the mean; `n_run` and `n_failed`, the tasks run
        and failed; `n_splits`, the splits of the data set that any method ran on; `complete`,
        whether all of these are in the mean; `loss`, missing unless complete; `best`, whether
        the loss is the smallest of the set among two or more.
    """
    rows = run[run["score"] == metric.name]
    groups = rows.groupby(["data", "method"], observed=False)
    values = groups["value"]
    found = pd.DataFrame({"mean": values.mean(), "error": values.sem(), "n": values.count()})
    found["n_run"] = groups.size()
    found["n_failed"] = groups["failed"].sum()
    n_splits = rows.groupby("data")["split"].nunique()
    found["n_splits"] = n_splits.reindex(found.index.get_level_values("data")).to_numpy()
    found["complete"] = found["n"] == found["n_splits"]
    loss = found["mean"].map(metric.loss or (lambda value: np.nan))
    # Rounded, so that ties of fractions are ties in binary too.
    found["loss"] = loss.where(found["complete"]).round(12)
    by_set = found["loss"].groupby(level="data")
    lowest = found["loss"] == by_set.transform("min")
    n_complete = pd.Series(by_set.transform("count"))
    found["best"] = lowest & np.isfinite(found["loss"]) & (n_complete > 1)
    return found


def rank(found: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods on each set, 1 is best; ties share their mean rank.

    Only methods that are complete on every set are ranked, so that all have the same rows and a
    failed task cannot improve a rank. One method alone is not ranked. Index: data; columns:
    methods; the mean of a column is the average rank.
    """
    losses = pd.DataFrame(found["loss"].unstack("method")).dropna(axis="columns")
    return losses.rank(axis="columns") if losses.shape[1] > 1 else losses.iloc[:, :0]
