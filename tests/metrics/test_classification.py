from inspect import signature

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from sk_deltauq.distributions import CategoricalMixture
from sk_deltauq.metrics import (
    brier_score,
    expected_calibration_error,
    nll,
    ood_auroc,
)


def test_nll_and_brier_score_equal_scikit_learn(rng):
    y = rng.integers(3, size=50)
    dist = CategoricalMixture(rng.normal(size=(4, 50, 3)))
    weight = rng.uniform(size=50)
    expected = log_loss(y, dist.proba, sample_weight=weight)
    assert nll(y, dist, sample_weight=weight) == pytest.approx(expected)

    score = brier_score(y, dist.proba, sample_weight=weight)
    one_hot = (y[:, None] == np.arange(3)).astype(float)
    rows = [sum((p - t) ** 2) for p, t in zip(dist.proba, one_hot, strict=True)]
    assert score == pytest.approx(np.average(rows, weights=weight))

    if "scale_by_half" in signature(brier_score_loss).parameters:  # scikit-learn 1.7
        theirs = brier_score_loss(
            y, dist.proba, sample_weight=weight, labels=range(3), scale_by_half=False
        )
        assert score == pytest.approx(theirs, rel=1e-14)

    two = CategoricalMixture(rng.normal(size=(4, 50, 2))).proba
    half = brier_score_loss(y > 0, two[:, 1])
    assert brier_score(y > 0, two) == pytest.approx(2 * half)


def test_labels_name_the_columns():
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    dist = CategoricalMixture(np.log(proba)[None])
    y, labels = ["b", "a"], ["b", "c", "a"]
    assert nll(y, dist, labels=labels) == pytest.approx(-np.log([0.7, 0.3]).mean())
    assert brier_score(y, proba, labels=labels) == pytest.approx(
        (0.09 + 0.04 + 0.01 + 0.01 + 0.36 + 0.49) / 2
    )
    assert expected_calibration_error(y, proba, labels=labels) == pytest.approx((0.3 + 0.6) / 2)
    assert nll([1], CategoricalMixture([[[0.3]]]), labels=[1]) == 0  # a single class


def test_calibration_error_equals_a_loop_over_bins(rng):
    y, weight = rng.integers(3, size=200), rng.uniform(size=200)
    proba = CategoricalMixture(2 * rng.normal(size=(1, 200, 3))).proba
    proba[:5] = np.eye(3)[[0, 1, 2, 0, 1]]  # certain rows belong to the last bin
    confidence, correct = proba.max(axis=1), proba.argmax(axis=1) == y
    expected = 0
    for low in np.arange(10) / 10:
        inside = (low < confidence) & (confidence <= low + 0.1)
        if inside.any():
            gap = np.average((confidence - correct)[inside], weights=weight[inside])
            expected += abs(gap) * weight[inside].sum() / weight.sum()
    actual = expected_calibration_error(y, proba, n_bins=10, sample_weight=weight)
    assert actual == pytest.approx(expected)


def test_calibration_error_of_true_probabilities_is_small():
    dist = CategoricalMixture(np.random.default_rng(0).normal(size=(1, 20_000, 4)))
    y = dist.sample(1, random_state=0)[:, 0]
    assert expected_calibration_error(y, dist.proba) < 0.015


def test_ood_auroc_is_the_share_of_ordered_pairs(rng):
    inside, outside = rng.normal(size=40), rng.normal(1, size=30)
    expected = (outside[:, None] > inside).mean()
    assert ood_auroc(inside, outside) == pytest.approx(expected)


@pytest.mark.parametrize("n_bins", [0, 2.5, "auto"])
def test_calibration_error_rejects_invalid_n_bins(n_bins):
    with pytest.raises(ValueError, match="n_bins must be an integer of at least 1"):
        expected_calibration_error([0, 1], [[0.8, 0.2], [0.3, 0.7]], n_bins=n_bins)


def test_labels_can_be_a_column():
    proba = np.array([[0.2, 0.8], [0.7, 0.3]])
    column = brier_score([["b"], ["a"]], proba, labels=[["a"], ["b"]])
    assert column == brier_score(["b", "a"], proba, labels=["a", "b"])
