"""Records as one data frame in long form, and the means and ranks of one score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks_uci.engine.records import ResultsError
from benchmarks_uci.engine.study import TASK_FIELDS, Metric, Study

RUN = ["protocol", "preset"]
SHARED = {
    # Field: the fields that determine it, and the advice if records disagree.
    "settings_id": (
        [*RUN, "data", "method"],
        "A mean over both has no meaning. Move the results of one of them to another folder, or "
        "run the method again with the settings of today.",
    ),
    "data_hash": (
        ["data"],
        "The data are not the same. Move the results of one of them to another folder.",
    ),
    "split_hash": (
        ["protocol", "data", "split"],
        "The methods were not tested on the same rows. Run the older results again.",
    ),
}


def make_frame(records: list[dict], study: Study) -> pd.DataFrame:
    """Return one row per task and score.

    Columns: `protocol`, `preset`, `data`, `method`, `split`, `failed`, `n_train`, `n_test`,
    `score` and `value`. `value` is missing if the task failed. `method` is ordered: first the
    references of the study, then its methods as listed.

    Raises
    ------
    ResultsError
        If the records come from different experiments: a task has two records, a table cell has
        mixed settings, a data set has different rows, or a split has.
    """
    names = [*TASK_FIELDS, "status", "n_train", "n_test", *SHARED, *study.metrics]
    wide = pd.DataFrame.from_records(
        [[record.get(name) for name in names] for record in records], columns=names
    )
    _check(wide)
    known = dict.fromkeys([*study.references, *study.methods, *study.variants])
    order = [*known, *sorted({*wide["method"]} - {*known})]
    wide["method"] = pd.Categorical(wide["method"], order, ordered=True)
    wide["failed"] = wide["status"] != "done"
    kept = [*TASK_FIELDS, "failed", "n_train", "n_test"]
    long = wide.melt(kept, list(study.metrics), var_name="score")
    return long.astype({"value": float})


def split_runs(frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield protocol and preset with their rows: what one table may show together."""
    for _, run in frame.groupby(RUN):
        protocol, preset = (str(run[name].iloc[0]) for name in RUN)
        run = run.assign(method=run["method"].cat.remove_unused_categories())
        yield (protocol, preset), run


def _check(wide: pd.DataFrame):
    task = list(TASK_FIELDS)
    if twice := sorted({*map(tuple, wide.loc[wide.duplicated(task), task].to_numpy())}):
        listed = ["/".join(map(str, task)) for task in twice]
        more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
        raise ResultsError(
            f"these tasks have more than one record: {', '.join(listed[:5])}{more}."
        )
    for field, (shared, advice) in SHARED.items():
        known = wide[wide[field].fillna("") != ""]  # a task that failed early may have none
        for _, rows in known.groupby(shared):
            seen = pd.Series(rows[field]).value_counts().sort_index()
            key = rows.loc[rows.index[0], shared]
            if len(seen) == 1:
                continue
            listed = ", ".join(f"{value} ({count} tasks)" for value, count in seen.items())
            raise ResultsError(
                f"{'/'.join(map(str, key))} ({', '.join(shared)}): mixed results, `{field}` must "
                f"have one value and has {listed}. {advice}"
            )


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


def select_complete(found: pd.DataFrame) -> pd.DataFrame:
    """Return the means of a summary by data and method; missing unless complete."""
    return pd.DataFrame(found["mean"].where(found["complete"]).unstack("method"))


def rank(found: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods on each set, 1 is best; ties share their mean rank.

    Only methods that are complete on every set are ranked, so that all have the same rows and a
    failed task cannot improve a rank. One method alone is not ranked. Index: data; columns:
    methods; the mean of a column is the average rank.
    """
    losses = pd.DataFrame(found["loss"].unstack("method")).dropna(axis="columns")
    return losses.rank(axis="columns") if losses.shape[1] > 1 else losses.iloc[:, :0]
