"""Bounds, points and integers: checks and maps."""

import numpy as np
import pytest

from sk_deltauq.optimize._space import SAME, Space


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(1, 0)], r"lower < upper.*Parameter 0 has \(1.0, 0.0\)"),
        ([(0, 1), (2, 2)], "Parameter 1"),
        ([(0, np.inf)], r"finite.*\(0.0, inf\)"),
        ([(np.nan, 1)], r"finite.*\(nan, 1.0\)"),
        ([(1, np.nan)], r"finite.*\(1.0, nan\)"),
        ([(-1e308, 1e308)], "at most 1e\\+100 in size"),
        ([(0, 1e200)], r"at most 1e\+100 in size"),
        ([0, 1], r"shape \(2,\)"),
        ([], r"shape \(0,\)"),
        ([(0, 1, 2)], r"shape \(1, 3\)"),
        ([("a", 1)], "bounds must hold a lower and an upper number"),
        ([(0, 1), (0,)], "bounds must hold a lower and an upper number"),
    ],
)
def test_space_rejects_invalid_bounds(bounds, message):
    with pytest.raises(ValueError, match=message):
        Space.make(bounds)


@pytest.mark.parametrize(
    ("integers", "message"),
    [([2], "0 to 1, got 2"), ([-1], "got -1"), ([0.5], "got 0.5"), ([1], "must be integers")],
)
def test_space_rejects_invalid_integers(integers, message):
    with pytest.raises(ValueError, match=message):
        Space.make([(0, 5), (0.5, 3)], integers)


def test_integers_must_differ_in_the_unit_cube():
    with pytest.raises(ValueError, match="10000001 values"):
        Space.make([(0, 10**7)], [0])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.5, 3.5], "point 0: parameter 1 is no integer"),
        ([[0.5, 3], [0.5, 12]], "point 1: parameter 1 is outside"),
        ([-0.1, 3], "outside of its bounds"),
        ([np.nan, 3], "x has NaN or infinity"),
        ([0.5, -np.inf], "x has NaN or infinity"),
        ([0.5], r"2 numbers or an array of shape \(n_points, 2\), got shape \(1,\)"),
        ([[[0.5, 3]]], r"got shape \(1, 1, 2\)"),
        (["a", 3], "x must hold numbers"),
    ],
)
def test_check_points_rejects_invalid_points(points, message):
    with pytest.raises(ValueError, match=message):
        Space.make([(0, 1), (2, 10)], [1]).check_points(points)


def test_points_may_exceed_a_bound_by_rounding():
    space = Space.make([(0.1, 0.3)])
    assert space.check_points([0.1 + 0.2]).shape == (1, 1)  # 0.30000000000000004


def test_unit_cube_maps_there_and_back():
    space = Space.make([(-5, 5), (2, 4)], [1])
    X = np.array([[-5.0, 2.0], [5.0, 4.0], [0.0, 3.0]])
    np.testing.assert_allclose(space.to_unit(X), [[0, 0], [1, 1], [0.5, 0.5]])
    np.testing.assert_allclose(space.from_unit(space.to_unit(X)), X)
    assert space.from_unit(np.array([0.5, 0.7])).tolist() == [0.0, 3.0]


def test_random_points_have_all_integers_equally_often():
    space = Space.make([(0, 1), (2, 4)], [1])
    values, counts = np.unique(space.draw_sobol(0, 3000, 0)[:, 1], return_counts=True)
    assert values.tolist() == [2, 3, 4]
    np.testing.assert_allclose(counts, 1000, rtol=0.02)


def test_sobol_sequence_continues_from_any_number():
    space = Space.make([(0, 1), (0, 1)])
    whole = space.draw_sobol(0, 20, 5)
    np.testing.assert_array_equal(space.draw_sobol(7, 6, 5), whole[7:13])
    # As evenly as a Sobol sequence: one point in each of 16 strips
    assert len(set(np.floor(whole[:16, 0] * 16))) == 16


def test_points_are_equal_only_if_all_coordinates_are_near():
    space = Space.make([(0, 1000), (0, 1)])
    X = np.array([[500.0, 0.5]])
    assert space.find(X[0] + [900 * SAME, 0], X).all()
    assert not space.find(X[0] + [1100 * SAME, 0], X).any()
    assert not space.find(X[0] + [0, 1.1 * SAME], X).any()


def test_draw_free_finds_all_points_and_then_raises():
    space = Space.make([(0, 2), (0, 2)], [0, 1])
    taken = np.empty((0, 2))
    for _ in range(9):
        point, _ = space.draw_free(taken, 0, seed=0)
        assert not space.find(point, taken).any()
        taken = np.vstack([taken, point])
    assert len(np.unique(taken, axis=0)) == 9
    with pytest.raises(ValueError, match="all 9 points"):
        space.draw_free(taken, 0, seed=0)
