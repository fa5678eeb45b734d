"""Copies among the training rows: equal rows become weights, near copies cause a warning."""

import inspect
import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import StandardScaler

import sk_deltauq
from benchmarks_uci.datasets import EMBEDDED, load
from sk_deltauq import baselines
from sk_deltauq._duplicates import count_common_rows, merge_copies, warn_about_near_copies
from sk_deltauq.exceptions import UncertaintyWarning
from tests._helpers import ONE_PER_KIND, assert_same_predictions, mark_long, predict_all

ESTIMATORS = [
    *(getattr(baselines, name) for name in baselines.__all__),
    *(sk_deltauq.DeltaUQRegressor, sk_deltauq.DeltaUQClassifier),
]
estimators = pytest.mark.parametrize(
    "cls", mark_long(ESTIMATORS, ONE_PER_KIND), ids=lambda cls: cls.__name__
)
TINY = {
    "hidden_layer_sizes": (8,),
    "max_iter": 3,
    "n_anchors": 4,
    "n_masks": 4,
    "n_draws": 4,
    "random_state": 0,
}


def make_estimator(cls, **params):
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in {**TINY, **params}.items() if name in known})


# Equal rows


def merge_by_loop(X, Y, weights, groups=None):
    """Group the rows in dictionaries, in the order of their first copies."""
    groups = np.zeros(len(X), dtype=int) if groups is None else groups
    targets, summed = defaultdict(set), {}
    for row, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
        targets[tuple(x)].add(tuple(y))
        summed.setdefault((tuple(x), tuple(y), groups[row]), [row, 0.0])[1] += weights[row]
    n_exceptions = sum(len(found) - 1 for found in targets.values())
    if len(targets) == len(X) or n_exceptions > 0.01 * len(targets):
        return None, weights
    return [row for row, _ in summed.values()], [weight for _, weight in summed.values()]


def assert_merged(*args):
    (kept, weights), (expected, summed) = merge_copies(*args), merge_by_loop(*args)
    assert (kept is None) == (expected is None)
    if kept is not None:
        assert kept.tolist() == expected
    np.testing.assert_allclose(weights, summed, rtol=1e-12)
    return kept, weights


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("n_distinct", [1, 2, 30, 150])
def test_merged_copies_agree_with_a_loop_over_rows(rng, n_distinct, n_targets, grouped):
    for n_copies in (n_distinct, 2 * n_distinct, 5 * n_distinct):
        rows = rng.integers(n_distinct, size=n_copies + 3)
        X, Y = rng.normal(size=(n_distinct, 3))[rows], rng.normal(size=(n_distinct, n_targets))
        weights = rng.uniform(0.1, 3, size=len(rows))
        groups = rng.integers(2, size=len(rows)) if grouped else None
        kept, summed = assert_merged(X, Y[rows], weights, groups)
        assert kept is not None
        assert sum(summed) == pytest.approx(sum(weights))
        expected = {*zip(rows, groups, strict=True)} if grouped else {*rows}
        assert len(kept) == len(expected)


def test_tables_with_many_copies_per_row_are_not_merged(rng):
    """With more than ten copies per distinct row on average, the copies are observations."""
    X, Y, weights = np.eye(4), np.arange(4.0)[:, None], np.ones(41)
    rows = np.arange(41) % 4
    assert merge_copies(X[rows], Y[rows], weights)[0] is None
    assert len(merge_copies(X[rows[:40]], Y[rows[:40]], weights[:40])[0]) == 4


def test_classifier_learns_exclusive_or():
    """If copies were merged, only four rows would be left, and each network would lack some."""
    X = np.random.default_rng(0).integers(0, 2, size=(200, 2)).astype(float)
    y = X[:, 0] != X[:, 1]
    model = sk_deltauq.DeltaUQClassifier(max_iter=100, random_state=0).fit(X, y)
    assert model.score(X, y) == 1


def test_rows_without_copies_are_unchanged(rng):
    weights = rng.uniform(size=20)
    kept, same = merge_copies(rng.normal(size=(20, 2)), np.zeros((20, 1)), weights)
    assert kept is None
    assert same is weights


def test_first_copies_are_kept_in_their_order():
    X = np.array([5.0, 1, 5, 3, 1, 1, 0])[:, None]
    kept, weights = merge_copies(X, -X, np.array([1.0, 2, 4, 8, 16, 32, 64]))
    assert kept.tolist() == [0, 1, 3, 6]
    assert weights.tolist() == [5, 50, 8, 64]


