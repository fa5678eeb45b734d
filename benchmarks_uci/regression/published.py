"""Published figures, from `benchmarks_uci/reference`."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from benchmarks_uci.engine.study import Published

FOLDER = Path(__file__).parents[1] / "reference"

# Column of the paper's table, its title, and the method that it stands beside
PAPER_COLUMNS = {
    "delta_uq": ("Delta-UQ", "deltauq"),
    "mc_dropout": ("MC dropout", "mcdropout"),
    "deep_ensemble": ("deep ensemble", "deepensemble"),
    "bnn": ("BNN", "bnn"),
    "pbp": ("PBP", "pbp"),
}
# Row of the other published figures, and the method that it stands beside
PUBLISHED_ROWS = {
    "MC dropout (grid search)": "mcdropout",
    "Deep Ensembles": "deepensemble",
    "Ensemble(10)": "deepensemble",
    "Variational inference": "bnn",
    "PBP": "pbp",
    "NGBoost": "ngboost",
}
AVERAGE_RANK = "average rank"
# The lowest figure of the paper on each set: the goal of our five members
BEST_OF_PAPER = "paper: best of any method"


@cache
def read_published() -> tuple[Published, ...]:
    """Read the NLLs of the paper, the lowest of them, and the other published NLLs."""
    rows = _read_rows("paper_uci_nll.csv")
    found = []
    for column, (title, method) in PAPER_COLUMNS.items():
        values = {row["dataset"].replace("_", " "): float(row[column]) for row in rows}
        found.append(Published(f"paper: {title}", method, "paper", values))
    names = found[0].values.keys() - {AVERAGE_RANK}
    best = {data: min(column.values[data] for column in found) for data in names}
    found.append(Published(BEST_OF_PAPER, "deltauq-5", "paper", best))
    for row in _read_rows("published_nll_90_10.csv"):
        name, protocol, _ = (row.pop(key) for key in ("method", "protocol", "source"))
        values = {data: float(value) for data, value in row.items() if value}
        method = PUBLISHED_ROWS.get(name, "")
        found.append(Published(f"{name}, {protocol}", method, protocol, values))
    return tuple(found)


def find_beside(protocol: str) -> list[Published]:
    """Return the columns for a protocol: the paper's, or the literature's for the same splits."""
    wanted = {"random80": "paper", "hl90": "hl90"}.get(protocol)
    return [column for column in read_published() if column.protocol == wanted]


def _read_rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
