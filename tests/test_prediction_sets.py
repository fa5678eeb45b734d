"""Prediction sets against loops over held-out rows, and their coverage."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sk_deltauq import DeltaUQClassifier, baselines
from sk_deltauq._prediction_sets import METHODS, HeldOutLabels, draw_for_rows

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 25, "random_state": 0}


def simulate(rng, n, n_classes=4):
    """Draw probabilities, and labels with these probabilities."""
    proba = rng.dirichlet(np.full(n_classes, 0.4), size=n)
    labels = (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return proba, labels


def compute_score(proba, label, u, method, usual):
    if method == "lac":
        return 1 - proba[label]
    order = np.argsort(-proba, kind="stable")
    place = int(np.flatnonzero(order == label)[0])
    score = proba[order[:place]].sum() + u * proba[label]
    return score + (0.1 * max(place + 1 - usual, 0) if method == "raps" else 0)


@pytest.mark.parametrize("method", METHODS)
def test_sets_equal_a_loop_over_all_held_out_rows(method):
    rng = np.random.default_rng(0)
    parts = [simulate(rng, n) for n in (30, 25)]
    folds = [(np.array([k]), *part, np.ones(len(part[1]))) for k, part in enumerate(parts)]
    held = HeldOutLabels.collect(folds, np.random.default_rng(1))
    new = [simulate(rng, 12)[0] for _ in folds]  # by the networks of each fold
    draws = rng.random(12)
    found = held.predict(new, draws, 0.8, method)
    ranks = np.sort(
        [
            1 + (p > p[label]).sum()
            for proba, labels in parts
            for p, label in zip(proba, labels, strict=True)
        ]
    )
    usual = ranks[int(np.ceil(0.8 * 55)) - 1]
    for row in range(12):
        for label in range(4):
            count = 0
            for fold, (proba, labels), own in zip(held.folds, parts, new, strict=True):
                mine = compute_score(own[row], label, draws[row], method, usual)
                count += sum(
                    compute_score(p, held_label, u, method, usual) >= mine
                    for p, held_label, u in zip(proba, labels, fold.draws, strict=True)
                )
            assert found[row, label] == ((count + 1) / 56 > 0.2)


@pytest.mark.parametrize(("n", "coverage"), [(9, 0.9), (19, 0.9), (99, 0.9), (19, 0.95)])
def test_sets_of_one_fold_are_split_conformal_prediction_sets(n, coverage):
    """They hold the classes with scores up to the ceil((n + 1) * coverage)-th smallest score."""
    proba = np.linspace(0.9, 0.1, n)
    held_proba = np.column_stack([proba, 1 - proba])
    held = HeldOutLabels.collect(
        [(None, held_proba, np.zeros(n, int), np.ones(n))], np.random.default_rng(0)
    )
    held.check_coverage(coverage)
    rank = round((n + 1) * coverage)  # an integer in these cases
    limit = np.sort(1 - proba)[rank - 1]
    new = np.array([[1 - limit + s, limit - s] for s in (1e-6, -1e-6)])
    sets = held.predict([new], np.zeros(2), coverage, "lac")
    assert sets[:, 0].tolist() == [True, False]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_the_coverage_of_one_fold_is_nominal(method, coverage):
    rng = np.random.default_rng(0)
    proba, labels = simulate(rng, 4000)
    held = HeldOutLabels.collect([(None, proba, labels, np.ones(4000))], rng)
    new, truth = simulate(rng, 4000)
    sets = held.predict([new], rng.random(4000), coverage, method)
    assert sets[np.arange(4000), truth].mean() == pytest.approx(coverage, abs=0.035)


def test_rows_of_weight_zero_do_not_count_and_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(0)
    proba, labels = simulate(rng, 40)
    new, _ = simulate(rng, 20)
    weights = np.repeat([0.0, 1.0, 2.0], [10, 20, 10])
    held = HeldOutLabels.collect([(None, proba, labels, weights)], np.random.default_rng(1))
    assert held.n_rows == 30
    assert sum(fold.weights.sum() for fold in held.folds) == pytest.approx(30)
    found = held.predict([new], np.full(20, 0.5), 0.8, "lac")
    scores = 1 - proba[np.arange(40), labels]
    scaled = weights * 30 / 40
    expected = [[(1 + scaled[scores >= 1 - p].sum()) / 31 > 0.2 for p in row] for row in new]
    np.testing.assert_array_equal(found, expected)


def test_the_random_number_of_a_row_is_uniform_and_independent_of_other_rows():
    rows = np.random.default_rng(0).normal(size=(4000, 3)).astype(np.float32)
    found = draw_for_rows(rows)
    np.testing.assert_array_equal(draw_for_rows(rows[7:9]), found[7:9])
    np.testing.assert_allclose(np.quantile(found, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.03)
    zeros = np.zeros((1, 2), dtype=np.float32)
    assert draw_for_rows(zeros) == draw_for_rows(-zeros)


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(500, n_features=3, centers=5, cluster_std=4, random_state=0)
    return X[:200], np.array(list("abcde"))[y[:200]], X[200:], np.array(list("abcde"))[y[200:]]


@pytest.fixture(scope="module")
def model(data):
    return DeltaUQClassifier(**SMALL, n_members=5).fit(data[0], data[1])


@pytest.mark.parametrize("method", METHODS)
def test_sets_of_a_classifier_cover_new_rows(model, data, method):
    _, _, X, y = data
    sets = model.predict_set(X, method=method)
    assert sets.shape == (300, 5)
    assert sets.dtype == bool
    place = np.arange(300), np.searchsorted(model.classes_, y)
    assert 0.82 < sets[place].mean() < 0.98
    assert (sets <= model.predict_set(X, coverage=0.99, method=method)).all()
    np.testing.assert_array_equal(model.predict_set(X[40:60], method=method), sets[40:60])
    filled = model.predict_set(X, method=method, allow_empty=False)
    assert filled.any(axis=1).all()
    assert (filled >= sets).all()


def test_every_held_out_row_counts_once(model, data):
    held = model._calibration_.held_labels
    assert held.n_rows == 105  # five of ten folds, each of 21 rows with padding
    components = np.concatenate([fold.components for fold in held.folds])
    assert sorted(components) == list(range(model.n_components_))


def test_too_few_held_out_rows_are_an_error(model, data, classification_data):
    with pytest.raises(ValueError, match=r"needs at least 999 held-out rows, and .* has \d+"):
        model.predict_set(data[2], coverage=0.999)
    X, y = classification_data
    without = DeltaUQClassifier(**SMALL, early_stopping=False).fit(X, y)
    continued = DeltaUQClassifier(**SMALL).fit(X, y).partial_fit(X, y)
    for other in (without, continued):
        with pytest.raises(ValueError, match="held out of training"):
            other.predict_set(X)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, "0.9", None])
def test_invalid_coverage_is_an_error(model, data, coverage):
    with pytest.raises(ValueError, match="coverage must be one number strictly between 0 and 1"):
        model.predict_set(data[2], coverage=coverage)


def test_an_unknown_method_is_an_error(model, data):
    with pytest.raises(ValueError, match="method must be one of 'aps', 'raps', 'lac'"):
        model.predict_set(data[2], method="top")


def test_baselines_have_prediction_sets(data):
    X, y, new, truth = data
    model = baselines.DeepEnsembleClassifier(**SMALL).fit(X, y)
    sets = model.predict_set(new)
    place = np.arange(300), np.searchsorted(model.classes_, truth)
    assert 0.83 < sets[place].mean() < 0.97
