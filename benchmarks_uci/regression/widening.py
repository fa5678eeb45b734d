"""Table of the distance-based inflation: widening 1 and 2, in gaps and tails.

`results/*-refined.csv` have the methods with `widening=1`, the default of the package, and
`results/widening/*-refined.csv` the same five members with `widening=2`, on the same splits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import make_frame
from benchmarks_uci.analysis.tables import format_value, write_bullets, write_pipes
from benchmarks_uci.engine.records import ResultsError, read_compact
from benchmarks_uci.regression.study import STUDY

RESULTS = Path(__file__).parents[1] / "results"
NARROW, WIDE, ENSEMBLE = "deltauq-5", "deltauq-m5-wide", "deepensemble"
METHODS = {NARROW: "widening 1", WIDE: "widening 2", ENSEMBLE: "deep ensemble"}
SCORES = "nll", "crps", "coverage"
LEAST_COVERAGE = 0.8  # of 90 % intervals
MOST_NLL = 10


def read_means(protocol: str, folder: Path = RESULTS) -> pd.DataFrame:
    """Read the means over the splits: one row per set, columns (score, method).

    Raises
    ------
    ResultsError
        If the methods were not run on the same splits.
    """
    files = [folder / f"{protocol}-refined.csv", folder / "widening" / f"{protocol}-refined.csv"]
    records = [r for file in files for r in read_compact(file, STUDY) if r["method"] in METHODS]
    frame = make_frame(records, STUDY)
    values = frame[frame["score"].isin(SCORES)].pivot(
        index=["data", "split"], columns=["score", "method"], values="value"
    )
    if values.isna().to_numpy().any():
        raise ResultsError(f"{protocol}: {', '.join(METHODS)} have different splits.")
    return pd.DataFrame(values.groupby("data").mean())


def write_table(protocol: str, folder: Path = RESULTS) -> str:
    """Write one row per set, and sentences that count the sets, as Markdown."""
    means = read_means(protocol, folder)
    rows = [
        [
            data,
            *(
                format_value(float(means.loc[data, (score, method)]), np.nan, STUDY.metrics[score])
                for score in SCORES
                for method in METHODS
            ),
        ]
        for data in means.index
    ]
    titles = {"nll": "NLL", "crps": "CRPS", "coverage": "coverage"}
    headers = ["set", *(f"{titles[s]}, {title}" for s in SCORES for title in METHODS.values())]
    lines = [_count(means, method) for method in METHODS]
    return f"{write_pipes(headers, rows, n_left=1)}\n\n{write_bullets(lines)}"


def _count(means: pd.DataFrame, method: str) -> str:
    """Count the sets on which a method reaches the goals."""
    nll, crps, coverage = (means[score, method] for score in SCORES)
    title, n = METHODS[method].capitalize(), len(means)
    n_covered = (coverage.round(3) >= LEAST_COVERAGE).sum()
    line = (
        f"{title}: 90 % intervals cover at least {LEAST_COVERAGE:.0%} on "
        f"{n_covered} of {n} sets, and the NLL is below {MOST_NLL} on {(nll < MOST_NLL).sum()}."
    )
    if method == ENSEMBLE:
        return line
    lower = [
        (values < means[score, ENSEMBLE]).sum() for score, values in (("nll", nll), ("crps", crps))
    ]
    return f"{line} The NLL is lower than the ensemble's on {lower[0]}, the CRPS on {lower[1]}."
