import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_deltauq.plotting import RiskCoverageDisplay
from tests._helpers import classifier, regressor
from tests.plotting._helpers import TwoOutputs


def test_risk_and_coverage_by_hand():
    display = RiskCoverageDisplay.from_predictions(
        y_true=[1.0, -4.0, 2.0], y_pred=[0.0, 0.0, 0.0], uncertainty=[0.3, 0.2, 0.9]
    )
    np.testing.assert_allclose(display.coverage, [1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(display.risk, [4, 5 / 2, 7 / 3])
    np.testing.assert_allclose(display.best_risk, [1, 3 / 2, 7 / 3])
    np.testing.assert_array_equal(display.line_.get_ydata(), display.risk)


def test_ties_are_kept_together_so_that_the_order_of_rows_does_not_matter():
    losses, uncertainty = np.array([1.0, 2.0, 6.0, 3.0]), np.array([1.0, 5.0, 1.0, 5.0])
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        display = RiskCoverageDisplay.from_predictions(
            losses[order], np.zeros(4), uncertainty[order]
        )
        np.testing.assert_allclose(display.coverage, [0.5, 1])
        np.testing.assert_allclose(display.risk, [3.5, 3])


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_whole_weights_equal_copies(rng, loss):
    y, mean, std = rng.normal(size=20), rng.normal(size=20), rng.uniform(1, 2, size=20)
    weights = rng.integers(0, 4, size=20)
    weighted = RiskCoverageDisplay.from_predictions(y, mean, std, loss=loss, sample_weight=weights)
    copies = RiskCoverageDisplay.from_predictions(
        *(np.repeat(values, weights) for values in (y, mean, std)), loss=loss
    )
    np.testing.assert_allclose(weighted.coverage, copies.coverage)
    np.testing.assert_allclose(weighted.risk, copies.risk)


def test_each_point_is_the_error_rate_of_the_rows_below_a_threshold(classification_data):
    X, y = classification_data
    for model in (classifier(), make_pipeline(LogisticRegression())):
        model.fit(X, y)
        display = RiskCoverageDisplay.from_estimator(model, X, y)
        doubt = 1 - model.predict_proba(X).max(axis=1)
        wrong = model.predict(X) != y
        for threshold, coverage, risk in zip(
            np.unique(doubt), display.coverage, display.risk, strict=True
        ):
            kept = doubt <= threshold
            assert coverage == pytest.approx(kept.mean())
            assert risk == pytest.approx(wrong[kept].mean())


def test_uncertainty_is_chosen_by_name(classification_data, line):
    X, y = line
    model = regressor().fit(X, y)
    parts = model.predict_uncertainty(X)
    display = RiskCoverageDisplay.from_estimator(model, X, y, uncertainty="epistemic")
    order = np.argsort(parts.epistemic)
    errors = np.abs(y - model.predict(X))[order]
    np.testing.assert_allclose(display.risk, np.cumsum(errors) / np.arange(1, 81))
    with pytest.raises(ValueError, match=r"uncertainty must be None or one of \['aleatoric', 'ep"):
        RiskCoverageDisplay.from_estimator(model, X, y, uncertainty="std")
    X, y = classification_data
    display = RiskCoverageDisplay.from_estimator(
        classifier().fit(X, y), X, y, uncertainty="mutual_information"
    )
    assert display.loss == "zero_one"
    score = classifier().fit(X, y).predict_uncertainty(X).mutual_information
    wrong = classifier().fit(X, y).predict(X) != y
    thresholds = np.unique(score)
    np.testing.assert_allclose(display.coverage, [(score <= t).mean() for t in thresholds])
    np.testing.assert_allclose(display.risk, [wrong[score <= t].mean() for t in thresholds])


def test_one_of_several_outputs(rng):
    X = rng.normal(size=(30, 2))
    display = RiskCoverageDisplay.from_estimator(
        TwoOutputs().fit(X), X, X + np.array([1, 3]), target=1
    )
    np.testing.assert_allclose(display.risk, [3])


def test_references_are_optional():
    display = RiskCoverageDisplay([0.5, 1.0], [1.0, 2.0], name="given").plot(references=False)
    assert [text.get_text() for text in display.ax_.get_legend().texts] == ["given"]


@pytest.mark.parametrize(
    ("arguments", "params", "message"),
    [
        (([1.0], [1.0], [1.0]), {"loss": "log"}, r"loss must be one of \['absolute',"),
        (([1.0, 2.0], [1.0], [1.0]), {}, "y_pred must have the shape of y_true"),
        ((["a"], ["a", "b"], [1.0]), {"loss": "zero_one"}, "1-D arrays of labels"),
        (([1.0], [1.0], [np.inf]), {}, "uncertainty must not contain NaN or infinity"),
    ],
)
def test_display_rejects_invalid_predictions(arguments, params, message):
    with pytest.raises(ValueError, match=message):
        RiskCoverageDisplay.from_predictions(*arguments, **params)
