"""The situations: each function draws the training and test rows of one seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks_uci.trust.problem import N_TEST, Z90, Problem

Draw = Callable[[int], Problem]

_N_CATEGORIES = 60  # of the situations with a long-tailed category


def draw_line(seed: int, n: int, d: int) -> Problem:
    """A sum of three features (fewer if `d` is smaller) plus N(0, 1)."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, d))
        return X, X[:, :3].sum(axis=1) + rng.normal(size=size)

    return Problem(*draw(n), *draw(N_TEST), ideal_width=np.full(N_TEST, 2 * Z90))


def draw_hetero(seed: int, n: int, d: int) -> Problem:
    """A line in the first feature, with noise that grows with the distance from 0."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, d))
        std = 0.2 + 0.8 * np.abs(X[:, 0])
        return X, 2 * X[:, 0] + std * rng.normal(size=size), std

    X, y, _ = draw(n)
    X_test, y_test, std = draw(N_TEST)
    return Problem(X, y, X_test, y_test, ideal_width=2 * Z90 * std)


def draw_noise(seed: int, n: int, d: int) -> Problem:
    """N(0, 1), regardless of the features."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    X_test, y_test = rng.normal(size=(N_TEST, d)), rng.normal(size=N_TEST)
    return Problem(X, y, X_test, y_test, ideal_width=np.full(N_TEST, 2 * Z90))


def draw_sine(seed: int, n: int, d: int) -> Problem:
    """A sine of the first feature with little noise."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.uniform(-1, 1, size=(size, d))
        return X, np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=size)

    return Problem(*draw(n), *draw(N_TEST), ideal_width=np.full(N_TEST, 0.2 * Z90))


GENERATORS = {"line": draw_line, "hetero": draw_hetero, "noise": draw_noise, "sine": draw_sine}


def draw_repeated(seed: int) -> Problem:
    """Every row of 60 rows four times."""
    once = draw_line(seed, n=60, d=3)
    return replace(once, X=np.repeat(once.X, 4, axis=0), y=np.repeat(once.y, 4))


def draw_weighted(seed: int) -> Problem:
    """The 60 rows of `draw_repeated`, once each, with `sample_weight=4`."""
    return replace(draw_line(seed, n=60, d=3), fit={"sample_weight": np.full(60, 4.0)})


def draw_nearly_repeated(seed: int) -> Problem:
    """The rows of `draw_repeated` with differences in the seventh digit."""
    repeated = draw_repeated(seed)
    rng = np.random.default_rng((seed, 1))
    X = repeated.X + 1e-7 * rng.normal(size=repeated.X.shape)
    return replace(repeated, X=X, y=repeated.y + 1e-7 * rng.normal(size=repeated.y.shape))


def draw_doubled(seed: int) -> Problem:
    """60 of 200 rows appear twice."""
    once = draw_line(seed, n=200, d=3)
    twice = np.random.default_rng((seed, 1)).choice(200, size=60, replace=False)
    return replace(once, X=np.r_[once.X, once.X[twice]], y=np.r_[once.y, once.y[twice]])


def draw_bootstrap(seed: int) -> Problem:
    """200 rows drawn with replacement from 200 rows."""
    once = draw_line(seed, n=200, d=3)
    rows = np.random.default_rng((seed, 1)).integers(200, size=200)
    return replace(once, X=once.X[rows], y=once.y[rows])


def draw_ungrouped(seed: int) -> Problem:
    """40 groups of 10 similar rows; the test rows come from 60 new groups.

    Each group has four features and a level, N(first feature, 1). Its rows vary little.
    """
    return replace(draw_grouped(seed), fit={})


def draw_grouped(seed: int) -> Problem:
    """The rows of `draw_ungrouped`, with `groups`."""
    rng = np.random.default_rng(seed)

    def draw(n_groups):
        Z = rng.normal(size=(n_groups, 4))
        level = Z[:, 0] + rng.normal(size=n_groups)
        ids = np.repeat(np.arange(n_groups), 10)
        X = Z[ids] + 0.02 * rng.normal(size=(len(ids), 4))
        return X, level[ids] + 0.1 * rng.normal(size=len(ids)), ids

    X, y, ids = draw(40)
    X_test, y_test, _ = draw(60)
    width = np.full(len(y_test), 2 * Z90 * np.hypot(1, 0.1))
    return Problem(X, y, X_test, y_test, fit={"groups": ids}, ideal_width=width)


def draw_own_validation_rows(seed: int) -> Problem:
    """The rows of `draw_ungrouped`: the last 10 groups are passed as `X_val` and `y_val`."""
    grouped = draw_grouped(seed)
    training = grouped.fit["groups"] < 30
    validation = {"X_val": grouped.X[~training], "y_val": grouped.y[~training]}
    return replace(grouped, X=grouped.X[training], y=grouped.y[training], fit=validation)


def draw_coin_flips(seed: int, n: int, d: int) -> Problem:
    """Coin flips, as many of each side, and features that say nothing about them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.permutation(np.arange(n) % 2)
    return Problem(X, y, rng.normal(size=(N_TEST, d)), rng.integers(2, size=N_TEST))


