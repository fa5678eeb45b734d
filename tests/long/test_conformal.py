"""Coverage of conformal intervals over many simulated training sets."""

import numpy as np
import pytest

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import PBPRegressor

COVERAGE, N_NEW = 0.9, 2000


def draw(rng, n):
    X = rng.uniform(-2, 2, size=(n, 3))
    std = 0.3 + 0.3 * np.abs(X[:, 1])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + std * rng.standard_normal(n)


def draw_weighted(rng, n):
    """Draw rows with a probability that grows like `0.2 + |x|` of the second feature."""
    X, y = draw(rng, 4 * n)
    kept = rng.uniform(0, 2.2, size=len(X)) < 0.2 + np.abs(X[:, 1])
    return X[kept], y[kept]


def cover(model, X, y):
    lower, upper = model.predict_interval(X, COVERAGE, method="conformal").T
    return np.mean((lower <= y) & (y <= upper))


def expect(n_held_out, n_repetitions):
    """Expected coverage of split conformal, and its standard error over the repetitions.

    The coverage of one set of held-out rows has a beta distribution.
    """
    mean = np.ceil(COVERAGE * (n_held_out + 1) - 1e-9) / (n_held_out + 1)
    variance = mean * (1 - mean) * (1 / (n_held_out + 2) + 1 / N_NEW)
    return mean, np.sqrt(variance / n_repetitions)


@pytest.mark.parametrize(
    ("make", "n", "n_folds", "n_repetitions"),
    [
        (lambda seed: PBPRegressor(max_iter=20, random_state=seed), 200, 1, 25),
        (lambda seed: DeltaUQRegressor(max_iter=50, random_state=seed), 60, 5, 15),
        (lambda seed: DeltaUQRegressor(n_members=20, max_iter=20, random_state=seed), 60, 5, 10),
    ],
    ids=["one fold", "five folds", "shared folds"],
)
def test_rows_held_out_by_fit_give_the_nominal_coverage(make, n, n_folds, n_repetitions):
    """The held-out rows choose the epoch, which may cost up to 0.02."""
    found = []
    for seed in range(n_repetitions):
        rng = np.random.default_rng(4000 + seed)
        model = make(seed).fit(*draw(rng, n))
        assert len(model._conformity_.folds) == n_folds
        found.append(cover(model, *draw(rng, N_NEW)))
    mean, error = expect(model._conformity_.n_rows, len(found))
    assert mean - 3 * error - 0.02 < np.mean(found) < mean + 3 * error + 0.03 * (n_folds > 1)


@pytest.fixture(scope="module")
def fitted():
    X, y = draw(np.random.default_rng(4100), 100)
    return DeltaUQRegressor(max_iter=50, random_state=0).fit(X, y)


@pytest.mark.parametrize("n", [9, 20, 200])
def test_conformalize_has_the_coverage_of_split_conformal(fitted, n):
    """The guarantee holds for any fit, so one is enough."""
    rng, found = np.random.default_rng(4200), []
    for _ in range(100):
        fitted.conformalize(*draw(rng, n))
        found.append(cover(fitted, *draw(rng, N_NEW)))
    mean, error = expect(n, len(found))
    assert abs(np.mean(found) - mean) < 3 * error


def test_weights_give_the_coverage_of_another_population(fitted):
    """Without the weights, too few of the noisy rows are held out."""
    rng, found, without = np.random.default_rng(4300), [], []
    for _ in range(100):
        (X, y), new = draw(rng, 200), draw_weighted(rng, N_NEW)
        found.append(cover(fitted.conformalize(X, y, 0.2 + np.abs(X[:, 1])), *new))
        without.append(cover(fitted.conformalize(X, y), *new))
    _, error = expect(200 / 1.3, len(found))  # Kish: the rows count as 1.3 times fewer
    assert abs(np.mean(found) - COVERAGE) < 3 * error + 0.005
    assert np.mean(without) < 0.88
