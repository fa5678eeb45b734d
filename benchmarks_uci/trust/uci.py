"""Tables of the UCI sets that compare two versions of the package on the same splits.

`results/*.csv` are from this version, `results/earlier-version/*.csv` from the version before. One
may have fewer sets or splits than the other. A table shows the splits that both versions have.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import make_frame
from benchmarks_uci.analysis.paired import compare, format_p
from benchmarks_uci.analysis.tables import escape, format_value, write_bullets, write_pipes
from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.regression.study import STUDY

RESULTS = Path(__file__).parents[1] / "results"
EARLIER = RESULTS / "earlier-version"
BEFORE, NOW = "before", "now"
OURS, ENSEMBLE = "deltauq-5", "deepensemble"
COMPARED = ("deltauq", OURS)
WANTED = 0.88, 0.92  # coverage of 90 % intervals
LEVEL = 0.05  # of a p-value
PROTOCOLS = ("random80", "gap", "tail")
ABSENT = "No results of this version."


def read_frame(protocol: str, folder: Path = RESULTS) -> pd.DataFrame | None:
    """Read both versions of a protocol as the frame of `make_frame`; None without results.

    `folder` has the results of this version.

    Methods are named "deltauq-5, before" and "deltauq-5, now". An error says that both versions
    were not tested on the same rows.
    """
    name = f"{protocol}-default.csv"
    if not (folder / name).exists():
        return None
    versions = {BEFORE: EARLIER / name, NOW: folder / name}
    records = [
        {**record, "method": _label(record["method"], version)}
        for version, source in versions.items()
        for record in read_compact(source, STUDY)
        if record["method"] in (*COMPARED, ENSEMBLE)
    ]
    frame = make_frame(records, STUDY)
    return frame.assign(method=frame["method"].astype(str))


def write_report(folder: Path = RESULTS) -> str:
    """Return the tables of all protocols that have results, as Markdown."""
    parts = []
    for protocol in PROTOCOLS:
        if (frame := read_frame(protocol, folder)) is not None:
            parts += [f"{protocol}, {BEFORE} → {NOW}:", write_table(protocol, frame)]
    return "\n\n".join(parts)


def write_table(protocol: str, frame: pd.DataFrame | None) -> str:
    """Return the table of one protocol, and sentences that count its sets."""
    if frame is None:
        return ABSENT
    return write_random(frame) if protocol == "random80" else write_extrapolation(frame)


def write_random(frame: pd.DataFrame) -> str:
    """One row per set and method: coverage, NLL with its test, density NLL, CRPS."""
    totals = frame.groupby("data")["split"].nunique()
    rows, lines = {}, []
    for method in COMPARED:
        part = select_common(frame, [method])
        if part.empty:
            continue
        means = average(part)
        tests = compare_versions(part, method)
        n_splits = part.groupby("data")["split"].nunique()
        for data in means.index:
            cells = [
                format_pair(means, data, method, name)
                for name in ("coverage", "nll", "density_nll", "crps")
            ]
            title, n = STUDY.method(method).title, n_splits[data]
            p_value = format_p(tests["p_value"].get(data)) or "-"
            cells.insert(2, p_value)
            rows[data, method] = [data, title, f"{n} of {totals[data]}", *cells]
        lines.append(count_random(means, tests, method))
    headers = ["set", "method", "splits", "coverage", "NLL", "NLL: test", "density NLL", "CRPS"]
    return _join(headers, [rows[key] for key in sorted(rows)], lines, frame, n_left=2)


def write_extrapolation(frame: pd.DataFrame) -> str:
    """One row per set: NLL, CRPS and coverage of Delta-UQ and of the deep ensemble."""
    part = select_common(frame, [OURS, ENSEMBLE])
    if part.empty:
        return ABSENT
    means, gaps = average(part), measure_gaps(part)
    totals = frame.groupby("data")["split"].nunique()
    n_splits = part.groupby("data")["split"].nunique()
    rows = [
        [
            data,
            f"{n_splits[data]} of {totals[data]}",
            *(
                format_pair(means, data, method, name)
                for name in ("nll", "crps", "coverage")
                for method in (OURS, ENSEMBLE)
            ),
            _join_pair(f"{gaps[version][data]:.2f}" for version in (BEFORE, NOW)),
        ]
        for data in means.index
    ]
    headers = [
        "set",
        "splits",
        *(f"{s}, {m}" for s in ("NLL", "CRPS", "coverage") for m in ("Delta-UQ", "ensemble")),
        "largest difference of density NLL and NLL",
    ]
    return _join(headers, rows, count_extrapolation(means, gaps), frame)


def select_common(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the rows of these methods on the splits that all finished in both versions."""
    labels = [_label(method, version) for method in methods for version in (BEFORE, NOW)]
    part = frame.query("method in @labels")
    finished = part.query("score == 'nll'").dropna(subset="value")
    counts = finished.groupby(["data", "split"], as_index=False).agg(n=("method", "size"))
    common = counts.query(f"n == {len(labels)}")[["data", "split"]]
    return part.merge(pd.DataFrame(common))


