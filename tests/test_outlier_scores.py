"""Outlier scores of classifiers against loops, SciPy and scikit-learn."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import entropy
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from sk_deltauq import DeltaUQClassifier, baselines, load
from sk_deltauq._outlier_scores import KINDS, find_surprise
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}


@pytest.fixture(scope="module")
def model(classification_data):
    return DeltaUQClassifier(**SMALL).fit(*classification_data)


@pytest.fixture(scope="module")
def X(classification_data):
    return classification_data[0]


@pytest.fixture(scope="module")
def outliers(X):
    return X + 5 * X.std(axis=0) * np.random.default_rng(0).choice([-1, 1], size=X.shape)


def test_the_surprise_is_the_log_of_the_p_value():
    rng = np.random.default_rng(0)
    held, scores = np.sort(rng.normal(size=80)), rng.normal(size=20)
    scores = scores[scores <= held[-1]]
    expected = [-np.log((1 + (held >= s).sum()) / 81) for s in scores]
    np.testing.assert_allclose(find_surprise(held, scores), expected)


def test_the_surprise_has_no_ties_beyond_the_largest_held_out_score():
    held = np.linspace(0, 1, 50)
    found = find_surprise(held, np.array([0.5, 1.0, 1.01, 2.0, 100.0, 1e6]))
    assert (np.diff(found) > 0).all()
    assert np.isfinite(find_surprise(np.zeros(5), np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_of_a_row_does_not_depend_on_other_rows(model, X, outliers, kind):
    rows = np.concatenate([X, outliers])
    found = model.outlier_score(rows, kind=kind)
    assert found.shape == (len(rows),)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        model.outlier_score(rows[70:75], kind=kind), found[70:75], rtol=1e-5
    )
    assert np.isfinite(model.outlier_score(1e9 * X, kind=kind)).all()


@pytest.mark.parametrize("kind", ["combined", "distance"])
def test_outliers_have_higher_scores(model, X, outliers, kind):
    new = X + 0.1 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)
    scores = model.outlier_score(np.concatenate([new, outliers]), kind=kind)
    assert roc_auc_score(np.repeat([0, 1], [len(new), len(outliers)]), scores) > 0.95


def test_the_default_kind_is_combined(model, X):
    np.testing.assert_array_equal(model.outlier_score(X), model.outlier_score(X, kind="combined"))


def test_scores_that_follow_from_the_logits(model, outliers):
    x = scale_to_tensor(outliers, model.x_scaler_)
    with torch.inference_mode():
        logits = model._predictor().module(x)[0].double().numpy()  # (component, row, class)
    parts = model.predict_uncertainty(outliers)
    expected = {
        "energy": -logsumexp(logits, axis=2).mean(axis=0),
        "logit_std": logits.std(axis=0, ddof=1).mean(axis=1),
        "entropy": entropy(model.predict_proba(outliers), axis=1),
        "mutual_information": parts.mutual_information,
    }
    for kind, scores in expected.items():
        np.testing.assert_allclose(model.outlier_score(outliers, kind=kind), scores, rtol=1e-4)


def test_the_distance_is_measured_between_squashed_rows(model, X, outliers):
    def squash(rows):
        z = scale_to_tensor(rows, model.x_scaler_).numpy()
        return z / np.sqrt(1 + (z / 3) ** 2)

    neighbours = NearestNeighbors(n_neighbors=5).fit(squash(X))
    expected = neighbours.kneighbors(squash(outliers))[0].mean(axis=1)
    np.testing.assert_allclose(model.outlier_score(outliers, kind="distance"), expected, rtol=1e-4)


def test_the_combined_score_uses_each_held_out_row_once(model, X, outliers):
    held = model._calibration_.held_scores
    assert len(held.distances) == len(held.entropies) == 55  # five folds of eleven rows
    x = scale_to_tensor(outliers, model.x_scaler_)
    with torch.inference_mode():
        logits = model._predictor().module(x)[0].double()
    plain = entropy(logits.softmax(2).mean(0).numpy(), axis=1)
    distances = model.outlier_score(outliers, kind="distance")
    expected = find_surprise(held.entropies, plain) + find_surprise(held.distances, distances)
    np.testing.assert_allclose(model.outlier_score(outliers), expected, rtol=1e-3)


def test_the_combined_score_needs_held_out_rows_and_the_distance_does_not(classification_data):
    X, y = classification_data
    model = DeltaUQClassifier(**SMALL, early_stopping=False).fit(X, y)
    with pytest.raises(ValueError, match="rows that were held out of training"):
        model.outlier_score(X)
    assert np.isfinite(model.outlier_score(X, kind="distance")).all()
    model = DeltaUQClassifier(**SMALL).fit(X, y).partial_fit(X, y)
    assert np.isfinite(model.outlier_score(X)).all()


def test_training_labels_are_kept_without_held_out_rows_and_in_files(
    classification_data, tmp_path
):
    X, y = classification_data
    model = DeltaUQClassifier(**SMALL, early_stopping=False).fit(X, y).partial_fit(X, y)
    found = model.outlier_score(X, kind="reverse_anchoring")
    assert np.isfinite(found).all()
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    np.testing.assert_array_equal(model.outlier_score(X, kind="reverse_anchoring"), found)
    del vars(model._calibration_)["labelled"]  # as in files that are older than this score
    model.save(tmp_path / "old")
    with pytest.raises(ValueError, match=r"stored by a version .* Fit the model again"):
        load(tmp_path / "old").outlier_score(X, kind="reverse_anchoring")


def test_an_unknown_kind_and_an_unfitted_model_are_rejected(model, X):
    with pytest.raises(ValueError, match="kind must be one of 'combined', 'distance'"):
        model.outlier_score(X, kind="isolation")
    with pytest.raises(NotFittedError):
        DeltaUQClassifier().outlier_score(X)


@pytest.mark.parametrize(
    "name", [name for name in baselines.__all__ if name.endswith("Classifier")]
)
def test_every_classifier_has_the_scores(name, classification_data):
    X, y = classification_data
    cls = getattr(baselines, name)
    model = cls(hidden_layer_sizes=(8,), max_iter=5, random_state=0).fit(X, y)
    for kind in KINDS[:-1]:
        assert np.isfinite(model.outlier_score(X, kind=kind)).all()
    with pytest.raises(ValueError, match=r"single rows: .* with anchors='random'"):
        model.outlier_score(X, kind="reverse_anchoring")
