"""Published figures beside ours, from `benchmarks_uci/reference`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from benchmarks_uci.report.grouping import FIVE

FOLDER = Path(__file__).parents[1] / "reference"
PAPER = "paper_uci_nll.csv"
PUBLISHED = "published_nll_90_10.csv"

# Column of the paper's table, its title, and the method that it is beside
PAPER_COLUMNS = {
    "delta_uq": ("Delta-UQ", "deltauq"),
    "mc_dropout": ("MC dropout", "mcdropout"),
    "deep_ensemble": ("deep ensemble", "deepensemble"),
    "bnn": ("BNN", "bnn"),
    "pbp": ("PBP", "pbp"),
}
# Row of the other published figures, and the method that it is beside
PUBLISHED_ROWS = {
    "MC dropout (grid search)": "mcdropout",
    "Deep Ensembles": "deepensemble",
    "Ensemble(10)": "deepensemble",
    "Variational inference": "bnn",
    "PBP": "pbp",
    "NGBoost": "ngboost",
}
AVERAGE_RANK = "average_rank"
# The paper's lowest figure on each set: what our five members are to be better than
BEST_OF_PAPER = "paper: best of any method"


@dataclass(frozen=True)
class Published:
    """A column of NLLs from the literature.

    Attributes
    ----------
    title, method : str
        `method` is ours that it is beside; empty for none.
    protocol : str
        As in the literature's table; `"paper"` for the paper's own.
    nll : dict of str to float
        By set; the paper's also has `average_rank`.
    """

    title: str
    method: str
    protocol: str
    nll: dict[str, float]


def published() -> list[Published]:
    """The paper's columns and the best of them, then the rest of the literature."""
    rows = _rows(PAPER)
    found = [
        Published(
            f"paper: {title}", method, "paper", {r["dataset"]: float(r[column]) for r in rows}
        )
        for column, (title, method) in PAPER_COLUMNS.items()
    ]
    names = found[0].nll.keys() - {AVERAGE_RANK}
    best = {data: min(column.nll[data] for column in found) for data in names}
    found.append(Published(BEST_OF_PAPER, FIVE, "paper", best))
    for row in _rows(PUBLISHED):
        name, protocol, _ = (row.pop(key) for key in ("method", "protocol", "source"))
        nll = {data: float(value) for data, value in row.items() if value}
        method = PUBLISHED_ROWS.get(name, "")
        found.append(Published(f"{name}, {protocol}", method, protocol, nll))
    return found


def beside(protocol: str, metric: str) -> dict[str, Published]:
    """The column to show beside each method: the paper's, or the literature's for its splits."""
    if metric != "nll":
        return {}
    wanted = {"random80": "paper", "hl90": "hl90"}.get(protocol)
    columns = [column for column in published() if column.protocol == wanted]
    return {column.method: column for column in columns if column.method}


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
