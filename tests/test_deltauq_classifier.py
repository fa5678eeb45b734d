"""Predictions and training of `DeltaUQClassifier`."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import log_softmax, softmax
from scipy.stats import entropy
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.metrics import log_loss, roc_auc_score

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._validation import scale_to_tensor
from tests._helpers import (
    LEARN,
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
)

TEMPER = {"calibration": "spread", "early_stopping": True}


def blobs(n_classes, n=80, seed=0):
    """Classes well apart, on a circle; labels 0 .. n_classes - 1."""
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centers = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return make_blobs(n, centers=centers, cluster_std=0.6, random_state=seed)


@pytest.fixture(scope="module", params=[{}, {"n_members": 3}, TEMPER], ids=str)
def fitted(request, classification_data):
    return classifier(max_iter=20, **request.param).fit(*classification_data)


@pytest.fixture(scope="module")
def X(classification_data):
    return classification_data[0]


def logits_by_a_loop(model, X):
    """Logits `(component, row, class)`: one anchor at a time, for each network."""
    x, anchors = (scale_to_tensor(rows, model.x_scaler_) for rows in (X, model.anchors_))
    x, n_networks = x.T.expand(model.n_networks_, -1, -1), model.n_networks_
    with torch.inference_mode():
        raw = [
            model.net_.module_(x, anchor[:, None].expand(n_networks, -1, len(X))).transpose(1, 2)
            for anchor in anchors
        ]
    return torch.cat(raw).double().numpy()


def mix(model, proba):
    """Mix probabilities with the class frequencies, as held-out rows ask for."""
    mixing = model._calibration_.mixing
    return (1 - mixing.weight) * proba + mixing.weight * mixing.frequencies


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
def test_predicted_labels_have_the_type_of_y(labels, early_stopping):
    labels = np.asarray(labels)
    X, index = blobs(len(labels))
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
def test_labels_may_come_in_a_container(classification_data, make):
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


def test_continuous_targets_are_no_labels(X):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier().fit(X, X[:, 0])


# Meaning of the predictions


def test_shapes(fitted, X):
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
def test_probabilities_are_fit_for_scikit_learns_scores(fitted, classification_data):
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
    logits = logits_by_a_loop(model, X)
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


def test_without_calibration_the_distribution_has_the_same_parts(classification_data):
    X, y = classification_data
    model = classifier(max_iter=20, calibration=None).fit(X, y)
    dist, parts = model.predict_dist(X), model.predict_uncertainty(X)
    np.testing.assert_allclose(dist.expected_entropy, parts.aleatoric, rtol=1e-9)
    np.testing.assert_allclose(dist.mutual_information, parts.mutual_information, atol=1e-9)
    np.testing.assert_allclose(parts.epistemic, parts.mutual_information, atol=1e-9)
    np.testing.assert_allclose(dist.epistemic, parts.logit_std, rtol=1e-9)


def test_far_from_the_training_rows_the_epistemic_part_grows(classification_data):
    X, y = classification_data
    model = classifier(**LEARN).fit(X, y)
    near, far = (model.predict_uncertainty(rows) for rows in (X, 20 * X))
    assert np.median(far.epistemic) > 5 * np.median(near.epistemic)
    assert np.median(far.epistemic) > np.median(far.mutual_information)


def test_probabilities_become_confident_and_their_logarithm_stays_finite():
    X, y = blobs(2)
    model = classifier(**LEARN).fit(X, y)
    assert np.median(model.predict_proba(X).max(axis=1)) > 0.97
    module = model.net_.module_.core
    with torch.no_grad():
        module.rest[-1].weight *= 1e4
    log_proba = model.predict_log_proba(X)
    assert np.isfinite(log_proba).all()
    assert log_proba.min() < -1000
    assert model.predict_proba(X).min() == 0


# One class, rare classes


@pytest.mark.parametrize("label", [0, "only"])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_one_class_is_certain(X, label, early_stopping):
    model = classifier(early_stopping=early_stopping).fit(X, np.full(60, label))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))
    assert set(model.predict(X)) == {label}
    np.testing.assert_array_equal(model.predict_uncertainty(X).total, 0)


@pytest.mark.parametrize(("n_rare", "n_members"), [(1, 1), (2, 3)])
def test_every_member_trains_on_a_rare_class(n_rare, n_members):
    X, y = blobs(3, n=120)
    keep = np.r_[np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:n_rare]]
    X, y = X[keep], np.array(["a", "b", "rare"])[y[keep]]
    params = {**LEARN, "max_iter": 120, "batch_size": 16, "n_iter_no_change": 120}
    model = classifier(**params, early_stopping=True, n_members=n_members, tol=0).fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 3)
    assert (model.predict(X[y == "rare"]) == "rare").all()


# Tempering


@pytest.fixture(scope="module")
def tempered(classification_data):
    return classifier(**TEMPER, max_iter=20).fit(*classification_data)


def test_tempering_shrinks_the_logits_by_the_uncertainty(tempered, X):
    logits = logits_by_a_loop(tempered, X)
    low, high = tempered.calibration_["logit_std_range"]
    std = logits.std(axis=0, ddof=1).mean(axis=1)
    shrink = 1 - np.clip((std - low) / (high - low), 0, 0.999)
    assert 0 <= shrink.min() < shrink.max() <= 1
    expected = softmax(logits * shrink[None, :, None], axis=2).mean(axis=0)
    np.testing.assert_allclose(tempered.predict_proba(X), mix(tempered, expected), rtol=1e-4)
    # Tempering does not change the reported uncertainty of the logits.
    np.testing.assert_allclose(tempered.predict_uncertainty(X).logit_std, std, rtol=1e-4)


def test_tempering_has_the_range_of_held_out_training_rows(tempered, classification_data):
    X, y = classification_data
    labels = np.searchsorted(tempered.classes_, y)
    _, held_out = assign_folds(numpy_rng(tempered.seed_, Stream.FOLDS, 0), 60, 10, 10, labels)
    assert held_out.shape == (10, 5)
    std = logits_by_a_loop(tempered, X[held_out.ravel()]).std(axis=0, ddof=1).mean(axis=1)
    np.testing.assert_allclose(
        tempered.calibration_["logit_std_range"], [std.min(), std.max()], rtol=1e-5
    )


def test_tempering_makes_rows_less_confident_the_more_uncertain_they_are(
    classification_data, tempered
):
    X, y = classification_data
    plain = classifier(calibration=None, early_stopping=True, max_iter=20).fit(X, y)
    far = np.vstack([X, 50 * X])
    lost = plain.predict_proba(far).max(axis=1) - tempered.predict_proba(far).max(axis=1)
    certain = (
        plain.predict_uncertainty(far).logit_std <= tempered.calibration_["logit_std_range"][0]
    )
    assert 0 < certain.sum() < 60
    np.testing.assert_allclose(lost[certain], 0, atol=1e-12)
    assert lost[~certain].min() > -1e-9
    assert lost[60:].mean() > 0.1
    assert_finite(predict_all(tempered, 1e30 * X))


@pytest.mark.parametrize("rows", [[0], [3, 1], slice(0, 60, 7)])
def test_a_tempered_row_does_not_depend_on_its_neighbours(tempered, X, rows):
    together, alone = predict_all(tempered, X), predict_all(tempered, X[rows])
    assert_close_predictions({k: v[rows] for k, v in together.items()}, alone)


def test_tempering_needs_held_out_rows(classification_data):
    X, y = classification_data
    for calibration in ("spread", "temperature"):
        model = classifier(calibration=calibration)
        message = f"calibration='{calibration}' takes its numbers from held-out rows"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        with pytest.raises(ValueError, match=f"{message}, and there are none in partial_fit"):
            model.partial_fit(X, y)
        assert not hasattr(model, "net_")


def test_a_fit_without_tempering_cannot_be_tempered_afterwards(classification_data):
    X, y = classification_data
    model = classifier(early_stopping=True, calibration=None).fit(X, y)
    before = predict_all(model, X)
    # Like any parameter it counts when fit is called.
    assert_same_predictions(predict_all(model.set_params(calibration="spread"), X), before)


@pytest.mark.parametrize(("temper", "calibration"), [(True, "spread"), (False, None)])
def test_the_deprecated_parameter_names_its_successor(classification_data, temper, calibration):
    X, y = classification_data
    with pytest.warns(FutureWarning, match=f"use calibration={calibration!r}"):
        old = classifier(early_stopping=True, temper=temper).fit(X, y)
    new = classifier(early_stopping=True, calibration=calibration).fit(X, y)
    assert_same_predictions(predict_all(old, X), predict_all(new, X))


# Training and continued training


def test_convergence_warning_names_the_class(classification_data):
    with pytest.warns(ConvergenceWarning, match="DeltaUQClassifier reached max_iter=3") as caught:
        classifier().fit(*classification_data)
    assert caught[0].filename == __file__


def test_the_weights_that_were_best_on_the_held_out_rows_are_kept(X):
    y = np.random.default_rng(0).integers(2, size=60)  # nothing to learn, so it soon overfits
    params = {**LEARN, "early_stopping": True, "tol": 0, "n_iter_no_change": 80}
    y, held_out = y[:45], {"X_val": X[45:], "y_val": y[45:]}  # for one network
    model = classifier(**params).fit(X[:45], y, **held_out)
    best = int(model.validation_scores_.argmax())
    assert best < model.n_iter_ - 1
    assert model.best_validation_score_ == model.validation_scores_[best]
    until_best = classifier(**{**params, "max_iter": best + 1}).fit(X[:45], y, **held_out)
    np.testing.assert_array_equal(model.predict_proba(X), until_best.predict_proba(X))


def test_validation_score_is_the_log_likelihood_of_the_mean_over_anchors(classification_data):
    X, y = classification_data
    X_val, y_val = X[30:], y[30:]
    model = classifier(max_iter=4).fit(X[:30], y[:30], X_val=X_val, y_val=y_val)
    log_proba = log_softmax(logits_by_a_loop(model, X_val), axis=2)
    log_proba = np.log(np.exp(log_proba).mean(axis=0))
    likelihood = log_proba[np.arange(30), np.searchsorted(model.classes_, y_val)]
    assert model.best_validation_score_ == pytest.approx(likelihood.mean(), rel=1e-5)


def test_partial_fit_learns_from_a_stream_that_lacks_classes_at_first():
    X, y = blobs(4, n=240)
    first = np.flatnonzero(y < 2)[:30]
    y = np.array(list("pqrs"))[y]
    model = classifier(learning_rate_init=0.03, batch_size=12)
    model.partial_fit(X[first], y[first], classes=["s", "q", "p", "r"])
    assert model.classes_.tolist() == list("pqrs")
    for _ in range(4):
        for rows in np.split(np.arange(240), 8):
            model.partial_fit(X[rows], y[rows])
    assert model.n_iter_ == 33
    assert model.score(X, y) > 0.9


def test_partial_fit_rejects_labels_that_are_not_in_classes(classification_data):
    X, y = classification_data
    model = classifier().partial_fit(X[y != "cedar"], y[y != "cedar"])
    before = predict_all(model, X)
    with pytest.raises(ValueError, match=r"labels \['cedar'\] that are not among the classes"):
        model.partial_fit(X, y)
    assert_same_predictions(predict_all(model, X), before)
    with pytest.raises(ValueError, match=r"labels \['cedar'\] that are not among the classes"):
        classifier().partial_fit(X, y, classes=["ash", "beech"])


def test_partial_fit_refuses_other_classes_than_in_the_first_call(classification_data):
    X, y = classification_data
    model = classifier().partial_fit(X, y, classes=["ash", "beech", "cedar"])
    model.partial_fit(X, y, classes=["cedar", "beech", "ash"])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=["ash", "beech", "cedar", "larch"])


def test_partial_fit_cannot_balance_classes(classification_data):
    X, y = classification_data
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        classifier(class_weight="balanced").partial_fit(X, y)


def test_warm_start_continues_and_keeps_the_classes(classification_data):
    X, y = classification_data
    model = classifier(**LEARN, warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(learning_rate_init=1e-12, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-6)
    with pytest.raises(ValueError, match=r"labels \['oak'\]"):
        model.fit(X, np.where(y == "ash", "oak", y))
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-6)
    model.fit(X[y != "ash"], y[y != "ash"])
    assert model.predict_proba(X).shape == (60, 3)
