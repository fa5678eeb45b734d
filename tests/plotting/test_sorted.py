import numpy as np
import pytest
from scipy.stats import norm
from sklearn.pipeline import make_pipeline

from sk_deltauq.metrics import coverage
from sk_deltauq.plotting import SortedIntervalsDisplay
from tests._helpers import regressor
from tests.plotting._helpers import FirstFeature, TwoOutputs


def test_rows_are_sorted_by_width_and_misses_are_marked():
    display = SortedIntervalsDisplay.from_predictions(
        [5.0, 1.0, 20.0], lower=[0.0, 0.0, 10.0], upper=[4.0, 2.0, 30.0], coverage=0.5
    )
    np.testing.assert_array_equal(display.residual, [0, 3, 0])  # from the middles 1, 2, 20
    np.testing.assert_array_equal(display.upper - display.lower, [2, 4, 20])
    np.testing.assert_allclose(display.position, [1 / 6, 1 / 2, 5 / 6])
    np.testing.assert_array_equal(display.outside_.get_ydata(), [3])
    np.testing.assert_array_equal(display.inside_.get_ydata(), [0, 0])
    labels = [text.get_text() for text in display.ax_.get_legend().texts]
    assert labels == ["50 % interval", "prediction", "inside: 66.7 %", "outside: 33.3 %"]


def test_weights_change_coverage_and_positions(rng):
    y, lower = rng.normal(size=40), rng.normal(size=40) - 1
    upper, weights = lower + rng.uniform(1, 3, size=40), rng.uniform(size=40)
    display = SortedIntervalsDisplay.from_predictions(y, lower, upper, sample_weight=weights)
    expected = coverage(y, lower, upper, sample_weight=weights)
    assert display.observed_coverage == pytest.approx(expected)
    marked = np.isin(display.residual, display.outside_.get_ydata())
    order = np.argsort(upper - lower)
    assert weights[order][marked].sum() / weights.sum() == pytest.approx(1 - expected)
    steps = np.diff([0, *(2 * display.position)])  # midpoints of the weights of the rows
    assert steps[0] == pytest.approx(weights[order][0] / weights.sum())
    assert display.position[-1] == pytest.approx(1 - weights[order][-1] / weights.sum() / 2)


def test_intervals_of_a_regressor_of_the_package(line):
    X, y = line
    model = regressor().fit(X, y)
    interval = model.predict_interval(X, 0.8)
    for estimator in (model, make_pipeline("passthrough", regressor()).fit(X, y)):
        display = SortedIntervalsDisplay.from_estimator(estimator, X, y, coverage=0.8)
        widths = display.upper - display.lower
        np.testing.assert_allclose(widths, np.sort(interval[:, 1] - interval[:, 0]))
        assert display.observed_coverage == pytest.approx(coverage(y, *interval.T))
    order = np.argsort(interval[:, 1] - interval[:, 0], kind="stable")
    np.testing.assert_allclose(display.residual, (y - model.predict(X))[order])


def test_intervals_of_other_regressors(line, ridge):
    X, y = line
    mean, std = ridge.predict(X, return_std=True)
    lower, upper = norm.interval(0.9, mean, std)
    display = SortedIntervalsDisplay.from_estimator(ridge, X, y)
    assert display.observed_coverage == pytest.approx(coverage(y, lower, upper))
    display = SortedIntervalsDisplay.from_estimator(FirstFeature().fit(X), X[:, [0, 0]] ** 2, y)
    np.testing.assert_allclose(display.upper, -3 * display.lower)


def test_one_of_several_outputs(rng):
    X = rng.normal(size=(30, 2))
    display = SortedIntervalsDisplay.from_estimator(TwoOutputs().fit(X), X, X, target=1)
    np.testing.assert_allclose(display.upper, 2 * norm.ppf(0.95))
    np.testing.assert_array_equal(display.residual, 0)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (([1.0, 0.0], [0.0, 1.0]), "lower must not exceed upper"),
        (([0.0], [1.0]), "must have the shape of y_true"),
        (([0.0, np.nan], [1.0, 1.0]), "lower must not contain NaN or infinity"),
    ],
)
def test_display_rejects_invalid_bounds(bounds, message):
    with pytest.raises(ValueError, match=message):
        SortedIntervalsDisplay.from_predictions([0.0, 0.0], *bounds)


@pytest.mark.parametrize("y_pred", [[0.0], [0.0, 1.0, 2.0]])
def test_display_rejects_predictions_of_another_length(y_pred):
    with pytest.raises(ValueError, match="y_pred must have the shape of y_true"):
        SortedIntervalsDisplay.from_predictions([1.0, 2.0], [0, 0], [3, 3], y_pred=y_pred)


@pytest.mark.parametrize("value", [0, 1, 1.5, "a", [0.9]])
def test_display_rejects_invalid_coverage(line, ridge, value):
    with pytest.raises(ValueError, match="coverage must be one number strictly between"):
        SortedIntervalsDisplay.from_predictions([1.0], [0.0], [3.0], coverage=value)
    with pytest.raises(ValueError, match="coverage must be one number strictly between 0 and 1"):
        SortedIntervalsDisplay.from_estimator(ridge, *line, coverage=value)
