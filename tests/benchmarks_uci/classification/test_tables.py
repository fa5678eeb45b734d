import numpy as np
import pytest

from benchmarks_uci.classification import tables


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rows(rng):
    return rng.standard_normal((2000, 9))


def test_noise_adds_its_variance(rows, rng):
    added = tables.noise(rows, 2.0, rng) - rows
    assert added.std() == pytest.approx(2.0, rel=0.05)
    assert abs(np.corrcoef(added.ravel(), rows.ravel())[0, 1]) < 0.05


def test_dropout_sets_a_fraction_to_the_mean(rows, rng):
    assert (tables.dropout(rows, 0.3, rng) == 0).mean() == pytest.approx(0.3, abs=0.02)


def test_scale_has_one_gain_per_feature(rows, rng):
    gains = tables.scale(rows, 1.0, rng) / rows
    np.testing.assert_allclose(gains, gains[:1].repeat(2000, axis=0))
    assert {*gains[0].round(6)} == {0.5, 2.0}


def test_swap_keeps_the_feature(rows, rng):
    changed = tables.swap(rows, 0.4, rng)
    assert (changed != rows).mean() == pytest.approx(0.4, abs=0.02)
    assert all(np.isin(changed[:, j], rows[:, j]).all() for j in range(9))


def test_offset_moves_a_third_of_the_features(rows, rng):
    steps = tables.offset(rows, 2.0, rng) - rows
    assert sorted(np.abs(steps[0]).round(6)) == [0.0] * 6 + [2.0] * 3
    np.testing.assert_allclose(steps, steps[:1].repeat(2000, axis=0))
    single = tables.offset(rows[:, :2], 2.0, rng) - rows[:, :2]
    assert np.count_nonzero(np.abs(single[0]) > 1) == 1


def test_saturation_cuts_a_fraction(rows, rng):
    changed = tables.saturation(rows, 0.5, rng)
    assert (changed != rows).mean() == pytest.approx(0.5, abs=0.01)
    assert changed.max() < 0.8  # the 75 % quantile of a standard normal variable is .674


def test_rounding_leaves_multiples(rows, rng):
    changed = tables.rounding(rows, 0.5, rng)
    np.testing.assert_allclose(changed * 2, np.round(changed * 2))
    assert np.abs(changed - rows).max() <= 0.25


def test_exchange_permutes_features(rows, rng):
    changed = tables.exchange(rows, 0.5, rng)
    assert sorted(changed.sum(axis=0)) == pytest.approx(sorted(rows.sum(axis=0)))
    assert (changed != rows).any(axis=0).sum() == 4
