import hashlib

import numpy as np
import pytest

from benchmarks_uci.datasets import EMBEDDED, Sources, load
from benchmarks_uci.regression.protocols import (
    PROTOCOLS,
    find_distinct,
    gap,
    hl90,
    random80,
    tail,
)
from tests.benchmarks_uci._helpers import toy_dataset


def splits_of(protocol, dataset):
    return PROTOCOLS[protocol].splits(dataset)


def shuffled(dataset, seed=1):
    """The same set from a source with another order of rows."""
    rows = np.random.default_rng(seed).permutation(len(dataset.y))
    place = np.argsort(rows)
    return toy_dataset(X=dataset.X[rows], y=dataset.y[rows], order=place[dataset.order])


@pytest.mark.parametrize("n_rows", [11, 60, 178])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_row_trains_or_tests(protocol, n_rows):
    dataset = toy_dataset(n_rows=n_rows)
    splits = splits_of(protocol, dataset)
    assert len(splits) == {"gap": 3, "tail": 3}.get(protocol, 20)
    assert PROTOCOLS[protocol].count(dataset.name) in (None, len(splits))
    assert len({split.name for split in splits}) == len(splits)
    for split in splits:
        assert sorted([*split.train, *split.test]) == list(range(n_rows))
        n_train = {
            "random80": n_rows - round(0.2 * n_rows),
            "development": n_rows - round(0.2 * n_rows),
            "distinct80": n_rows - round(0.2 * n_rows),
            "hl90": round(0.9 * n_rows),
            "gap": 2 * (n_rows // 3),
            "tail": n_rows - 2 * (n_rows // 6),
        }[protocol]
        assert len(split.train) == n_train


@pytest.mark.usefixtures("global_state_is_kept")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_splits_are_the_same_each_time(protocol):
    dataset = toy_dataset()
    first, again = (
        [split.hash(dataset) for split in splits_of(protocol, dataset)] for _ in range(2)
    )
    assert first == again
    assert len(set(first)) == len(first)


def test_random_split_of_a_seed_never_changes():
    # Results of other days are compared with these rows.
    dataset = toy_dataset(n_rows=10, order=np.arange(10))
    assert random80(dataset, seed=0).test.tolist() == [4, 6]
    assert random80(dataset, seed=0).name == "seed 0"


def test_near_copies_are_dropped():
    """Against all pairs of distances: no two kept rows are near, each other row has a kept one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) * [1, 1000]
    X = np.concatenate([X, X[:20], X[20:40] + 1e-3 * rng.normal(size=(20, 2)) * [1, 1000]])
    X = np.column_stack([X, np.ones(160)])  # a constant input
    dataset = toy_dataset(X=X, y=rng.normal(size=160), order=rng.permutation(160))
    kept = find_distinct(dataset)
    scaled = (X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
    between = np.linalg.norm(scaled[:, None] - scaled, axis=2)
    np.fill_diagonal(between, np.inf)
    limit = 0.1 * np.median(between.min(axis=1))
    assert between[np.ix_(kept, kept)].min() >= limit
    dropped = np.setdiff1d(np.arange(160), kept)
    assert (between[np.ix_(dropped, kept)].min(axis=1) < limit).all()
    # The first one in canonical order stays.
    first = np.argmin([list(dataset.order).index(row) for row in (0, 120)])
    assert (0, 120)[first] in kept
    assert (0, 120)[1 - first] not in kept


def test_splits_without_near_copies_equal_splits_of_the_smaller_set():
    dataset = toy_dataset(n_rows=60)
    repeated = toy_dataset(
        X=np.concatenate([dataset.X, dataset.X[:15]]),
        y=np.concatenate([dataset.y, dataset.y[:15] + 1]),
        order=np.concatenate([dataset.order, np.arange(60, 75)]),
    )
    for one, other in zip(
        splits_of("random80", dataset), splits_of("distinct80", repeated), strict=True
    ):
        assert one.test.tolist() == other.test.tolist()
        assert one.train.tolist() == other.train.tolist()


def test_no_split_of_development_is_in_the_table():
    dataset = toy_dataset(n_rows=60)
    shown, others = (
        {split.hash(dataset) for split in splits_of(protocol, dataset)}
        for protocol in ("random80", "development")
    )
    assert len(others) == 20
    assert not shown & others
    assert splits_of("development", dataset)[0].name == "seed 100"


@pytest.mark.parametrize(("name", "n_splits"), [("boston", 20), ("protein", 5)])
def test_hl90_is_the_published_recipe(name, n_splits):
    before = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(1)  # noqa: NPY002
        expected = [
            np.random.choice(range(57), 57, replace=False)  # noqa: NPY002
            for _ in range(n_splits)
        ]
    finally:
        np.random.set_state(before)  # noqa: NPY002
    splits = hl90(toy_dataset(n_rows=57, name=name))
    assert len(splits) == n_splits
    for rows, split in zip(expected, splits, strict=True):
        assert split.train.tolist() == rows[:51].tolist()
        assert split.test.tolist() == rows[51:].tolist()


def test_hl90_needs_the_published_order():
    dataset = toy_dataset(in_original_order=False, source="a download")
    with pytest.raises(ValueError, match=r"toy by row numbers .*\(a download\).* random80"):
        hl90(dataset)


def by_hand(dataset, feature, is_test):
    """Ranks sorted one by one, ties by the canonical order."""
    place = {row: i for i, row in enumerate(dataset.order.tolist())}
    rows = sorted(place, key=lambda row: (dataset.X[row, feature], place[row]))
    test = [row for i, row in enumerate(rows) if is_test(i)]
    return sorted(test, key=place.get)


@pytest.mark.parametrize("rounded", [False, True])
def test_gap_and_tail_are_thirds_of_each_feature(rounded):
    dataset = toy_dataset(n_rows=62)
    if rounded:  # many ties, 21 distinct values
        dataset = toy_dataset(n_rows=62, X=np.round(20 * dataset.X) / 20)
    for feature, (middle, ends) in enumerate(zip(gap(dataset), tail(dataset), strict=True)):
        assert middle.name == ends.name == f"feature x{feature}"
        assert middle.test.tolist() == by_hand(dataset, feature, lambda i: 20 <= i < 42)
        assert ends.test.tolist() == by_hand(dataset, feature, lambda i: i < 10 or i >= 52)


def test_gap_leaves_a_gap_and_tail_leaves_the_ends():
    dataset = toy_dataset(n_rows=90)
    for feature, (middle, ends) in enumerate(zip(gap(dataset), tail(dataset), strict=True)):
        values = dataset.X[:, feature]
        low, high = values[middle.test].min(), values[middle.test].max()
        assert not ((values[middle.train] > low) & (values[middle.train] < high)).any()
        assert values[ends.train].min() > np.sort(values[ends.test])[14]
        assert values[ends.train].max() < np.sort(values[ends.test])[15]


@pytest.mark.parametrize("protocol", ["gap", "tail"])
def test_features_of_few_values_are_left_out(protocol):
    X = np.array(toy_dataset().X)
    X[:, 0] = np.arange(60) % 9
    X[:, 2] = np.arange(60) % 10
    names = [split.name for split in splits_of(protocol, toy_dataset(X=X))]
    assert names == ["feature x1", "feature x2"]


@pytest.mark.parametrize("protocol", ["random80", "gap", "tail", "distinct80"])
def test_splits_and_hashes_do_not_depend_on_the_order_of_the_source(protocol):
    dataset = toy_dataset()
    other = shuffled(dataset)
    for one, two in zip(splits_of(protocol, dataset), splits_of(protocol, other), strict=True):
        assert not np.array_equal(one.train, two.train)
        np.testing.assert_array_equal(dataset.X[one.train], other.X[two.train])
        np.testing.assert_array_equal(dataset.y[one.test], other.y[two.test])
        assert one.hash(dataset) == two.hash(other)


def digest(splits, dataset):
    """One hash of all rows of all splits, numbered in canonical order."""
    rank = {row: i for i, row in enumerate(dataset.order.tolist())}
    hashes = ""
    for split in splits:
        train, test = ([rank[row] for row in rows.tolist()] for rows in (split.train, split.test))
        text = f"train: {' '.join(map(str, train))}, test: {' '.join(map(str, test))}"
        hashes += hashlib.sha256(text.encode()).hexdigest()
        assert hashes[-64:].startswith(split.hash(dataset))
    return hashlib.sha256(hashes.encode()).hexdigest()[:16]


PINNED = {
    "random80": "66f97ef9650331b1",
    "development": "6fdb43736f1b9972",
    "hl90": "100384ee0d469a4d",
    "gap": "ccdb57be6479e5c7",
    "tail": "c86b9d284595fe51",
    "distinct80": "66f97ef9650331b1",  # as random80: no row of this set is a near copy
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_splits_never_change(protocol):
    dataset = toy_dataset()
    assert digest(splits_of(protocol, dataset), dataset) == PINNED[protocol]


# random80, development, hl90, gap, tail, distinct80
PINNED_EMBEDDED = {
    "boston": [
        *("ae6efcd5a2e9cf85", "b69c9cb0f1632e56", "974975d36bbeccfd"),
        *("8b763c99d6e287da", "c57f27f9d5c00cca", "ae6efcd5a2e9cf85"),
    ],
    "concrete": [
        *("0f50d961a5e38cbc", "d2af2bac52bd9d1d", "8f2b8059df1c172f"),
        *("ee88be1c95d9f8e5", "05d376b5fb0b0832", "5ebf0fe0d2d6a1ae"),
    ],
    "wine": [
        *("07d91d2d02c4456b", "984451d9dbe3d4ee", "16131e8cf74d102b"),
        *("112d48e38e278eda", "8fe606f52514d2a3", "38b180f375f1ac4e"),
    ],
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_splits_of_the_embedded_sets_never_change(name):
    dataset = load(name, Sources(offline=True))
    found = [digest(splits_of(protocol, dataset), dataset) for protocol in PROTOCOLS]
    assert found == PINNED_EMBEDDED[name]
