"""Whether the baselines are as good as others have published them: strong rivals, not weak."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from benchmarks_uci.report.cells import Cell, cells
from benchmarks_uci.report.grouping import the_run
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.reference import AVERAGE_RANK, Published, published
from benchmarks_uci.report.tables import Table

# Why a baseline is not within the margin on a set. It is printed where that is so, and only there.
EXPLANATIONS = {
    ("mcdropout", "boston"): (
        "The published figure is of 90/10 splits, with an eighth more rows to train on; "
        "the protocol hl90 has these."
    ),
    ("bnn", "energy"): (
        "With a noise level for each row the plain likelihood starves the mean (Seitzer et al., "
        "2022): see its RMSE. The other networks are trained with beta-NLL, which would not be a "
        "bound on the evidence."
    ),
}

BASELINES = ("mcdropout", "deepensemble", "bnn", "pbp", "ngboost")
MARGIN = 0.1  # nats
WANTED = 7  # of the nine sets


@dataclass(frozen=True)
class Verdict:
    """A baseline on a set beside its published figures.

    Attributes
    ----------
    method, data : str
    cell : Cell
        Ours.
    figures : dict of str to float
        Published NLLs by their title.
    """

    method: str
    data: str
    cell: Cell
    figures: dict[str, float]

    @property
    def fair(self) -> bool:
        """Complete, and within `MARGIN` of one of the published figures, or better."""
        return self._within(max(self.figures.values()))

    @property
    def as_good_as_any(self) -> bool:
        """Complete, and within `MARGIN` of the best published figure, or better."""
        return self._within(min(self.figures.values()))

    def shortfall(self) -> str:
        """A sentence: by how much it is worse than the easiest of the published figures."""
        if not self.cell.values:
            return "not run to its end."
        worse = self.cell.mean - max(self.figures.values())
        done = "" if self.cell.complete else f" ({len(self.cell.values)}/{self.cell.n_splits})"
        return f"{worse:.2f} worse than published{done}."

    def _within(self, figure: float) -> bool:
        if not self.cell.complete or not isfinite(self.cell.mean):
            return False
        return self.cell.mean <= figure + MARGIN + 1e-9  # 0.61 + 0.1 is not 0.71 in binary


def check(records: list[dict]) -> list[Verdict]:
    """A verdict for each baseline that was run, on each set that it has a published figure for.

    A set that was not run counts as not fair.
    """
    the_run(records)
    found = cells(records, METRICS["nll"])
    verdicts = []
    for method in BASELINES:
        if not any(m == method for _, m in found):
            continue
        columns = [column for column in published() if column.method == method]
        for data in _sets(columns):
            figures = {c.title: c.nll[data] for c in columns if data in c.nll}
            verdicts.append(Verdict(method, data, found.get((data, method), Cell()), figures))
    return verdicts


def fairness_table(records: list[dict]) -> Table:
    """One row a baseline and set, ours beside each published figure; the counts by `counts`."""
    protocol, preset = the_run(records)
    rows = []
    for verdict in check(records):
        figures = "; ".join(f"{value:.2f} ({title})" for title, value in verdict.figures.items())
        answer = "yes" if verdict.fair else "no"
        ours = verdict.cell.text(METRICS["nll"])
        rows.append([verdict.method, verdict.data, figures, ours, answer])
    headers = ["baseline", "data", "published NLL", "ours", f"within {MARGIN} of one, or better"]
    title = f"Baselines and published figures, {protocol}, preset {preset}"
    return Table(title, headers, rows, n_left=3)


def counts(records: list[dict]) -> list[str]:
    """A sentence a baseline: on how many sets it is a fair one, and where it is not."""
    verdicts = check(records)
    sentences = []
    for method in dict.fromkeys(verdict.method for verdict in verdicts):
        of_method = [verdict for verdict in verdicts if verdict.method == method]
        fair = sum(verdict.fair for verdict in of_method)
        best = sum(verdict.as_good_as_any for verdict in of_method)
        sentence = (
            f"{method}: within {MARGIN} nats of a published figure, or better, on {fair} of "
            f"{len(of_method)} sets ({WANTED} wanted); of the best published figure on {best}."
        )
        exceptions = [verdict.data for verdict in of_method if not verdict.fair]
        if exceptions:
            sentence += f" Not on {', '.join(exceptions)}."
        sentences.append(sentence)
    return sentences


def exceptions(records: list[dict]) -> list[str]:
    """A sentence for each set on which a baseline is not a fair one: by how much, and why."""
    lines = []
    for verdict in check(records):
        if not verdict.fair:
            why = EXPLANATIONS.get((verdict.method, verdict.data), "Not explained.")
            lines.append(f"{verdict.method} on {verdict.data}: {verdict.shortfall()} {why}")
    return lines


def _sets(columns: list[Published]) -> list[str]:
    return sorted({data for column in columns for data in column.nll} - {AVERAGE_RANK})
