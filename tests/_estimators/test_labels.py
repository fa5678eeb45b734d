"""Labels of any type, and balanced classes."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from tests._helpers import (
    N,
    assert_close_predictions,
    assert_same_predictions,
    classifier,
    predict_all,
    table,
)


def make_labels():
    return table()[:, 0] > 0


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (make_labels().astype(object), np.bool_),
        (make_labels().astype(int).astype(object), np.int64),
        (np.array([np.int8(v) for v in make_labels()], dtype=object), np.int8),
        (make_labels().astype(float).astype(object), np.float64),
        (np.where(make_labels(), "a", "b").astype(object), np.object_),
    ],
    ids=["bools", "ints", "NumPy's ints", "whole floats", "text"],
)
def test_objects_are_labels_like_plain_values(labels, dtype):
    X, plain = table(), np.array(labels.tolist())
    assert labels.dtype == object
    model, reference = (classifier().fit(X, y, X_val=X[:9], y_val=y[:9]) for y in (labels, plain))
    assert model.classes_.dtype == dtype
    assert model.classes_.tolist() == reference.classes_.tolist()
    assert_same_predictions(predict_all(model, X), predict_all(reference, X))
    assert model.score(X, labels) == reference.score(X, plain)
    partial = classifier().partial_fit(X, labels, classes=np.unique(labels))
    assert partial.classes_.dtype == dtype


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "a"], "y mixes text and other labels, such as 'a' and 1"),
        ([Decimal(1), Decimal(2)], r"y must hold text, ints or bools, got .* Decimal.*Convert"),
        ([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], "y must hold .* of type date"),
        ([2**63 + 1, -1], "y must hold text, ints or bools, got the label 9223372036854775809"),
        ([0.5, 1.5], "Unknown label type: continuous"),
    ],
    ids=["mixed", "decimals", "dates", "huge ints", "fractions"],
)
def test_other_objects_are_refused(labels, message):
    y = np.empty(N, dtype=object)
    y[:] = labels * (N // 2)
    with pytest.raises(ValueError, match=message):
        classifier().fit(table(), y)


def test_balanced_classes_count_weights():
    X, y = table(), np.where(make_labels(), "a", "b")
    X[:, 1] += np.arange(N)  # no copies yet
    weights = np.where(y == "a", 4, 1) + np.arange(N) % 2
    times = np.repeat(np.arange(N), weights)
    # The rows in their order, then their copies: merged, they are the same rows.
    order = np.r_[np.arange(N), times[np.r_[False, times[1:] == times[:-1]]]]
    weighted = classifier(class_weight="balanced").fit(X, y, sample_weight=weights)
    repeated = classifier(class_weight="balanced").fit(X[order], y[order])
    assert_close_predictions(predict_all(weighted, X), predict_all(repeated, X))
    sums = {label: weights[y == label].sum() for label in "ab"}
    by_hand = {label: weights.sum() / (2 * total) for label, total in sums.items()}
    expected = classifier(class_weight=by_hand).fit(X, y, sample_weight=weights)
    assert_close_predictions(predict_all(weighted, X), predict_all(expected, X))


def test_balanced_class_weights_equal_scikit_learn():
    X, y = table(), np.arange(N) % 5 == 0
    by_hand = {True: N / (2 * y.sum()), False: N / (2 * (~y).sum())}
    balanced, expected = (
        classifier(class_weight=each).fit(X, y) for each in ("balanced", by_hand)
    )
    assert_same_predictions(predict_all(balanced, X), predict_all(expected, X))
