"""Gross outliers among the targets cause a warning; heavy tails and rare events do not."""

import re
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from sk_deltauq._estimators.target_transform import fit_target_transform
from sk_deltauq._outliers import find_gross_outliers, warn_about_outliers
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
def test_gross_outliers_are_sorted_by_distance(rows):
    values = np.random.default_rng(0).normal(2, 1, size=800)
    values[rows] = [1e5, -1e4, 9e3, 8e3][: len(rows)]
    assert find_gross_outliers(values, np.ones(800)).tolist() == rows
    assert find_gross_outliers(1e295 * values, np.ones(800)).tolist() == rows


def test_an_outlier_with_a_small_weight_is_ignored():
    values, weights = np.random.default_rng(0).normal(size=100), np.ones(100)
    values[5] = 1e3
    assert find_gross_outliers(values, weights).tolist() == [5]
    weights[5] = 1e-6
    assert find_gross_outliers(values, weights).tolist() == []


def test_the_warning_names_rows_values_and_solutions():
    y, weights = target(regressor), np.ones(N)
    y[[9]] = 99999
    weights[0] = 0  # positions count the rows of weight zero
    message = re.compile(
        r"^y has .*\(row 9: 99999\).*median.*[Cc]heck.*correct.*remove.*1e-8", re.S
    )
    with pytest.warns(UncertaintyWarning, match=message) as caught:
        regressor().fit(table(), y, sample_weight=weights)
    assert caught[0].filename == __file__
    assert "target_transform" not in str(caught[0].message)
    with pytest.warns(UncertaintyWarning, match=r"^output 1 of y has .*row 9"):
        regressor().fit(table(), np.column_stack([target(regressor), y]))


# With a transformation


def list_warnings(values, choice):
    """List the warnings about a target and its transformation."""
    ones = np.ones(len(values))
    fitted = fit_target_transform([choice], values[:, None], ones)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_outliers(values[:, None], ones, np.arange(len(values)), fitted)
    return [str(warning.message) for warning in caught]


def draw_with_a_gross_outlier(n=300):
    values = np.random.default_rng(3).normal(size=n)
    values[0] = 1e5
    return values


RANK_TRANSFORMS = [
    "quantile",
    QuantileTransformer(n_quantiles=20),
    make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=20)),
]


@pytest.mark.parametrize("choice", ["yeo-johnson", StandardScaler(), *RANK_TRANSFORMS], ids=str)
def test_transformations_that_do_not_help_do_not_prevent_the_warning(choice):
    (message,) = list_warnings(draw_with_a_gross_outlier(), choice)
    assert "(row 0: 100000)" in message
    assert "does not help" in message
    assert "correct" in message
    assert "sample_weight must be tiny" in message


@pytest.mark.parametrize("choice", ["log", FunctionTransformer(np.log, np.exp)], ids=str)
def test_a_logarithm_helps_against_large_values_and_not_against_tiny_ones(choice):
    values = np.exp(0.5 * np.random.default_rng(0).normal(size=300))
    values[7] = 1e3
    assert find_gross_outliers(values, np.ones(300)).tolist() == [7]
    assert list_warnings(values, choice) == []
    values[7] = 1e-30
    (message,) = list_warnings(values, choice)
    assert "(row 7: 1e-30)" in message


@pytest.mark.parametrize("name", sorted({*ORDINARY} - {"huge"}))
@pytest.mark.parametrize("choice", ["log1p", "yeo-johnson", "quantile"])
def test_ordinary_targets_cause_no_warning_after_a_transformation(name, choice):
    for seed in range(10):
        for n in (20, 200, 1000):
            values = ORDINARY[name](np.random.default_rng(seed), n) * 1.0
            if choice != "log1p" or values.min() > -1:
                assert list_warnings(values, choice) == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("choice", [None, "yeo-johnson", "quantile", "auto"])
def test_fit_warns_with_every_transformation(choice):
    rows = np.random.default_rng(3).normal(size=(60, 3))
    model = regressor(target_transform=choice)
    with pytest.warns(UncertaintyWarning, match=r"^y has extreme outliers \(row 0: 100000\)"):
        model.fit(rows, draw_with_a_gross_outlier(60))
