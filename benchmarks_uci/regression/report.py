"""Sections of the report that only the regression study has: figures of the literature."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.analysis.frame import select_complete, summarise
from benchmarks_uci.analysis.tables import Table, format_cells, write_bullets
from benchmarks_uci.regression.metrics import METRICS
from benchmarks_uci.regression.published import AVERAGE_RANK, read_published

EXPLANATIONS = Path(__file__).parents[1] / "results" / "explanations.txt"
BASELINES = ("mcdropout", "deepensemble", "bnn", "pbp", "ngboost")
MARGIN = 0.1  # nats
WANTED = 7  # of the nine sets
OURS = ("deltauq-5", "deltauq")
_NOT_RUN = "was not run."


def write_sections(run: pd.DataFrame, protocol: str) -> list[str]:
    """Write Delta-UQ beside the literature, and the baselines beside their published figures."""
    parts = []
    if (table := tabulate_literature(run, protocol)).rows:
        lines = count_lower(run, protocol)
        parts += ["### Beside the literature", table.render("markdown"), write_bullets(lines)]
    verdicts = judge_baselines(run)
    if protocol in ("random80", "hl90") and len(verdicts):
        parts += ["### Baselines beside their published figures"]
        parts += [
            write_bullets(count_fair(verdicts)),
            tabulate_baselines(verdicts).render("markdown"),
        ]
        exceptions = explain_exceptions(verdicts)
        parts += [write_bullets(exceptions)] if exceptions else []
    return parts


def tabulate_literature(run: pd.DataFrame, protocol: str) -> Table:
    """Sets by columns: NLL of Delta-UQ, then the published figures for the same splits.

    The lowest figure of a set is bold, ours only if it has every split. The table is empty if
    nothing is published for the protocol.
    """
    found = summarise(run, METRICS["nll"])
    texts, theirs = format_cells(found, METRICS["nll"]), _read_literature(protocol)
    sets, own = sorted(set(run["data"])), [name for name in OURS if name in set(run["method"])]
    values = select_complete(found)[own].join(theirs)
    lowest = values.eq(values.min(axis="columns"), axis="index").to_numpy()
    rows = [
        [
            data,
            *(texts[data, method] for method in own),
            *("-" if np.isnan(v) else f"{v:.2f}" for v in values.loc[data, theirs.columns]),
        ]
        for data in (sets if len(theirs) else [])
    ]
    bold = {(i, j + 1) for i, j in zip(*np.nonzero(lowest), strict=True)}
    return Table("NLL beside the literature", ["data", *values.columns], rows, bold)


def count_lower(run: pd.DataFrame, protocol: str) -> list[str]:
    """For each of ours and each published column, say on how many sets ours is lower."""
    ours, lines = select_complete(summarise(run, METRICS["nll"])), []
    theirs = _read_literature(protocol).reindex(ours.index)
    for method in [name for name in OURS if name in ours]:
        for title, column in theirs.items():
            pairs = pd.DataFrame({"ours": ours[method], "theirs": column}).dropna()
            lower = pairs["ours"] < pairs["theirs"]
            line = f"{method}: lower NLL than {title} on {lower.sum()} of {len(lower)} sets"
            higher = ", ".join(
                str(data) for data, is_lower in lower.to_dict().items() if not is_lower
            )
            lines.append(f"{line}; not on {higher}." if higher else f"{line}.")
    return lines


def judge_baselines(run: pd.DataFrame) -> pd.DataFrame:
    """Compare each baseline that was run with its published figures, on each set that has some.

    Returns
    -------
    DataFrame
        Columns: `method`, `data`; `published`, the figures as text; `ours`, text; `fair`,
        whether the mean is complete and within `MARGIN` of one of the figures, or better;
        `as_good`, the same for the best figure; `shortfall`, why a set is not fair, as text. A
        set that was not run is not fair.
    """
    found = summarise(run, METRICS["nll"])
    texts, cells = format_cells(found, METRICS["nll"]), found.to_dict("index")
    rows = []
    for method in [name for name in BASELINES if name in set(run["method"])]:
        columns = [column for column in read_published() if column.method == method]
        for data in sorted({data for c in columns for data in c.values} - {AVERAGE_RANK}):
            figures = {c.title: c.values[data] for c in columns if data in c.values}
            listed = "; ".join(f"{value:.2f} ({title})" for title, value in figures.items())
            cell = cells.get(
                (data, method), {"mean": np.nan, "complete": False, "n": 0, "n_run": 0}
            )
            highest, lowest = max(figures.values()), min(figures.values())
            # 0.61 + 0.1 is not 0.71 in binary.
            fair, as_good = (
                cell["complete"] and cell["mean"] <= figure + MARGIN + 1e-9
                for figure in (highest, lowest)
            )
            shortfall = _explain_shortfall(cell, highest)
            ours = texts.get((data, method), "-")
            rows.append((method, data, listed, ours, fair, as_good, shortfall))
    columns = ["method", "data", "published", "ours", "fair", "as_good", "shortfall"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def _explain_shortfall(cell: dict, figure: float) -> str:
    """Say by how much, or why, a baseline misses a published figure on a set."""
    if not cell["n"]:
        return "did not finish." if cell["n_run"] else _NOT_RUN
    reasons = []
    if cell["mean"] > figure + MARGIN + 1e-9:
        reasons.append(f"{cell['mean'] - figure:.2f} worse than published")
    if not cell["complete"]:
        reasons.append(f"{cell['n']} of {cell['n_splits']} splits finished")
    return f"{'; '.join(reasons)}." if reasons else ""


def tabulate_baselines(verdicts: pd.DataFrame) -> Table:
    """One row per baseline and set: ours beside each published figure."""
    shown = verdicts[["method", "data", "published", "ours"]]
    answers = np.where(verdicts["fair"], "yes", "no")
    rows = [[*row, answer] for row, answer in zip(shown.to_numpy(), answers, strict=True)]
    headers = ["baseline", "data", "published NLL", "ours", f"within {MARGIN} of one, or better"]
    return Table("Baselines and published figures", headers, rows, n_left=3)


def count_fair(verdicts: pd.DataFrame) -> list[str]:
    """For each baseline, count the sets on which it is as good as published, and name others."""
    sentences = []
    for method, rows in verdicts.groupby("method", sort=False):
        sentence = (
            f"{method}: within {MARGIN} nats of a published figure, or better, on "
            f"{rows['fair'].sum()} of {len(rows)} sets ({WANTED} wanted); of the best published "
            f"figure on {rows['as_good'].sum()}."
        )
        exceptions = ", ".join(rows["data"][~rows["fair"]])
        sentences.append(f"{sentence} Not on {exceptions}." if exceptions else sentence)
    return sentences


def explain_exceptions(verdicts: pd.DataFrame, path: Path = EXPLANATIONS) -> list[str]:
    """For each set on which a baseline is worse than published, say by how much, and why."""
    text = path.read_text(encoding="utf-8")
    known = dict(re.findall(r"^(\w+ on \w+): (.+)$", text, re.MULTILINE))
    lines = []
    for method, data, shortfall in verdicts.loc[
        ~verdicts["fair"], ["method", "data", "shortfall"]
    ].to_numpy():
        where = f"{method} on {data}"
        reason = "" if shortfall == _NOT_RUN else f" {known.get(where, 'Not explained.')}"
        lines.append(f"{where}: {shortfall}{reason}")
    return lines


def _read_literature(protocol: str) -> pd.DataFrame:
    """Return the figures published for a protocol, by data and title."""
    columns = [column for column in read_published() if column.protocol == protocol]
    return pd.DataFrame({c.title.removesuffix(f", {protocol}"): c.values for c in columns})
