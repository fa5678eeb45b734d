"""Choose the amount of each shift at severity 5, on development splits.

python -m benchmarks_uci classification strengths --data-dir FOLDER

The plain network of the study (`mlp`) is the judge: it keeps half of its skill, which is its
accuracy above the most frequent class. So all shifts are about equally hard on all sets, and the
accuracy is about halfway between clean rows and guessing. Calibration changes no amount, because
only the accuracy counts.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks_uci.classification.methods import METHODS
from benchmarks_uci.classification.protocols import DEVELOPMENT, split_rows
from benchmarks_uci.classification.sets import LabelledSet
from benchmarks_uci.classification.shifts import Shifter, list_shifts

N_STEPS = 64  # amounts to try, from 0 to the largest, denser near 0
N_SPLITS = 2
SKILL = 0.5


def choose_strengths(dataset: LabelledSet) -> dict[str, float]:
    """Return for each shift an amount at which half of the skill is lost.

    The largest amount if the judge keeps more there. The search halves the range of amounts,
    because skill falls with the amount.
    """
    judges = [_fit_judge(dataset, seed) for seed in DEVELOPMENT[:N_SPLITS]]
    strengths = {}
    for shift in list_shifts(dataset.kind):
        amounts = shift.largest * np.linspace(0, 1, N_STEPS + 1)[1:] ** 2
        low, high = 0, N_STEPS - 1  # the answer is between, both included
        while low < high:
            middle = (low + high) // 2
            skills = [measure_skill(*judge, shift, amounts[middle]) for judge in judges]
            low, high = (low, middle) if np.mean(skills) <= SKILL else (middle + 1, high)
        strengths[shift.name] = float(f"{amounts[low]:.3g}")
    return strengths


def _fit_judge(dataset, seed, preset="default"):
    split = split_rows(dataset, seed)
    judge = METHODS["mlp"].make(preset, len(split.train), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows, and the limit of epochs
        judge.fit(dataset.X[split.train], dataset.y[split.train])
    X, y = dataset.X[split.test], dataset.y[split.test]
    return judge, Shifter(dataset, split.train, seed), X, y


def measure_skill(judge, shifter, X, y, shift, amount) -> float:
    """Return the accuracy above the most frequent class, relative to clean rows."""
    base = np.bincount(y).max() / len(y)
    clean, shifted = (judge.score(rows, y) for rows in (X, shifter.apply(X, shift, amount)))
    return float((shifted - base) / (clean - base))


def write_strengths(found: dict[str, dict[str, float]]) -> str:
    """Return the text of `strengths.toml`."""
    lines = [
        "# The amount of each shift at severity 5, by set.",
        "# Written by: python -m benchmarks_uci classification strengths --data-dir FOLDER",
    ]
    for data, strengths in found.items():
        lines += ["", f"[{data}]", *(f"{name} = {value}" for name, value in strengths.items())]
    return "\n".join(lines) + "\n"
