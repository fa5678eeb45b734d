import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks_uci.classification.metrics import DETECTION, PROBABILITY
from benchmarks_uci.classification.scores import (
    measure_adaptive_ece,
    score_outliers,
    score_probabilities,
    score_sets,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_scores_of_probabilities_by_a_second_route(rng):
    labels = np.array([2, 5, 7])
    proba = rng.dirichlet([0.3, 0.3, 0.3], 2000)
    y = labels[[rng.choice(3, p=row) for row in proba]]
    found = score_probabilities(y, np.log(proba), labels)
    assert [*found] == [*PROBABILITY]
    assert found["nll"] == pytest.approx(log_loss(y, proba, labels=labels))
    one_hot = y[:, None] == labels
    assert found["brier"] == pytest.approx(((proba - one_hot) ** 2).sum(axis=1).mean())
    assert found["accuracy"] == np.mean(labels[proba.argmax(axis=1)] == y)
    # Labels drawn from the probabilities are calibrated, up to chance.
    assert found["ece"] < 0.06
    assert found["ece_adaptive"] < 0.06


def test_nll_is_finite_where_a_probability_underflows():
    log_proba = np.array([[-2000.0, 0.0]])
    found = score_probabilities(np.array([0]), log_proba, np.array([0, 1]))
    assert found["nll"] == 2000.0


def test_adaptive_bins_have_equal_numbers():
    # Two bins: 60 % sure and always wrong, 90 % sure and always right.
    proba = np.repeat([[0.6, 0.4], [0.9, 0.1]], 5, axis=0)
    index = np.repeat([1, 0], 5)
    assert measure_adaptive_ece(index, proba, n_bins=2) == pytest.approx((0.6 + 0.1) / 2)
    # One bin sees only the mean.
    assert measure_adaptive_ece(index, proba, n_bins=1) == pytest.approx(0.75 - 0.5)


def test_adaptive_error_does_not_depend_on_the_order(rng):
    proba = np.repeat(rng.dirichlet([1, 1, 1], 7), 6, axis=0)
    index = rng.integers(3, size=42)
    places = rng.permutation(42)
    expected = measure_adaptive_ece(index, proba)
    assert measure_adaptive_ece(index[places], proba[places]) == pytest.approx(expected)


def test_detection_scores_of_a_small_case():
    inside, outside = np.array([0.0, 1.0, 3.0]), np.array([2.0, 4.0])
    found = score_outliers(inside, outside)
    assert [*found] == [*DETECTION]
    # 5 of the 6 pairs are in the right order.
    assert found["auroc"] == pytest.approx(5 / 6)
    # Threshold 2: both outliers and two of three inside rows are right.
    assert found["accuracy"] == pytest.approx((1 + 2 / 3) / 2)
    # Precision at each outlier from the top: 1/1 and 2/3.
    assert found["aupr_out"] == pytest.approx((1 + 2 / 3) / 2)
    # From the bottom: 1/1, 2/2, 3/4.
    assert found["aupr_in"] == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_detection_does_not_depend_on_the_scale(rng):
    inside, outside = rng.standard_normal(50), rng.standard_normal(80) + 1
    one, two = score_outliers(inside, outside), score_outliers(np.exp(inside), np.exp(outside))
    assert one == pytest.approx(two)
    reverse = score_outliers(-inside, -outside)
    assert one["auroc"] + reverse["auroc"] == pytest.approx(1)
    assert one["auroc"] == roc_auc_score([0] * 50 + [1] * 80, [*inside, *outside])


def test_coverage_and_size_of_sets():
    sets = [[True, False, False], [True, True, False], [False, False, True]]
    assert score_sets(np.array([1, 7, 4]), sets, np.array([1, 4, 7])) == [1 / 3, 4 / 3]