def average(part: pd.DataFrame) -> pd.DataFrame:
    """Return means over the splits: one row per set, columns (score, method)."""
    columns = ["score", "method"]
    return part.pivot_table("value", index="data", columns=columns, aggfunc="mean")


def compare_versions(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Test the NLL of both versions on random splits; `mean` above 0: it was better before."""
    found = compare(part, STUDY.metrics["nll"], _label(method, BEFORE), overlapping=True)
    return found.set_index("data")


def measure_gaps(part: pd.DataFrame) -> pd.DataFrame:
    """Return the largest |density NLL - NLL| of a split of Delta-UQ: one row per set."""
    index = ["data", "split", "method"]
    wide = part.pivot(index=index, columns="score", values="value").reset_index()
    wide["gap"] = (wide["density_nll"] - wide["nll"]).abs()
    largest = wide.pivot_table("gap", index="data", columns="method", aggfunc="max")
    return pd.DataFrame({v: largest[_label(OURS, v)] for v in (BEFORE, NOW)})


def count_random(means: pd.DataFrame, tests: pd.DataFrame, method: str) -> str:
    """Count the sets with the wanted coverage, and those where the NLL differs clearly."""
    n_met = {
        version: means["coverage", _label(method, version)].round(3).between(*WANTED).sum()
        for version in (BEFORE, NOW)
    }
    clear = tests["p_value"] < LEVEL
    worse, better = (sum(clear & side) for side in (tests["mean"] > 0, tests["mean"] < 0))
    low, high = WANTED
    return (
        f"{STUDY.method(method).title}: coverage between {low} and {high} on {n_met[NOW]} of "
        f"{len(means)} sets (before: {n_met[BEFORE]}). Sets with a better NLL at a p-value below "
        f"{LEVEL}: {better}; with a worse NLL: {worse}."
    )


def count_extrapolation(means: pd.DataFrame, gaps: pd.DataFrame) -> list[str]:
    """Count the sets on which Delta-UQ is no worse than the ensemble; give the largest gap."""
    counts = {
        (name, version): (
            means[name, _label(OURS, version)] <= means[name, _label(ENSEMBLE, version)]
        ).sum()
        for name in ("nll", "crps")
        for version in (BEFORE, NOW)
    }
    lines = [
        f"{title}: Delta-UQ is no worse than the deep ensemble on {counts[name, NOW]} of "
        f"{len(means)} sets (before: {counts[name, BEFORE]})."
        for name, title in (("nll", "NLL"), ("crps", "CRPS"))
    ]
    largest = gaps.max()
    return [
        *lines,
        f"The density NLL of Delta-UQ differs from its NLL by at most {largest[NOW]:.2f} nats on "
        f"a split (before: {largest[BEFORE]:.2f}).",
    ]


def format_pair(means: pd.DataFrame, data: str, method: str, name: str) -> str:
    """Write the mean of a score before and now."""
    values = (means.loc[data, (name, _label(method, version))] for version in (BEFORE, NOW))
    return _join_pair(format_value(float(v), np.nan, STUDY.metrics[name]) for v in values)


def _join(headers, rows, lines, frame, n_left=1) -> str:
    """Put a table, its sentences, and the sets that it lacks, below one another."""
    absent = sorted({*frame["data"]} - {row[0] for row in rows})
    if absent:
        lines = [*lines, f"Not measured with this version: {', '.join(absent)}."]
    cells = [[escape(cell) for cell in row] for row in rows]
    return f"{write_pipes(headers, cells, n_left)}\n\n{write_bullets(lines)}"


def _join_pair(texts) -> str:
    return " → ".join(texts)


def _label(method: str, version: str) -> str:
    return f"{method}, {version}"
