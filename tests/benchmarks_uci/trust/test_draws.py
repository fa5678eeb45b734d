"""The situations are what their names say."""

import numpy as np
import pytest

from benchmarks_uci.trust import draws
from benchmarks_uci.trust.cases import CASES, SEEDS, SITUATIONS
from benchmarks_uci.trust.goals import ROWS

SEED = 3


def count_distinct(problem):
    return len(np.unique(np.column_stack([problem.X, problem.y]), axis=0))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_seed_determines_the_rows(situation):
    case = next(case for case in CASES if case.situation == situation)
    first, again, other = (case.draw(seed) for seed in (SEED, SEED, SEED + 1))
    for name in ("X", "y", "X_test", "y_test"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert len(first.X) == len(first.y)
    assert len(first.X_test) == len(first.y_test)
    if situation != "six-points":  # which only the estimator's seed varies
        assert not np.array_equal(first.X, other.X)


def test_seeds_are_fresh_and_at_least_five():
    assert min(SEEDS) >= 1000
    assert all(len(set(case.seeds)) >= 5 for case in CASES)


def test_every_situation_except_the_small_ones_has_a_row():
    assert {row.situation for row in ROWS} == {*SITUATIONS} - {"small"}
    keys = {(case.situation, case.method) for case in CASES}
    assert {(row.situation, row.method) for row in ROWS} <= keys


def test_copies_hold_the_rows_of_the_weights():
    weighted, repeated = draws.draw_weighted(SEED), draws.draw_repeated(SEED)
    assert len(repeated.X) == 240
    assert count_distinct(repeated) == count_distinct(weighted) == 60
    assert repeated.y.sum() == pytest.approx(weighted.y @ weighted.fit["sample_weight"])
    near = draws.draw_nearly_repeated(SEED)
    assert count_distinct(near) == 240
    assert np.allclose(near.X, repeated.X, atol=1e-6)
    classes = draws.draw_repeated_classes(SEED)
    assert (len(classes.X), count_distinct(classes)) == (400, 100)


def test_doubled_and_bootstrapped_rows():
    doubled, bootstrap = draws.draw_doubled(SEED), draws.draw_bootstrap(SEED)
    assert (len(doubled.X), count_distinct(doubled)) == (260, 200)
    assert len(bootstrap.X) == 200
    assert 110 < count_distinct(bootstrap) < 145  # 63 % in expectation


def test_groups_have_similar_rows_and_the_validation_rows_are_other_groups():
    grouped, own = draws.draw_grouped(SEED), draws.draw_own_validation_rows(SEED)
    ids = grouped.fit["groups"]
    assert np.bincount(ids).tolist() == [10] * 40
    within = np.mean([grouped.y[ids == i].std() for i in range(40)])
    assert within < 0.1 * grouped.y.std()
    assert draws.draw_ungrouped(SEED).fit == {}
    parts = own.X, own.fit["X_val"]
    assert [len(part) for part in parts] == [300, 100]
    assert np.array_equal(np.concatenate(parts), grouped.X)


@pytest.mark.parametrize("name", draws.GENERATORS)
def test_the_ideal_width_is_right(name):
    """Rows with the same features show the noise: 90 % are within half the ideal width."""
    problem = draws.GENERATORS[name](SEED, n=5, d=10)
    assert problem.X.shape == (5, 10)
    X = problem.X_test
    center = {
        "line": X[:, :3].sum(axis=1),
        "hetero": 2 * X[:, 0],
        "noise": 0.0,
        "sine": np.sin(4 * X[:, 0]),
    }[name]
    inside = np.abs(problem.y_test - center) < problem.ideal_width / 2
    assert inside.mean() == pytest.approx(0.9, abs=0.05)


def test_log_normal_widths_and_focus():
    problem = draws.draw_log_normal(SEED)
    assert problem.y.min() > 0
    assert problem.focus.mean() == pytest.approx(1 / 3, abs=0.01)
    assert problem.y_test[problem.focus].max() < np.median(problem.y_test) * 1.5
    center = 1.5 * problem.X_test[:, 0]
    lower, upper = (np.exp(center + side * 0.3 * 1.645) for side in (-1, 1))
    assert np.allclose(upper - lower, problem.ideal_width, rtol=1e-3)


def test_rare_categories_have_at_most_three_rows():
    problem = draws.draw_rare_categories(SEED)
    counts, kinds = problem.X[:, :60].sum(axis=0), problem.X_test[:, :60].argmax(axis=1)
    assert np.array_equal(problem.focus, counts[kinds] <= 3)
    assert 0.1 < problem.focus.mean() < 0.6


def test_levels_of_a_data_frame_are_the_one_hot_rows():
    encoded, named = draws.draw_rare_categories(SEED), draws.draw_rare_levels(SEED)
    kinds = encoded.X_test[:, :60].argmax(axis=1)
    assert named.X_test["kind"].tolist() == [f"kind {kind}" for kind in kinds]
    assert np.array_equal(named.X["number"], encoded.X[:, 60])
    assert np.array_equal(named.focus, encoded.focus)
    assert np.array_equal(named.y_test, encoded.y_test)


def test_unseen_levels_have_no_training_row():
    problem = draws.draw_unseen_levels(SEED)
    counts = problem.X_test["kind"].map(problem.X["kind"].value_counts()).fillna(0)
    assert np.array_equal(problem.focus, counts == 0)
    assert counts[counts > 0].min() > 10
    assert 0.1 < problem.focus.mean() < 0.6


def test_odd_targets():
    outlier, counts = draws.draw_outlier(SEED), draws.draw_counts(SEED)
    assert (outlier.y > 1e4).sum() == 1
    assert outlier.y_test.max() < 20
    assert 0.8 < (counts.y == 0).mean() < 0.95
    flips = draws.draw_coin_flips(SEED, n=18, d=10)
    assert np.bincount(flips.y).tolist() == [9, 9]
    assert all(set(draws.draw_classes(seed, n=4, d=1).y) == {0, 1} for seed in range(20))
    curve = draws.draw_six_points(SEED)
    assert (len(curve.X), len(curve.X_test)) == (6, 200)
