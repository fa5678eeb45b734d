import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics import quantile_calibration_error
from sk_deltauq.plotting import QuantileCalibrationDisplay, ReliabilityDisplay, StdErrorDisplay
from sk_deltauq.plotting._quantiles import find_chance_limits
from tests._helpers import regressor
from tests.plotting._helpers import FirstFeature, TwoOutputs

LEVELS = np.arange(1, 20) / 20


def test_mean_distance_is_the_calibration_error(rng):
    y, mean, std = rng.normal(size=50), rng.normal(size=50), rng.uniform(1, 2, size=50)
    weights = rng.uniform(size=50)
    dist = NormalMixture(mean[None], std[None])
    display = QuantileCalibrationDisplay.from_predictions(
        y, dist.ppf(LEVELS), LEVELS, sample_weight=weights
    )
    found = np.abs(display.observed - display.levels).mean()
    assert found == pytest.approx(quantile_calibration_error(y, dist, sample_weight=weights))
    assert f"mean distance {found:.3f}" in display.line_.get_label()
    np.testing.assert_array_equal(display.line_.get_ydata(), display.observed)


def test_observed_levels_by_hand():
    quantiles = [[0, 2], [0, 2], [0, 2], [0, 2]]
    display = QuantileCalibrationDisplay.from_predictions([-1, 0, 1, 3], quantiles, [0.25, 0.75])
    np.testing.assert_array_equal(display.observed, [0.5, 0.75])
    assert display.n_samples == 4


def test_equal_weights_count_all_rows_and_unequal_weights_fewer():
    quantiles, y = np.zeros((10, 1)), np.arange(10)
    for weights, expected in [(np.full(10, 3.0), 10), ([1.0] * 5 + [0.0] * 5, 5)]:
        display = QuantileCalibrationDisplay.from_predictions(
            y, quantiles, [0.5], sample_weight=weights
        )
        assert display.n_samples == expected


@pytest.mark.parametrize("n_samples", [7, 200])
def test_chance_limits_have_their_probability(n_samples):
    levels = np.array([0.05, 0.3, 0.5, 0.95])
    lower, upper = find_chance_limits(levels, n_samples, 0.9)
    counts = np.arange(n_samples + 1)
    for level, low, high in zip(levels, lower, upper, strict=True):
        mass = binom.pmf(counts, n_samples, level)
        fractions = counts / n_samples
        inside = (fractions >= low - 1e-12) & (fractions <= high + 1e-12)
        assert mass[inside].sum() >= 0.9
        # Narrower by one row, a tail would be heavier than allowed.
        assert mass[fractions <= low + 1e-12].sum() > 0.05 - 1e-12
        assert mass[fractions >= high - 1e-12].sum() > 0.05 - 1e-12


def test_limits_at_levels_zero_and_one():
    lower, upper = find_chance_limits(np.array([0.0, 1.0]), 5, 0.95)
    np.testing.assert_array_equal(lower, [0, 1])
    np.testing.assert_array_equal(upper, [0, 1])


def test_other_regressors_are_taken_as_normal(line, ridge):
    X, y = line
    mean, std = ridge.predict(X, return_std=True)
    display = QuantileCalibrationDisplay.from_estimator(ridge, X, y)
    expected = [(y <= norm.ppf(level, mean, std)).mean() for level in LEVELS]
    np.testing.assert_array_equal(display.observed, expected)
    assert display.name == "BayesianRidge"


def test_quantiles_come_from_predict_inside_pipelines_and_searches(line):
    X, y = line
    alone = QuantileCalibrationDisplay.from_estimator(FirstFeature().fit(X), X, y)
    expected = [(y <= X[:, 0] + level).mean() for level in LEVELS]
    np.testing.assert_array_equal(alone.observed, expected)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), FirstFeature())
    search = GridSearchCV(pipeline, {}, cv=2)
    for model in (pipeline, search, make_pipeline(clone(search))):
        found = QuantileCalibrationDisplay.from_estimator(model.fit(X, y), X, y)
        np.testing.assert_array_equal(found.observed, expected)


def test_regressor_of_the_package_uses_predict_quantiles(line):
    X, y = line
    model = regressor().fit(X, y)
    display = QuantileCalibrationDisplay.from_estimator(model, X, y, levels=[0.1, 0.5, 0.9])
    expected = (y[:, None] <= model.predict_quantiles(X, [0.1, 0.5, 0.9])).mean(axis=0)
    np.testing.assert_array_equal(display.observed, expected)


def test_one_of_several_outputs(rng):
    X = rng.normal(size=(30, 2))
    Y = X + rng.normal(size=(30, 2))
    model = TwoOutputs().fit(X)
    display = QuantileCalibrationDisplay.from_estimator(model, X, Y, target=1)
    expected = [(Y[:, 1] <= norm.ppf(level, X[:, 1], 2)).mean() for level in LEVELS]
    np.testing.assert_array_equal(display.observed, expected)
    with pytest.raises(ValueError, match=r"target must be the position .* 0 to 1, got None"):
        QuantileCalibrationDisplay.from_estimator(model, X, Y)


def test_several_models_share_axes_and_one_diagonal(line, ridge):
    X, y = line
    first = QuantileCalibrationDisplay.from_estimator(ridge, X, y, name="first")
    second = QuantileCalibrationDisplay.from_estimator(
        ridge, X, y, name="second", ax=first.ax_, chance=None
    )
    assert second.chance_ is None
    labels = [text.get_text() for text in first.ax_.get_legend().texts]
    assert labels[:2] == ["95 % by chance", "calibrated"]
    assert [label.split()[0] for label in labels[2:]] == ["first", "second"]
    assert first.line_.get_color() != second.line_.get_color()


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.0, 0.5], r"levels must be a 1-D array in \(0, 1\)"),
        ([[0.5]], r"levels must be a 1-D array in \(0, 1\)"),
        ([], r"levels must be a 1-D array in \(0, 1\)"),
        ([0.5, 0.1], "levels must increase"),
        ([0.1, 0.5, 0.9], r"y_quantiles must have shape \(3, 3\)"),
    ],
)
def test_display_rejects_invalid_levels(levels, message):
    with pytest.raises(ValueError, match=message):
        QuantileCalibrationDisplay.from_predictions([1, 2, 3], np.ones((3, 2)), levels)


def test_display_rejects_empty_targets():
    with pytest.raises(ValueError, match="y_true has no rows"):
        QuantileCalibrationDisplay.from_predictions([], np.ones((0, 1)), [0.5])


@pytest.mark.parametrize("chance", [2, -1, 0, "most"])
def test_displays_reject_invalid_chance(chance):
    message = "chance must be one number strictly between 0 and 1"
    draw = QuantileCalibrationDisplay([0.5], [0.5], n_samples=9).plot
    draw(chance=None)
    one = np.ones(1)
    for plot in (
        draw,
        ReliabilityDisplay(one, one, counts=one).plot,
        StdErrorDisplay(one, one, bin_std=one, bin_rmse=one, counts=one).plot,
    ):
        with pytest.raises(ValueError, match=message):
            plot(chance=chance)
