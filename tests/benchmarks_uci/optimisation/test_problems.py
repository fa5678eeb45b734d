"""The functions: values known from the literature, and starting points."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from benchmarks_uci.optimisation.problems import DEVELOPMENT, PAPER, PROBLEMS, SEEDS
from benchmarks_uci.optimisation.study import read_published

MINIMA = {
    "multi-optima": [1.85723],
    "ackley-2": [0, 0],
    "beale": [3, 0.5],
    "booth": [1, 3],
    "branin": [np.pi, 2.275],
    "bukin": [-10, 1],
    "camel": [0.0898, -0.7126],
    "dropwave": [0, 0],
    "griewank-4": [0] * 4,
    "holder": [8.05502, 9.66459],
    "levy-13": [1, 1],
    "levy-8": [1] * 8,
    "hartmann-3": [0.114614, 0.555649, 0.852547],
    "hartmann-6": [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
    "rosenbrock-10": [1] * 10,
    "ackley-20": [0] * 20,
}


@pytest.mark.parametrize("name", MINIMA)
def test_optimum(name):
    problem, x = PROBLEMS[name], np.array(MINIMA[name], dtype=float)
    assert problem.function(x) == pytest.approx(problem.optimum, abs=1e-4)
    low, high = np.array(problem.bounds).T
    assert ((low <= x) & (x <= high)).all()
    values = [problem.function(x) for x in problem.X]
    assert min(values) > problem.optimum - 1e-9


def test_the_rows_and_budgets_of_the_paper():
    assert len(PAPER) == 20
    for column in read_published():
        assert list(column.values) == list(PAPER)
    budgets = {len(p.bounds): (p.n_initial, p.n_steps) for p in PAPER.values()}
    assert budgets == {
        **dict.fromkeys((1, 2, 3), (5, 25)),
        **dict.fromkeys((4, 6), (10, 25)),
        8: (10, 50),
    }
    means = {c.method: np.mean([*c.values.values()]) for c in read_published()}
    assert means["gp"] == pytest.approx(0.369, abs=5e-4)
    assert means["deltauq"] == pytest.approx(0.672, abs=5e-4)


def test_starting_points_belong_to_their_seed():
    problem = PROBLEMS["branin"]
    low, high = np.array(problem.bounds).T
    assert len(problem.X) == 5 * (len(SEEDS) + len(DEVELOPMENT))
    expected = np.random.default_rng(3).uniform(low, high, (5, 2))
    np.testing.assert_array_equal(problem.X[15:20], expected)


def test_the_hash_depends_on_the_problem():
    assert len({problem.content_hash for problem in PROBLEMS.values()}) == len(PROBLEMS)


def test_equal_penalties_are_an_ordinary_lasso():
    problem = PROBLEMS["lasso-60"]
    rng = np.random.default_rng(0)
    X, true = rng.standard_normal((120, 60)), np.zeros(60)
    with_effect = rng.choice(60, 8, replace=False)
    true[with_effect] = rng.choice([-1.0, 1.0], 8)
    y = X @ true + rng.standard_normal(120)
    coef = Lasso(alpha=0.1, fit_intercept=False, tol=1e-8).fit(X, y).coef_
    expected = np.mean((rng.standard_normal((200_000, 60)) @ (coef - true)) ** 2)
    equal = problem.function(np.full(60, -1.0))
    assert equal == pytest.approx(expected, rel=0.02)
    # Small penalties for the features with an effect, and large ones for the others
    assert problem.function(np.where(true != 0, -2.5, 0.5)) < 0.2 * equal
