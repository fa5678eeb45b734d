"""The rows of the table: a situation, its figure, and the wanted range."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks_uci.trust.names import CLASSIFIER, COMPARISON, OURS


@dataclass(frozen=True)
class Goal:
    """A range of a figure, or of its difference from the same figure of another situation."""

    low: float = -float("inf")
    high: float = float("inf")
    relative_to: str = ""  # a situation
    label: str = ""  # this situation in words
    or_warning: bool = False  # whether a warning in every fit is enough
    of_worst: bool = False  # whether every single fit must meet it, not the mean

    def is_met(self, value: float, reference: float = 0.0, share_warned: float = 0.0) -> bool:
        """Whether a mean over the seeds is as wanted; `reference` is 0 if it is not relative."""
        inside = self.low <= round(value - reference, 9) <= self.high
        return inside or (self.or_warning and share_warned == 1)

    def explain(self) -> str:
        """Write the range in words."""
        if self.low == -self.high:
            text = f"{self.label} ± {self.high:g}"
        elif self.low == -float("inf"):
            text = f"at most {self.label} {self.high:{'+' if self.label else ''}.2g}"
        elif self.high == float("inf"):
            text = f"at least {self.label} {self.low:{'+' if self.label else ''}.2g}"
        else:
            text = f"{self.low:.2g} to {self.high:.2g}"
        text = " ".join(text.split())
        text += ", or a warning" if self.or_warning else ""
        return f"{text}, each" if self.of_worst else text


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    title: str
    situation: str
    figure: str  # a column of the results
    goal: Goal | None
    method: str = OURS


FIGURES = {
    "coverage": "coverage",
    "focus_coverage": "coverage of these rows",
    "width_ratio": "width / ideal",
    "epistemic_ratio": "epistemic std / other rows",
    "negative": "share of negative lower ends",
    "r2": "R²",
    "within_2_std": "share within 2 std",
    "log_loss": "log loss",
    "excess_log_loss": "log loss - class frequencies",
}

NEAR_90, FEW_ROWS = Goal(0.85, 0.95), Goal(0.80, 0.97)
ROWS = (
    Row("60 rows, 3 features, weight 4", "weighted", "coverage", FEW_ROWS),
    Row(
        "each of these rows four times",
        "repeated",
        "coverage",
        Goal(-0.05, 0.05, "weighted", "as with weights"),
    ),
    Row(
        "four times, different in the seventh digit",
        "nearly-repeated",
        "coverage",
        Goal(-0.05, 0.05, "weighted", "as with weights", or_warning=True),
    ),
    Row("30 % of 200 rows doubled", "doubled", "coverage", NEAR_90),
    Row("bootstrap sample of 200 rows", "bootstrap", "coverage", NEAR_90),
    Row("40 groups of 10 rows, new groups, without groups", "ungrouped", "coverage", None),
    Row("the same with groups", "grouped", "coverage", Goal(0.85, 0.97)),
    Row("the same with groups", "grouped", "width_ratio", Goal(high=1.5)),
    Row("30 groups, and 10 as X_val", "own-validation-rows", "coverage", Goal(0.85, 0.97)),
    Row("30 groups, and 10 as X_val", "own-validation-rows", "width_ratio", Goal(high=1.5)),
    Row("2 rows, 5 features", "2-rows", "coverage", FEW_ROWS),
    Row("3 rows, 5 features", "3-rows", "coverage", FEW_ROWS),
    Row("18 rows, 5 features", "18-rows", "coverage", FEW_ROWS),
    Row("the same, BayesianRidge", "18-rows", "coverage", None, COMPARISON),
    Row("24 rows, 5 features, 5 members", "24-rows-5-members", "coverage", FEW_ROWS),
    Row("25 rows, 5 features, 5 members", "25-rows-5-members", "coverage", FEW_ROWS),
    *(
        Row(f"90 rows, 5 features, n_members={m}", f"90-rows-{m}-members", "coverage", NEAR_90)
        for m in (1, 5, 18, 20)
    ),
    Row("6 points of a curve, noise=None", "six-points", "within_2_std", Goal(low=0.8)),
    Row("18 coin flips, 10 features", "coin-flips", "log_loss", Goal(high=1), CLASSIFIER),
    Row("18 coin flips, 10 features", "coin-flips", "excess_log_loss", Goal(high=0.3), CLASSIFIER),
    Row(
        "4 to 40 rows of two classes",
        "small-classes",
        "excess_log_loss",
        Goal(high=0.3, of_worst=True),
        CLASSIFIER,
    ),
    Row("100 rows of two classes", "classes", "log_loss", None, CLASSIFIER),
    Row(
        "each of these rows four times",
        "repeated-classes",
        "log_loss",
        Goal(high=0.1, relative_to="classes", label="the value without copies"),
        CLASSIFIER,
    ),
    Row("120 rows of a curve", "plain", "r2", None),
    Row(
        "the same, fit inside autocast",
        "autocast",
        "r2",
        Goal(-0.02, relative_to="plain", label="the value outside autocast"),
    ),
    Row("log-normal target, small y", "log-normal", "width_ratio", None),
    Row("log-normal target, small y", "log-normal", "negative", None),
    *(
        row
        for transform in ("log", "auto")
        for row in (
            Row(
                f'the same, target_transform="{transform}"',
                f"log-normal-{transform}",
                figure,
                goal,
            )
            for figure, goal in (
                ("width_ratio", Goal(1 / 1.5, 1.5)),
                ("negative", Goal(high=0)),
                ("coverage", NEAR_90),
            )
        )
    ),
    Row("category with at most 3 rows", "rare-categories", "focus_coverage", Goal(0.85, 0.97)),
    Row("category with at most 3 rows", "rare-categories", "epistemic_ratio", Goal(low=1.5)),
    *(
        Row(title, situation, figure, goal)
        for title, situation in (
            ("the same as a data frame, 5 members", "rare-levels"),
            ("category without training rows, data frame", "unseen-levels"),
        )
        for figure, goal in (
            ("focus_coverage", Goal(0.85, 0.97)),
            ("epistemic_ratio", Goal(low=1.5)),
        )
    ),
    Row("one target of 1e5 among 400", "outlier", "width_ratio", Goal(high=3, or_warning=True)),
    Row("zero-inflated counts", "counts", "coverage", Goal(0.82, 0.99)),
)

# Of all small data sets; a cell is a generator, a number of features and a number of rows.
SMALL_GOALS = {
    "coverage, mean over all cells": NEAR_90,
    "share of cells with coverage below 0.80": Goal(high=0),
    "share of cells with coverage above 0.97": Goal(high=0),
    "lowest coverage of a cell": Goal(low=0.80),
    "CRPS / CRPS of BayesianRidge": Goal(high=1),
}
