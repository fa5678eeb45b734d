"""Conformal intervals: the bounds by brute force, the guarantee, and the estimators."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._conformal import ConformityScores, count_rows_needed
from sk_deltauq.baselines import DeepEnsembleRegressor, PBPRegressor

PARAMS = {"hidden_layer_sizes": (8,), "max_iter": 10, "n_anchors": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    return X, 3 * X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=120) + 40


def compute_bounds_by_sorting(folds, means, stds, coverage):
    """Compute CV+ by its definition; a row of weight w counts as w held-out rows."""
    values = [
        (means[k] - score * stds[k], means[k] + score * stds[k])
        for k, (_, scores, weights) in enumerate(folds)
        for score, weight in zip(scores[:, 0], weights, strict=True)
        for _ in range(int(weight))
    ]
    lower, upper = np.sort(np.array(values), axis=0).T
    rank = int(np.ceil(round(coverage * (len(values) + 1), 9)))
    return lower[len(values) - rank], upper[rank - 1]


@pytest.mark.parametrize("n_folds", [1, 2, 5])
@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.8, 0.9, 0.95])
def test_bounds_are_the_order_statistics_of_cv_plus(rng, n_folds, coverage):
    folds = [(None, rng.exponential(size=(7 + 8 * k + 20, 1)), None) for k in range(n_folds)]
    folds = [(c, scores, np.ones(len(scores))) for c, scores, _ in folds]
    means, stds = rng.normal(size=(30, n_folds, 1)), rng.uniform(0.1, 2, (30, n_folds, 1))
    bounds = ConformityScores.collect(folds).bound(means, stds, coverage)
    for row in range(30):
        expected = compute_bounds_by_sorting(folds, means[row, :, 0], stds[row, :, 0], coverage)
        centre = means[row].mean()
        expected = min(expected[0], centre), max(expected[1], centre)
        np.testing.assert_allclose(bounds[row, 0], expected, rtol=1e-9, atol=1e-9)


def test_equal_weights_change_nothing_and_weight_zero_removes_a_row(rng):
    scores = rng.exponential(size=(40, 1))
    means, stds = np.zeros((1, 1, 1)), np.ones((1, 1, 1))

    def bound(weights):
        return ConformityScores.collect([(None, scores, weights)]).bound(means, stds, 0.8)

    np.testing.assert_array_equal(bound(np.ones(40)), bound(np.full(40, 7.0)))
    without = ConformityScores.collect([(None, scores[10:], np.ones(30))])
    np.testing.assert_array_equal(
        bound(np.repeat([0.0, 1.0], [10, 30])), without.bound(means, stds, 0.8)
    )


def test_rank_is_found_by_the_sum_of_weights(rng):
    """The weight of the new row is the mean weight."""
    scores, weights = rng.exponential(size=50), rng.integers(1, 5, size=50).astype(float)
    found = ConformityScores.collect([(None, scores[:, None], weights)])
    upper = found.bound(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), 0.8)[0, 0, 1]
    needed = 0.8 * (weights.sum() + weights.mean())
    reached = [v for v in np.sort(scores) if weights[scores <= v].sum() >= needed]
    assert upper == reached[0]


@pytest.mark.parametrize(("n", "coverage"), [(5, 0.5), (5, 0.8), (6, 0.8)])
def test_coverage_of_exchangeable_scores_is_exact(n, coverage):
    """All orders of n + 1 distinct scores are equally likely, and the last one is new."""
    covered = []
    for order in permutations(np.arange(1.0, n + 2)):
        *held_out, new = order
        scores = ConformityScores.collect([(None, np.array(held_out)[:, None], np.ones(n))])
        lower, upper = scores.bound(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), coverage)[0, 0]
        covered.append(lower <= new <= upper)
    assert np.mean(covered) == pytest.approx(np.ceil(coverage * (n + 1) - 1e-9) / (n + 1))


@pytest.mark.parametrize(
    ("coverage", "n"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99), (0.1, 1)]
)
def test_smallest_number_of_rows(coverage, n):
    assert count_rows_needed(coverage) == n


@pytest.mark.parametrize("n_members", [1, 3])
def test_validation_rows_of_the_user_give_split_conformal_intervals(data, n_members):
    """Scores come from the mean and std of the whole model: no network trained on these rows."""
    X, y = data
    model = DeltaUQRegressor(n_members=n_members, **PARAMS)
    model.fit(X[:80], y[:80], X_val=X[80:], y_val=y[80:])
    mean, std = model.predict(X, return_std=True)
    score = np.sort(np.abs(y - mean)[80:] / std[80:])[int(np.ceil(0.9 * 41)) - 1]
    expected = mean[:, None] + score * std[:, None] * [-1, 1]
    found = model.predict_interval(X, method="conformal")
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("n_members", [1, 4])
def test_each_held_out_row_has_one_score_by_networks_that_did_not_train_on_it(data, n_members):
    X, y = data
    model = DeltaUQRegressor(n_members=n_members, **PARAMS).fit(X, y)
    folds = model._conformity_.folds
    assert len(folds) > 1
    used = np.concatenate([fold.components for fold in folds])
    np.testing.assert_array_equal(np.sort(used), np.arange(model.n_components_))
    assert model._conformity_.n_rows <= len(X)


def test_final_training_on_all_rows_leaves_no_conformity_scores(data):
    X, y = data
    model = DeltaUQRegressor(noise=None, **PARAMS).fit(X, y)
    with pytest.raises(ValueError, match="noise=None, which trains on all rows"):
        model.predict_interval(X, method="conformal")


@pytest.mark.parametrize("make", [DeltaUQRegressor, DeepEnsembleRegressor])
def test_a_std_of_zero_gives_finite_intervals(data, make):
    X, y = data
    model = make(noise=None, max_iter=5, random_state=0).fit(X[:60], y[:60])
    interval = model.conformalize(X[60:], y[60:]).predict_interval(X, method="conformal")
    assert np.isfinite(interval).all()
    assert np.mean((interval[60:, 0] <= y[60:]) & (y[60:] <= interval[60:, 1])) >= 0.9


@pytest.mark.parametrize(
    "model",
    [
        DeltaUQRegressor(n_members=3, **PARAMS),
        DeepEnsembleRegressor(n_members=3, max_iter=10, random_state=0),
        PBPRegressor(max_iter=3, random_state=0),
    ],
)
def test_intervals_after_cloning_pickling_and_a_warm_start(model, data):
    X, y = data
    model = clone(model).fit(X, y)
    interval = model.predict_interval(X, 0.8, method="conformal")
    assert interval.shape == (len(X), 2)
    assert np.isfinite(interval).all()
    assert (interval[:, 0] < interval[:, 1]).all()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_interval(X, 0.8, method="conformal"), interval)
    alone = model.predict_interval(X[3:4], 0.8, method="conformal")
    np.testing.assert_allclose(alone, interval[3:4], rtol=1e-6)
    again = copy.set_params(warm_start=True).fit(X, y)
    assert np.isfinite(again.predict_interval(X, 0.8, method="conformal")).all()


def test_each_output_has_its_own_interval(data):
    X, y = data
    model = DeltaUQRegressor(n_members=2, **PARAMS).fit(X, np.column_stack([y, X[:, 1]]))
    assert model.predict_interval(X, 0.8, method="conformal").shape == (len(X), 2, 2)


def test_conformalize_gives_split_conformal_intervals_of_the_whole_model(data):
    X, y = data
    model = DeltaUQRegressor(n_members=3, early_stopping=False, **PARAMS).fit(X[:60], y[:60])
    before = model.predict(X, return_std=True)
    with pytest.raises(ValueError, match=r"needs rows that were held out.*conformalize"):
        model.predict_interval(X, method="conformal")
    with pytest.raises(ValueError, match="y must have 1 outputs"):
        model.conformalize(X, np.column_stack([y, y]))
    assert model._conformity_ is None
    assert model.conformalize(X[60:], y[60:]) is model
    np.testing.assert_array_equal(model.predict(X, return_std=True), before)
    mean, std = before
    score = np.sort(np.abs(y - mean)[60:] / std[60:])[int(np.ceil(0.9 * 61)) - 1]
    expected = mean[:, None] + score * std[:, None] * [-1, 1]
    found = model.predict_interval(X, method="conformal")
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert model.partial_fit(X, y)._conformity_ is None


def test_errors_say_what_to_do(data):
    X, y = data
    model = DeltaUQRegressor(**PARAMS).fit(X, y)
    with pytest.raises(ValueError, match=r"needs at least 999 held-out rows, and this model has"):
        model.predict_interval(X, 0.999, method="conformal")
    with pytest.raises(ValueError, match="'distribution' or 'conformal', got 'split'"):
        model.predict_interval(X, method="split")
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        model.predict_interval(X, 1.0, method="conformal")


def test_intervals_are_nested(data):
    """The order statistics of a low coverage may cross; the interval must not."""
    X, y = data
    model = DeltaUQRegressor(max_iter=5, random_state=0).fit(X[:60], y[:60])
    assert len(model._conformity_.folds) > 1
    levels = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
    found = np.stack([model.predict_interval(X, c, method="conformal") for c in levels])
    assert (np.diff(found[..., 0], axis=0) <= 1e-9).all()
    assert (np.diff(found[..., 1], axis=0) >= -1e-9).all()
    assert (found[..., 0] <= found[..., 1]).all()
