"""Published figures beside ours, from `benchmarks_uci/reference`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Published:
    """A column of NLLs from the literature.

    Attributes
    ----------
    title, method : str
        `method` is ours that it is beside.
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
    """The paper's columns, then the others that a method of ours is beside."""
    rows = _rows(PAPER)
    found = [
        Published(
            f"paper: {title}", method, "paper", {r["dataset"]: float(r[column]) for r in rows}
        )
        for column, (title, method) in PAPER_COLUMNS.items()
    ]
    for row in _rows(PUBLISHED):
        name, protocol, _ = (row.pop(key) for key in ("method", "protocol", "source"))
        if name in PUBLISHED_ROWS:
            nll = {data: float(value) for data, value in row.items() if value}
            found.append(Published(f"{name}, {protocol}", PUBLISHED_ROWS[name], protocol, nll))
    return found


def beside(protocol: str, metric: str) -> dict[str, Published]:
    """The column to show beside each method: the paper's, or the literature's for its splits."""
    if metric != "nll":
        return {}
    wanted = {"random80": "paper", "hl90": "hl90"}.get(protocol)
    return {column.method: column for column in published() if column.protocol == wanted}


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
