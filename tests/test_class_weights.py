"""`class_weight`: weights of rows, unknown labels, and batches without some classes."""

import numpy as np
import pytest

from tests._helpers import (
    LEARN,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
)


def test_a_class_weight_is_the_sample_weight_of_its_rows(classification_data):
    X, y = classification_data
    weights = {"ash": 1.0, "beech": 2.0, "cedar": 0.25}
    by_class = classifier(class_weight=weights).fit(X, y)
    by_row = classifier().fit(X, y, sample_weight=np.array([weights[label] for label in y]))
    assert_same_predictions(predict_all(by_class, X), predict_all(by_row, X))
    row_weights = np.linspace(1, 2, 60)
    both = classifier(class_weight=weights).fit(X, y, sample_weight=row_weights)
    product = row_weights * [weights[label] for label in y]
    found = classifier().fit(X, y, sample_weight=product)
    np.testing.assert_allclose(both.predict_proba(X), found.predict_proba(X), rtol=1e-4)


def test_balanced_class_weights_are_inverse_to_the_frequencies(classification_data):
    X, y = classification_data
    X, y = X[np.r_[0:40]], y[:40]
    labels, counts = np.unique(y, return_counts=True)
    assert len(set(counts)) > 1
    balanced = classifier(class_weight="balanced").fit(X, y)
    weights = dict(zip(labels, 40 / (3 * counts), strict=True))
    assert_same_predictions(
        predict_all(balanced, X), predict_all(classifier(class_weight=weights).fit(X, y), X)
    )


def test_a_class_of_weight_zero_is_kept_but_not_learnt(classification_data):
    X, y = classification_data
    weights = {"ash": 1, "beech": 1, "cedar": 0}
    model = classifier(class_weight=weights, calibration=None, **LEARN).fit(X, y)
    assert model.classes_.tolist() == ["ash", "beech", "cedar"]
    assert model.predict_proba(X)[:, 2].max() < 0.1
    cedars = {tuple(row) for row in X[y == "cedar"]}
    assert not cedars & {tuple(row) for row in model.anchors_}
    with pytest.raises(ValueError, match="leaves no row with a positive weight"):
        classifier(class_weight=dict.fromkeys(["ash", "beech", "cedar"], 0)).fit(X, y)


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, "heavy"])
def test_impossible_class_weights_are_refused(classification_data, weight):
    X, y = classification_data
    model = classifier(class_weight={"ash": weight, "beech": 1, "cedar": 1})
    with pytest.raises(ValueError, match=r"class_weight|sample_weight|convert"):
        model.fit(X, y)
    assert not hasattr(model, "net_")


def test_a_class_weight_for_unknown_labels_is_rejected(classification_data):
    X, y = classification_data
    with pytest.raises(ValueError, match="class_weight must name classes of y"):
        classifier(class_weight={"oak": 1}).fit(X, y)


def test_a_class_weight_may_name_a_class_that_is_missing_from_a_chunk(classification_data):
    X, y = classification_data
    labels = np.unique(y)
    model = classifier(class_weight={labels[2]: 5.0}).partial_fit(X, y, classes=labels)
    model.partial_fit(X[y != labels[2]], y[y != labels[2]])
    assert_finite(predict_all(model, X))


@pytest.mark.parametrize("factor", [1e300, 1e-60])
def test_only_ratios_of_class_weights_count(classification_data, factor):
    X, y = classification_data
    weights = {label: 1.0 + i for i, label in enumerate(np.unique(y))}
    huge = {label: factor * weight for label, weight in weights.items()}
    one, other = (classifier(class_weight=w).fit(X, y) for w in (weights, huge))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)
