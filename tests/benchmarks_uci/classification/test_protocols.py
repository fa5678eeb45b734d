import numpy as np
import pytest

from benchmarks_uci.classification.protocols import (
    DEVELOPMENT,
    OUTLIERS,
    SEEDS,
    SHIFT,
    leave_out_class,
    split_rows,
)
from tests.benchmarks_uci.classification._helpers import toy_set


def test_a_split_keeps_the_classes_and_has_no_row_twice():
    dataset = toy_set(n_rows=120)
    split = split_rows(dataset, 0)
    assert (len(split.train), len(split.test)) == (90, 30)
    assert not {*split.train} & {*split.test}
    np.testing.assert_array_equal(np.bincount(dataset.y[split.test]), [10, 10, 10])


def test_a_large_set_is_cut():
    dataset = toy_set(n_rows=4000)
    split = split_rows(dataset, 0)
    assert (len(split.train), len(split.test)) == (1500, 600)


def test_a_split_does_not_depend_on_the_order_of_the_rows():
    dataset = toy_set()
    places = np.random.default_rng(1).permutation(len(dataset.X))
    X, y = dataset.X[places], dataset.y[places]
    order = np.lexsort(np.column_stack([X, y]).T[::-1])
    other = dataset.__class__("wine", X, y, "", "", order)
    one, two = split_rows(dataset, 4), split_rows(other, 4)
    np.testing.assert_array_equal(dataset.X[one.test], X[two.test])
    assert one.hash(dataset) == two.hash(other)


def test_a_class_is_left_out_of_training_only():
    dataset = toy_set()
    split, whole = leave_out_class(dataset, 2), split_rows(dataset, 2)
    np.testing.assert_array_equal(split.test, whole.test)
    missing = {0, 1, 2} - {*dataset.y[split.train]}
    assert split.name == f"seed 2, without class {missing.pop()}"
    assert len(split.train) == len(whole.train) * 2 // 3
    assert len({leave_out_class(dataset, seed).name[-1] for seed in range(20)}) == 3


def test_two_classes_are_too_few_to_leave_one_out():
    with pytest.raises(ValueError, match="has 2 classes"):
        leave_out_class(toy_set(n_classes=2), 0)


@pytest.mark.parametrize("protocols", [SHIFT, OUTLIERS], ids=["shift", "outliers"])
def test_settings_are_chosen_on_other_seeds(protocols):
    shown, development = protocols.values()
    names = [{s.name for s in p.splits(toy_set())} for p in (shown, development)]
    assert not names[0] & names[1]
    assert not {*SEEDS} & {*DEVELOPMENT}
    assert [shown.count("wine"), len(names[0])] == [5, 5]
    assert shown.overlapping
