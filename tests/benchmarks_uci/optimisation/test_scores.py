"""The area under the curve against sums by hand."""

import numpy as np
import pytest

from benchmarks_uci.optimisation.scores import area_under, measure_progress


def test_progress_is_the_closed_part_of_the_gap():
    values = np.array([5.0, 4.0, 6.0, 3.0, 3.5, 2.0])  # two starting points, the optimum is 2
    found = measure_progress(values, 2, optimum=2.0)
    np.testing.assert_allclose(found, [0, 0, 0.5, 0.5, 1])
    # Trapezoids: 0 + .25 + .5 + .75, over five points
    assert area_under(found) == pytest.approx(1.5 / 5)


def test_the_largest_area_of_25_steps():
    values = np.array([1.0, *np.zeros(25)])
    assert area_under(measure_progress(values, 1, 0.0)) == pytest.approx(24.5 / 26)


def test_an_optimum_among_the_starting_points():
    assert (measure_progress(np.array([3.0, 1.0, 2.0]), 2, 1.0) == 1).all()
