import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from benchmarks_uci.trust import draws, runner
from benchmarks_uci.trust.cases import CASES, Case
from benchmarks_uci.trust.names import CLASSIFIER, COMPARISON
from benchmarks_uci.trust.problem import Problem
from benchmarks_uci.trust.results import COLUMNS
from benchmarks_uci.trust.scores import score_classes, score_distribution
from sk_deltauq.distributions import NormalMixture


def find(situation):
    return next(case for case in CASES if case.situation == situation)


@pytest.mark.parametrize("situation", ["weighted", "coin-flips", "unseen-levels", "autocast"])
def test_a_case_is_scored(situation):
    row = runner.run(find(situation), 1, quick=True)
    assert set(row) <= {*COLUMNS}
    assert row["available"] == 1
    scores = "log_loss" if situation == "coin-flips" else "coverage"
    assert math.isfinite(row[scores])
    assert ("epistemic_ratio" in row) == (situation == "unseen-levels")


def test_the_comparison_is_scored_in_the_same_way():
    case = find("18-rows")
    row = runner.run(replace(case, method=COMPARISON), 1)
    assert 0.3 < row["coverage"] <= 1
    assert "epistemic_ratio" not in row


def test_missing_parameters_are_not_available():
    def draw(seed):
        return replace(draws.draw_line(seed, n=8, d=1), fit={"flavours": 1})

    case = Case("line", draws.draw_grouped, params={"taste": 2})
    assert "taste" in runner.find_missing(case, draws.draw_line(0, n=8, d=1))
    assert runner.find_missing(Case("line", draw), draw(0)) == ["flavours"]
    row = runner.run(Case("line", draw), 0)
    assert row["available"] == 0
    assert "coverage" not in row


def test_the_context_is_around_the_fit_only():
    log = []

    @contextmanager
    def watch():
        log.append("in")
        yield
        log.append("out")

    case = replace(find("18-rows"), method=COMPARISON, around_fit=watch)
    runner.run(case, 0)
    assert log == ["in", "out"]


def test_warnings_are_recorded_by_name(monkeypatch):
    class UncertaintyWarning(UserWarning):
        pass

    @contextmanager
    def warn():
        import warnings

        warnings.warn("no", UncertaintyWarning, stacklevel=1)
        yield

    case = replace(find("18-rows"), method=COMPARISON)
    assert runner.run(case, 0)["warned"] == 0
    assert runner.run(replace(case, around_fit=warn), 0)["warned"] == 1


def test_quick_runs_one_seed_per_situation_and_method():
    quick = runner.select_quick(CASES)
    keys = [(case.situation, case.method) for case in quick]
    assert len(keys) == len(set(keys))
    assert {*keys} == {(case.situation, case.method) for case in CASES}
    case = replace(find("18-rows"), method=COMPARISON)
    assert len(runner.run_case(case, quick=True)) == 1
    assert len(runner.run_case(case)) == len(case.seeds)


def test_scores_of_a_perfect_normal_prediction():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20_000)
    focus = y > 1
    dist = NormalMixture(np.zeros((1, len(y))), np.ones((1, len(y))))
    rows = np.zeros((1, 1))
    plain = Problem(rows, y[:1], rows, y, ideal_width=np.full(len(y), 3.29))
    scores = score_distribution(dist, plain)
    assert scores["coverage"] == pytest.approx(0.9, abs=0.01)
    assert scores["crps"] == pytest.approx(1 / math.sqrt(math.pi), abs=0.01)
    assert scores["nll"] == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=0.02)
    assert scores["width_ratio"] == pytest.approx(1, abs=0.01)
    assert scores["negative"] == 1
    assert scores["within_2_std"] == pytest.approx(0.954, abs=0.01)
    focused = score_distribution(dist, replace(plain, focus=focus))
    inside = (y[focus] < 1.645).mean()
    assert focused["focus_coverage"] == pytest.approx(inside, abs=0.01)


def test_log_loss_is_compared_with_the_class_frequencies():
    class Frequencies:
        def predict_proba(self, X):
            return np.tile([0.75, 0.25], (len(X), 1))

    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    scores = score_classes(Frequencies(), Problem(X, y, X, y))
    assert scores["log_loss"] == pytest.approx(0.5623, abs=1e-4)
    assert scores["excess_log_loss"] == pytest.approx(0)


def test_classifiers_are_only_scored_by_log_loss():
    assert {case.situation for case in CASES if case.method == CLASSIFIER} == {
        "coin-flips",
        "classes",
        "small-classes",
        "repeated-classes",
    }