@pytest.mark.parametrize(("n_exceptions", "merges"), [(0, True), (2, True), (3, False)])
def test_one_percent_of_the_rows_may_have_several_targets(rng, n_exceptions, merges):
    X = np.repeat(rng.normal(size=(200, 2)), 2, axis=0)
    Y = np.repeat(rng.normal(size=(200, 1)), 2, axis=0)
    Y[1 : 2 * n_exceptions : 2] += 1
    kept, _ = assert_merged(X, Y, np.ones(400))
    assert (kept is not None) == merges
    if merges:
        assert len(kept) == 200 + n_exceptions


def test_rows_of_a_coarse_table_are_not_merged(rng):
    """Equal rows of a one-hot table, or of a few whole numbers, are different observations."""
    one_hot = np.eye(4)[rng.integers(4, size=100)]
    numbers = rng.integers(5, size=(100, 1)).astype(float)
    for X in (one_hot, numbers):
        kept, _ = assert_merged(X, rng.normal(size=(100, 1)), np.ones(100))
        assert kept is None
        kept, _ = assert_merged(X, rng.integers(2, size=(100, 1)), np.ones(100))
        assert kept is None


def test_minus_zero_equals_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0], [2.0, 2.0]])
    kept, weights = assert_merged(X, np.array([[0.0], [-0.0], [1.0], [1.0], [1.0]]), np.ones(5))
    assert kept.tolist() == [0, 2, 4]
    assert weights.tolist() == [2, 2, 1]


def test_float32_columns_have_the_same_copies(rng):
    X = rng.normal(size=(30, 2)).astype(np.float32)[rng.integers(30, size=60)]
    Y = X[:, :1].astype(np.float64)
    assert_merged(X, Y, np.ones(60))


def test_common_rows_are_counted_by_features_and_targets(rng):
    X, Y = rng.integers(3, size=(40, 2)).astype(float), rng.integers(2, size=(40, 1)).astype(float)
    X_val, Y_val = rng.integers(4, size=(25, 2)).astype(float), rng.integers(2, size=(25, 1))
    known = {(*x, *y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)}
    expected = sum((*x, *y) in known for x, y in zip(X_val.tolist(), Y_val.tolist(), strict=True))
    assert 0 < expected < 25
    assert count_common_rows(X, Y, X_val, Y_val) == expected
    assert count_common_rows(X, Y, X_val + 100, Y_val) == 0


# Fits


@estimators
def test_fit_on_copies_equals_fit_with_weights(cls, regression_data, classification_data):
    """To the last bit: the table is the same after the copies are merged."""
    X, y = classification_data if issubclass(cls, ClassifierMixin) else regression_data
    n_copies = np.random.default_rng(1).integers(1, 5, size=len(X))
    copied = make_estimator(cls).fit(np.repeat(X, n_copies, axis=0), np.repeat(y, n_copies))
    weighted = make_estimator(cls).fit(X, y, sample_weight=n_copies)
    assert_same_predictions(predict_all(copied, X), predict_all(weighted, X))
    plain = make_estimator(cls).fit(X, y)
    assert not np.array_equal(predict_all(plain, X)["std"], predict_all(weighted, X)["std"])


@estimators
def test_the_same_number_of_copies_of_each_row_changes_nothing(
    cls, regression_data, classification_data
):
    X, y = classification_data if issubclass(cls, ClassifierMixin) else regression_data
    copied = make_estimator(cls).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert_same_predictions(predict_all(copied, X), predict_all(make_estimator(cls).fit(X, y), X))


def test_weights_of_copies_add_up(regression_data):
    X, y = regression_data
    rows = np.r_[np.arange(60), np.arange(0, 60, 3)]
    weights = np.random.default_rng(0).integers(1, 9, size=80) / 4  # sums without rounding
    summed = np.bincount(rows, weights)
    model = make_estimator(sk_deltauq.DeltaUQRegressor).fit(X[rows], y[rows], weights)
    expected = make_estimator(sk_deltauq.DeltaUQRegressor).fit(X, y, summed)
    assert_same_predictions(predict_all(model, X), predict_all(expected, X))


def test_copies_in_different_groups_are_kept(regression_data):
    X, y = regression_data
    copies, targets = np.tile(X, (2, 1)), np.tile(y, 2)
    groups = np.arange(120) // 10
    model = make_estimator(sk_deltauq.DeltaUQRegressor, n_anchors=200)
    assert len(model.fit(copies, targets).anchors_) == 60
    assert len(model.fit(copies, targets, groups=groups).anchors_) == 120
    assert len(model.fit(copies, targets, groups=np.tile(groups[:60], 2)).anchors_) == 60


