"""Turn records into one data frame in long form, after a check that they belong together."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from benchmarks_uci.engine.compact import ResultsError
from benchmarks_uci.engine.study import Study
from benchmarks_uci.engine.task import TASK_FIELDS

RUN = ["protocol", "preset"]
SHARED = {
    # Records that agree in these fields must agree in this one; what to do if they do not.
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