def draw_classes(seed: int, n: int, d: int) -> Problem:
    """Two classes whose log odds are the first feature; both appear at least once."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, d))
        return X, (rng.random(size) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)

    X, y = draw(n)
    y[X[:, 0].argmin()], y[X[:, 0].argmax()] = 0, 1
    return Problem(X, y, *draw(2000))


def draw_repeated_classes(seed: int) -> Problem:
    """Every row of 100 rows of two classes four times."""
    once = draw_classes(seed, n=100, d=5)
    return replace(once, X=np.repeat(once.X, 4, axis=0), y=np.repeat(once.y, 4))


def draw_curve(seed: int) -> Problem:
    """A curve in three features without noise, 120 rows."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, 3))
        return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]

    X, y = draw(120)
    return Problem(X, y, X, y)


def draw_log_normal(seed: int) -> Problem:
    """exp(1.5 times a feature + N(0, 0.3²)); the focus is the third with the smallest center."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, 3))
        center = 1.5 * X[:, 0]
        return X, np.exp(center + 0.3 * rng.normal(size=size)), center

    X, y, _ = draw(400)
    X_test, y_test, center = draw(1000)
    width = np.exp(center + 0.3 * Z90) - np.exp(center - 0.3 * Z90)
    focus = center <= np.quantile(center, 1 / 3)
    return Problem(X, y, X_test, y_test, ideal_width=width, focus=focus)


def draw_rare_categories(seed: int) -> Problem:
    """A long-tailed category, one-hot, and one number; the focus is rare categories.

    The k-th of 60 categories has probability proportional to 1/k and its own N(0, 1) effect. The
    test rows have all categories equally often. Rare: at most three of the 400 training rows.
    """
    X, y, X_test, y_test, counts = _draw_categories(seed)
    return Problem(_encode(X), y, _encode(X_test), y_test, focus=counts <= 3)


def draw_rare_levels(seed: int) -> Problem:
    """The rows of `draw_rare_categories` as a data frame."""
    X, y, X_test, y_test, counts = _draw_categories(seed)
    return Problem(_name_levels(X), y, _name_levels(X_test), y_test, focus=counts <= 3)


def draw_unseen_levels(seed: int) -> Problem:
    """The rows of `draw_rare_levels`; the focus is levels without training rows.

    All other test rows have common levels, with more than ten training rows.
    """
    X, y, X_test, y_test, counts = _draw_categories(seed)
    kept = (counts == 0) | (counts > 10)
    frames = [_name_levels(rows) for rows in (X, X_test[kept])]
    return Problem(frames[0], y, frames[1], y_test[kept], focus=counts[kept] == 0)


def _draw_categories(seed: int) -> tuple[np.ndarray, ...]:
    """Return rows `(category, number)`, targets, and how many training rows test rows share."""
    rng = np.random.default_rng(seed)
    n = 400
    effects = rng.normal(size=_N_CATEGORIES)
    frequencies = 1 / np.arange(1, _N_CATEGORIES + 1)

    def draw(kinds):
        number = rng.normal(size=len(kinds))
        y = effects[kinds] + number + 0.5 * rng.normal(size=len(kinds))
        return np.column_stack([kinds, number]), y

    kinds = rng.choice(_N_CATEGORIES, size=n, p=frequencies / frequencies.sum())
    test_kinds = np.tile(np.arange(_N_CATEGORIES), 20)
    counts = np.bincount(kinds, minlength=_N_CATEGORIES)
    return *draw(kinds), *draw(test_kinds), counts[test_kinds]


def _encode(rows: np.ndarray) -> np.ndarray:
    """One-hot columns of the category, and the number."""
    return np.column_stack([np.eye(_N_CATEGORIES)[rows[:, 0].astype(int)], rows[:, 1]])


def _name_levels(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"kind": [f"kind {k:.0f}" for k in rows[:, 0]], "number": rows[:, 1]})


def draw_outlier(seed: int) -> Problem:
    """A typing error, 1e5, among 400 targets near 2."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, 3))
        return X, 2 * X[:, 0] + 0.3 * rng.normal(size=size)

    X, y = draw(400)
    y[0] = 1e5
    return Problem(X, y, *draw(N_TEST), ideal_width=np.full(N_TEST, 0.6 * Z90))


def draw_six_points(seed: int) -> Problem:
    """Six points of a sine without noise; the test rows are the whole curve."""
    x, grid = np.linspace(0, 1, 6)[:, None], np.linspace(0, 1, 200)[:, None]
    return Problem(x, np.sin(6 * x[:, 0]), grid, np.sin(6 * grid[:, 0]))


def draw_counts(seed: int) -> Problem:
    """Counts with 85 % additional zeros, 800 rows."""
    rng = np.random.default_rng(seed)

    def draw(size):
        X = rng.normal(size=(size, 3))
        return X, (rng.random(size) < 0.15) * rng.poisson(np.exp(1 + X[:, 0])).astype(float)

    return Problem(*draw(800), *draw(2000))