def test_partial_fit_does_not_merge_rows(regression_data):
    """One batch does not show whether the whole table is coarse."""
    X, y = regression_data
    model = make_estimator(sk_deltauq.DeltaUQRegressor, n_anchors=200)
    assert len(model.partial_fit(np.tile(X, (2, 1)), np.tile(y, 2)).anchors_) == 120


# Near copies


def causes_warning(x):
    """Return whether the scaled rows cause the warning about near copies."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_near_copies(StandardScaler().fit_transform(x).astype(np.float32))
    assert {warning.category for warning in caught} <= {UncertaintyWarning}
    return bool(caught)


def make_clusters(rng):
    return np.repeat(rng.normal(size=(20, 3)), 15, axis=0) + 0.01 * rng.normal(size=(300, 3))


NO_COPIES = {
    "uniform in 1-d": lambda rng: rng.uniform(size=(300, 1)),
    "uniform in 2-d": lambda rng: rng.uniform(size=(300, 2)),
    "uniform in 10-d": lambda rng: rng.uniform(size=(300, 10)),
    "normal in 3-d": lambda rng: rng.normal(size=(300, 3)),
    "rounded": lambda rng: rng.normal(size=(300, 2)).round(1),
    "rounded in 1-d": lambda rng: rng.normal(size=(300, 1)).round(2),
    "one-hot": lambda rng: np.eye(6)[rng.integers(6, size=300)],
    "one-hot and a number": lambda rng: np.column_stack(
        [np.eye(3)[rng.integers(3, size=300)], rng.normal(size=300)]
    ),
    "clusters": make_clusters,
    "a line": lambda rng: np.linspace(0, 1, 300)[:, None] * [1.0, 2.0],
    "equal copies": lambda rng: np.tile(rng.normal(size=(100, 3)), (3, 1)),
    "a random walk": lambda rng: rng.normal(size=(300, 3)).cumsum(axis=0),
}


@pytest.mark.parametrize("name", NO_COPIES)
def test_ordinary_tables_have_no_near_copies(name):
    for seed in range(10):
        assert not causes_warning(NO_COPIES[name](np.random.default_rng(seed))), seed


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_data_sets_have_no_near_copies(name):
    X = load(name).X
    for n in (60, 250, len(X)):
        assert not causes_warning(X[np.random.default_rng(n).permutation(len(X))[:n]]), n


@pytest.mark.parametrize("n_features", [1, 2, 10])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_jittered_copies_cause_a_warning(n_features, share):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(300, n_features))
        copies = x[: int(share * 300)]
        jittered = copies + 1e-6 * rng.normal(size=copies.shape)
        assert causes_warning(np.vstack([x, jittered])), seed


@pytest.mark.parametrize("n_copies", [2, 18, 25, 40, 100])
def test_many_copies_of_each_row_cause_a_warning(n_copies):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = np.repeat(rng.uniform(-1, 1, (1800 // n_copies, 2)), n_copies, axis=0)
        assert causes_warning(x + 1e-4 * rng.normal(size=x.shape)), seed


def test_the_warning_says_how_many_and_what_to_do(rng):
    x = rng.normal(size=(100, 3))
    x = np.vstack([x, x + 1e-6 * rng.normal(size=x.shape)])
    message = r"About 100% of the rows of X have a near copy .* Pass groups=\.\.\. to fit"
    with pytest.warns(UncertaintyWarning, match=message):
        warn_about_near_copies(x)


def test_tables_of_at_most_40_rows_are_not_checked():
    x = np.repeat(np.arange(20.0), 2)[:, None] + np.tile([0, 1e-7], 20)[:, None]
    assert not causes_warning(x)
    assert causes_warning(np.vstack([x, [[40.0]]]))


@estimators
def test_every_estimator_warns_about_near_copies(cls, regression_data, classification_data):
    X, y = classification_data if issubclass(cls, ClassifierMixin) else regression_data
    jittered = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    data = np.vstack([X, jittered]), np.tile(y, 2)
    groups = np.tile(np.arange(60), 2)
    expected = [(data, {}, 1), (data, {"groups": groups}, 0), ((X, y), {}, 0)]
    for table, params, n_expected in expected:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UncertaintyWarning)
            make_estimator(cls).fit(*table, **params)
        messages = Counter("near copy" in str(warning.message) for warning in caught)
        assert messages[True] == n_expected
        if n_expected:
            assert caught[0].filename == __file__, "the line of the caller"
