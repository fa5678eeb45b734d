"""Gross outliers among the targets cause a warning; heavy tails and rare events do not."""

import re

import numpy as np
import pytest

from sk_deltauq._outliers import find_gross_outliers
from sk_deltauq.exceptions import UncertaintyWarning
from tests._helpers import N, regressor, table, target

ORDINARY = {
    "normal": lambda rng, n: rng.normal(size=n),
    "log-normal": lambda rng, n: rng.lognormal(size=n),
    "Student's t": lambda rng, n: rng.standard_t(3, size=n),
    "zero-inflated": lambda rng, n: (rng.random(n) < 0.15) * rng.poisson(3, size=n),
    "rare events": lambda rng, n: (rng.random(n) < 0.005) * 1.0,
    "constant": lambda rng, n: np.full(n, 3.0),
    "huge": lambda rng, n: 1e300 * rng.normal(size=n),
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("n", [3, 20, 200, 1000])
def test_ordinary_targets_have_no_gross_outliers(name, n):
    found = [
        len(find_gross_outliers(ORDINARY[name](np.random.default_rng(seed), n) * 1.0, np.ones(n)))
        for seed in range(50)
    ]
    assert sum(found) == 0


@pytest.mark.parametrize("rows", [[7], [3, 250], [0, 1, 2, 399]])
def test_gross_outliers_are_found_the_farthest_first(rows):
    values = np.random.default_rng(0).normal(2, 1, size=800)
    values[rows] = [1e5, -1e4, 9e3, 8e3][: len(rows)]
    assert find_gross_outliers(values, np.ones(800)).tolist() == rows
    assert find_gross_outliers(1e295 * values, np.ones(800)).tolist() == rows


def test_a_small_weight_silences_the_outlier():
    values, weights = np.random.default_rng(0).normal(size=100), np.ones(100)
    values[5] = 1e3
    assert find_gross_outliers(values, weights).tolist() == [5]
    weights[5] = 1e-6
    assert find_gross_outliers(values, weights).tolist() == []


def test_the_warning_names_rows_values_and_the_ways_out():
    y, weights = target(regressor), np.ones(N)
    y[[9]] = 99999
    weights[0] = 0  # positions count the rows of weight zero
    message = re.compile(r"^y has .*\(row 9: 99999\).*median.*sample_weight.*'yeo-johnson'", re.S)
    with pytest.warns(UncertaintyWarning, match=message) as caught:
        regressor().fit(table(), y, sample_weight=weights)
    assert caught[0].filename == __file__
    with pytest.warns(UncertaintyWarning, match=r"^output 1 of y has .*row 9"):
        regressor().fit(table(), np.column_stack([target(regressor), y]))
