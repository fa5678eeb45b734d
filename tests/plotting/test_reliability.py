import numpy as np
import pytest
from scipy.stats import binom
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq.metrics import expected_calibration_error
from sk_deltauq.plotting import ReliabilityDisplay
from sk_deltauq.plotting._bins import assign_equal_counts
from tests._helpers import classifier
from tests.plotting._helpers import Probabilities


@pytest.fixture
def probabilities(rng):
    """Labels "no" and "yes", and probabilities of both."""
    p = rng.uniform(size=300)
    return np.where(rng.uniform(size=300) < p, "yes", "no"), np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("n_bins", [5, 10])
def test_curve_equals_scikit_learn(probabilities, n_bins):
    y, p = probabilities
    display = ReliabilityDisplay.from_predictions(y, p, pos_label="yes", n_bins=n_bins)
    frequency, confidence = calibration_curve(y, p[:, 1], pos_label="yes", n_bins=n_bins)
    np.testing.assert_allclose(display.frequency, frequency)
    np.testing.assert_allclose(display.confidence, confidence)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.frequency)


def test_quantile_bins_have_equal_counts(probabilities):
    y, p = probabilities
    display = ReliabilityDisplay.from_predictions(y, p, pos_label="yes", strategy="quantile")
    np.testing.assert_array_equal(display.counts, 30)
    frequency, confidence = calibration_curve(
        y, p[:, 1], pos_label="yes", n_bins=10, strategy="quantile"
    )
    np.testing.assert_allclose(display.frequency, frequency)
    np.testing.assert_allclose(display.confidence, confidence)


@pytest.mark.parametrize("weighted", [False, True])
def test_distance_from_the_diagonal_is_the_calibration_error(rng, weighted):
    logits = rng.normal(size=(200, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = rng.integers(3, size=200)
    weights = rng.integers(1, 4, size=200).astype(float) if weighted else None
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=15, sample_weight=weights)
    bins = np.ceil(15 * p.max(axis=1)).astype(int)
    mass = np.bincount(bins, weights)
    mass = mass[mass > 0] / mass.sum()
    found = (mass * np.abs(display.confidence - display.frequency)).sum()
    expected = expected_calibration_error(y, p, n_bins=15, sample_weight=weights)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("n", [50, 300])
def test_bars_are_binomial_quantiles_at_the_diagonal(probabilities, n):
    y, p = (part[:n] for part in probabilities)
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=4, chance=0.9)
    segments = display.chance_.get_segments()
    assert len(segments) == len(display.counts) == 2  # confidences of two classes exceed 0.5
    for segment, mean, count in zip(segments, display.confidence, display.counts, strict=True):
        np.testing.assert_allclose(segment[:, 0], mean)
        expected = binom.ppf([0.05, 0.95], int(count), mean) / count
        np.testing.assert_allclose(segment[:, 1], expected, atol=1.01 / count)


def test_from_estimator_accepts_text_labels(classification_data):
    X, y = classification_data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {}, cv=2)
    for model in (pipeline.fit(X, y), search.fit(X, y), classifier().fit(X, y)):
        display = ReliabilityDisplay.from_estimator(model, X, y, pos_label="beech")
        expected = calibration_curve(y == "beech", model.predict_proba(X)[:, 1], n_bins=10)
        np.testing.assert_allclose(display.frequency, expected[0])
        assert display.ax_.get_xlabel() == "predicted probability of the class beech"


def test_class_without_rows_is_known_to_the_estimator():
    p = np.array([[0.9, 0.1], [0.8, 0.2]])
    model = Probabilities().fit(p)
    display = ReliabilityDisplay.from_estimator(model, p, ["no", "no"])
    np.testing.assert_array_equal(display.frequency, 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pos_label": "maybe"}, r"pos_label must be one of the classes \['no', 'yes'\]"),
        ({"strategy": "other"}, "strategy must be 'uniform' or 'quantile'"),
        ({"n_bins": 0}, "n_bins must be an integer of at least 1"),
        ({"labels": ["no"]}, "labels must name the 2 columns"),
    ],
)
def test_display_rejects_invalid_parameters(probabilities, params, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(*probabilities, **params)


def test_display_rejects_a_regressor(line, ridge):
    with pytest.raises(
        TypeError, match="ReliabilityDisplay needs a classifier with predict_proba"
    ):
        ReliabilityDisplay.from_estimator(ridge, *line)


def test_equal_values_share_a_bin():
    values = np.array([2.0, 1.0, 2.0, 2.0, 2.0, 3.0])
    bins = assign_equal_counts(values, 3, np.ones(6))
    assert len(set(bins.number[values == 2])) == 1
    assert len(bins.average(values)) == len(set(bins.number))


def test_rows_without_weight_do_not_count():
    values, weights = np.array([0.1, 0.2, 0.8, 0.9]), np.array([1.0, 1.0, 0.0, 0.0])
    bins = assign_equal_counts(values, 2, weights)
    np.testing.assert_allclose(bins.average(values), [0.1, 0.2])
    np.testing.assert_array_equal(bins.effective_counts(), [1, 1])
