"""`DeltaUQClassifier`: class weights, training, and continued training."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from tests._deltauq_data import compute_logits_by_loop, make_separate_classes
from tests._helpers import (
    LEARN,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
)

# Class weights


def test_class_weight_equals_the_sample_weight_of_its_rows(classification_data):
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


def test_class_of_weight_zero_stays_a_class_without_training_rows(classification_data):
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
def test_invalid_class_weights_are_rejected(classification_data, weight):
    X, y = classification_data
    model = classifier(class_weight={"ash": weight, "beech": 1, "cedar": 1})
    with pytest.raises(ValueError, match=r"class_weight|sample_weight|convert"):
        model.fit(X, y)
    assert not hasattr(model, "net_")


def test_class_weight_for_unknown_labels_is_rejected(classification_data):
    X, y = classification_data
    with pytest.raises(ValueError, match="class_weight must name classes of y"):
        classifier(class_weight={"oak": 1}).fit(X, y)


def test_class_weight_may_name_a_class_that_is_missing_from_a_batch(classification_data):
    X, y = classification_data
    labels = np.unique(y)
    model = classifier(class_weight={labels[2]: 5.0}).partial_fit(X, y, classes=labels)
    model.partial_fit(X[y != labels[2]], y[y != labels[2]])
    assert_finite(predict_all(model, X))


@pytest.mark.parametrize("factor", [1e300, 1e-60])
def test_only_ratios_of_class_weights_matter(classification_data, factor):
    X, y = classification_data
    weights = {label: 1.0 + i for i, label in enumerate(np.unique(y))}
    huge = {label: factor * weight for label, weight in weights.items()}
    one, other = (classifier(class_weight=w).fit(X, y) for w in (weights, huge))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


# Training and continued training


def test_convergence_warning_names_the_class(classification_data):
    with pytest.warns(ConvergenceWarning, match="DeltaUQClassifier reached max_iter=3") as caught:
        classifier().fit(*classification_data)
    assert caught[0].filename == __file__


def test_best_weights_on_held_out_rows_are_restored(classification_data):
    X, _ = classification_data
    y = np.random.default_rng(0).integers(2, size=60)  # nothing to learn, so it soon overfits
    params = {**LEARN, "early_stopping": True, "tol": 0, "n_iter_no_change": 80}
    y, held_out = y[:45], {"X_val": X[45:], "y_val": y[45:]}  # one network
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
    log_proba = log_softmax(compute_logits_by_loop(model, X_val), axis=2)
    log_proba = np.log(np.exp(log_proba).mean(axis=0))
    likelihood = log_proba[np.arange(30), np.searchsorted(model.classes_, y_val)]
    assert model.best_validation_score_ == pytest.approx(likelihood.mean(), rel=1e-5)


def test_partial_fit_learns_classes_that_are_missing_from_the_first_batch():
    X, y = make_separate_classes(4, n=240)
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


def test_partial_fit_rejects_classes_other_than_in_the_first_call(classification_data):
    X, y = classification_data
    model = classifier().partial_fit(X, y, classes=["ash", "beech", "cedar"])
    model.partial_fit(X, y, classes=["cedar", "beech", "ash"])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=["ash", "beech", "cedar", "larch"])


def test_partial_fit_rejects_balanced_class_weights(classification_data):
    X, y = classification_data
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        classifier(class_weight="balanced").partial_fit(X, y)


def test_warm_start_continues_training_and_keeps_the_classes(classification_data):
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
