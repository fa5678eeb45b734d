"""Labels and predictions of `DeltaUQClassifier`."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import log_loss, roc_auc_score

from tests._deltauq_data import TEMPER, compute_logits_by_loop, make_separate_classes
from tests._helpers import (
    LEARN,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
)


@pytest.fixture(scope="module", params=[{}, {"n_members": 3}, TEMPER], ids=str)
def fitted(request, classification_data):
    return classifier(max_iter=20, **request.param).fit(*classification_data)


@pytest.fixture(scope="module")
def X(classification_data):
    return classification_data[0]


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        [-1, 1],
        [10, -20, 30],
        [1.0, 2.0],
        np.array([3, 5], dtype=np.uint8),
        ["no", "yes"],
        np.array(["gone", "a", "of the longer kind"], dtype=object),
        [7, 3, 5, 1, 9, 0],
    ],
    ids=str,
)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_predicted_labels_have_the_type_of_the_training_labels(labels, early_stopping):
    labels = np.asarray(labels)
    X, index = make_separate_classes(len(labels))
    y = labels[index]
    learn = {**LEARN, "max_iter": 30}
    model = classifier(**learn, early_stopping=early_stopping).fit(X, y)
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    assert np.mean(predicted == y) > 0.9
    assert model.classes_.tolist() == sorted(labels.tolist())
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), len(labels))
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], predicted)


@pytest.mark.parametrize("make", [pd.Categorical, pd.Series, list, tuple])
def test_labels_may_be_in_any_container(classification_data, make):
    X, y = classification_data
    reference = classifier().fit(X, y)
    assert_same_predictions(
        predict_all(classifier().fit(X, make(y)), X), predict_all(reference, X)
    )


def test_unused_categories_are_not_classes(classification_data):
    X, y = classification_data
    categories = ["larch", *np.unique(y)]
    model = classifier().fit(X, pd.Series(pd.Categorical(y, categories=categories)))
    assert model.classes_.tolist() == ["ash", "beech", "cedar"]


def test_a_column_of_labels_is_flattened_with_scikit_learns_warning(classification_data):
    X, y = classification_data
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = classifier().fit(X, y[:, None])
    assert model.predict(X).shape == (60,)


def test_continuous_targets_are_rejected(X):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier().fit(X, X[:, 0])


# Predictions


def test_shapes_of_predictions(fitted, X):
    found = predict_all(fitted, X[:7])
    rows = {k: v.shape for k, v in found.items() if not k.endswith("_proba")}
    assert set(rows.values()) == {(7,)}
    assert set(rows) == {
        "predict",
        "std",
        *(
            f"predict_uncertainty.{part}"
            for part in ("epistemic", "aleatoric", "total", "mutual_information", "logit_std")
        ),
    }
    assert found["predict_proba"].shape == found["predict_log_proba"].shape == (7, 3)
    np.testing.assert_array_equal(fitted.predict(X[:7]), found["predict"])
    np.testing.assert_allclose(
        found["std"] ** 2, (1 - (found["predict_proba"] ** 2).sum(axis=1)) / 2, atol=1e-12
    )
    assert_finite(found)


@pytest.mark.filterwarnings("error")
def test_scores_of_scikit_learn_accept_the_probabilities(fitted, classification_data):
    X, y = classification_data
    proba = fitted.predict_proba(X)
    assert proba.dtype == np.float64
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), proba, rtol=1e-6)
    assert roc_auc_score(y, proba, multi_class="ovr") > 0.7
    assert log_loss(y, proba) < np.log(3)


def test_predictions_follow_from_the_logits_of_each_anchor(classification_data):
    X, y = classification_data
    model = classifier(max_iter=10, calibration=None).fit(X, y)
    logits = compute_logits_by_loop(model, X)
    assert logits.shape == (5, 60, 3)
    components = softmax(logits, axis=2)
    proba = components.mean(axis=0)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-5)
    np.testing.assert_allclose(parts.logit_std, logits.std(axis=0, ddof=1).mean(axis=1), rtol=1e-4)
    np.testing.assert_allclose(parts.total, entropy(proba, axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        parts.aleatoric, entropy(components, axis=2).mean(axis=0), rtol=1e-5
    )


def test_total_entropy_is_the_sum_of_its_parts(fitted, X):
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(parts.total, parts.aleatoric + parts.epistemic, atol=1e-12)
    assert (parts.mutual_information > 0).any()
    assert (parts.mutual_information >= 0).all()
    assert parts.total.max() <= np.log(3) + 1e-12


def test_distribution_agrees_with_the_other_methods(fitted, X):
    dist, parts = fitted.predict_dist(X), fitted.predict_uncertainty(X)
    np.testing.assert_allclose(dist.proba, fitted.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(dist.log_proba, fitted.predict_log_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(dist.entropy, parts.total, rtol=1e-9)


def test_without_calibration_the_parts_agree_with_the_distribution(classification_data):
    X, y = classification_data
    model = classifier(max_iter=20, calibration=None).fit(X, y)
    dist, parts = model.predict_dist(X), model.predict_uncertainty(X)
    np.testing.assert_allclose(dist.expected_entropy, parts.aleatoric, rtol=1e-9)
    np.testing.assert_allclose(dist.mutual_information, parts.mutual_information, atol=1e-9)
    np.testing.assert_allclose(parts.epistemic, parts.mutual_information, atol=1e-9)
    np.testing.assert_allclose(dist.epistemic, parts.logit_std, rtol=1e-9)


def test_epistemic_part_grows_out_of_distribution(classification_data):
    X, y = classification_data
    model = classifier(**LEARN).fit(X, y)
    near, far = (model.predict_uncertainty(rows) for rows in (X, 20 * X))
    assert np.median(far.epistemic) > 5 * np.median(near.epistemic)
    assert np.median(far.epistemic) > np.median(far.mutual_information)


def test_probabilities_become_confident_and_log_probabilities_stay_finite():
    X, y = make_separate_classes(2)
    model = classifier(**LEARN).fit(X, y)
    assert np.median(model.predict_proba(X).max(axis=1)) > 0.97
    module = model.net_.module_.core
    with torch.no_grad():
        module.rest[-1].weight *= 1e4
    log_proba = model.predict_log_proba(X)
    assert np.isfinite(log_proba).all()
    assert log_proba.min() < -1000
    assert model.predict_proba(X).min() == 0


# A single class, and rare classes


@pytest.mark.parametrize("label", [0, "only"])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_single_class_has_probability_one(X, label, early_stopping):
    model = classifier(early_stopping=early_stopping).fit(X, np.full(60, label))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))
    assert set(model.predict(X)) == {label}
    np.testing.assert_array_equal(model.predict_uncertainty(X).total, 0)


@pytest.mark.parametrize(("n_rare", "n_members"), [(1, 1), (2, 3)])
def test_every_member_trains_on_a_rare_class(n_rare, n_members):
    X, y = make_separate_classes(3, n=120)
    keep = np.r_[np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:n_rare]]
    X, y = X[keep], np.array(["a", "b", "rare"])[y[keep]]
    params = {**LEARN, "max_iter": 120, "batch_size": 16, "n_iter_no_change": 120}
    model = classifier(**params, early_stopping=True, n_members=n_members, tol=0).fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 3)
    assert (model.predict(X[y == "rare"]) == "rare").all()
