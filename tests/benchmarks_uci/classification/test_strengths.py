import tomllib

import numpy as np
import pytest

from benchmarks_uci.classification import strengths
from benchmarks_uci.classification.shifts import Shifter, find_shift
from tests.benchmarks_uci.classification._helpers import toy_set


class Judge:
    """Right as long as the first feature has not moved by one unit."""

    def score(self, X, y):
        return float(np.mean(np.abs(X[:, 0] - 5.0 * y) < 1.0)) * 0.8 + 0.1


def test_the_smallest_amount_that_halves_the_skill(monkeypatch):
    dataset = toy_set()
    X = dataset.X.copy()
    X[:, 0] = 5.0 * dataset.y
    rows = dataset.__class__(**{**vars(dataset), "X": X})
    shifter = Shifter(rows, np.arange(90), 0)
    monkeypatch.setattr(strengths, "_fit_judge", lambda data, seed: (Judge(), shifter, X, rows.y))
    found = strengths.choose_strengths(rows)
    shift = find_shift("tables", "noise")
    amounts = shift.largest * np.linspace(0, 1, strengths.N_STEPS + 1)[1:] ** 2
    before = amounts[np.argmin(np.abs(amounts - found["noise"])) - 1]
    skill = [
        strengths.measure_skill(Judge(), shifter, X, rows.y, shift, amount)
        for amount in (before, found["noise"])
    ]
    assert skill[1] <= 0.5 < skill[0]


def test_skill_is_accuracy_above_the_most_frequent_class():
    dataset, shift = toy_set(), find_shift("tables", "noise")
    shifter = Shifter(dataset, np.arange(90), 0)

    class Fixed:
        def __init__(self):
            self.left = [0.9, 0.5]

        def score(self, X, y):
            return self.left.pop(0)

    skill = strengths.measure_skill(Fixed(), shifter, dataset.X, dataset.y, shift, 1.0)
    assert skill == pytest.approx((0.5 - 1 / 3) / (0.9 - 1 / 3))


def test_the_judge_learns_the_blobs():
    judge, *_, X, y = strengths._fit_judge(toy_set(n_rows=300), 100, preset="quick")
    assert judge.score(X, y) > 0.8


def test_the_file_can_be_read_again():
    text = strengths.write_strengths({"wine": {"noise": 1.5}})
    assert tomllib.loads(text) == {"wine": {"noise": 1.5}}
    assert "classification strengths" in text
