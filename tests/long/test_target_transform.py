"""Skewed targets over several seeds: width of the intervals, and the choice of "auto"."""

import numpy as np
import pytest

from sk_deltauq import DeltaUQRegressor

SEEDS = range(140, 146)


def draw(seed, n, *, skewed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 1))
    f, noise = np.sin(2 * x[:, 0]), 0.5 * rng.standard_normal(n)
    return x, 10 * np.exp(f + noise) if skewed else f + noise, f


@pytest.mark.parametrize("choice", ["log", "auto"])
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_of_a_log_normal_target_have_width_and_coverage(seed, choice):
    x, y, _ = draw(seed, 500, skewed=True)
    model = DeltaUQRegressor(target_transform=choice, random_state=seed).fit(x, y)
    x_new, y_new, f = draw(seed + 1000, 2000, skewed=True)
    lower, upper = model.predict_interval(x_new, 0.9).T
    ideal = 20 * np.exp(f) * np.sinh(1.6449 * 0.5)
    assert (lower > 0).all()
    # Without a transformation the intervals are 3 to 5 times too wide where the target is small.
    assert np.quantile((upper - lower) / ideal, 0.9) < 1.5
    assert ((upper - lower) / ideal).max() < 2
    assert 0.84 < ((lower <= y_new) & (y_new <= upper)).mean() < 0.96


def test_auto_chooses_no_transformation_for_normal_targets():
    chosen = [
        DeltaUQRegressor(target_transform="auto", random_state=seed)
        .fit(*draw(seed, 200, skewed=False)[:2])
        .target_transform_
        for seed in SEEDS
    ]
    assert sum(choice is not None for choice in chosen) <= 1
