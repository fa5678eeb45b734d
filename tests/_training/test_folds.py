"""Numbers of folds and networks, and the held-out rows of each network."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch

from sk_deltauq._training.folds import (
    Assignment,
    HoldOutPlan,
    assign_folds,
    assign_group_folds,
    assign_hold_out,
    count_folds,
    count_networks,
    plan_hold_out,
    warn_about_hold_out,
)
from sk_deltauq._validation import FitData
from sk_deltauq.exceptions import UncertaintyWarning


def make_data(n, labels=None, groups=None, n_validation=None):
    x = torch.arange(float(n))[:, None]
    validation = None if n_validation is None else make_data(n_validation)
    return FitData(x.numpy(), x, x, torch.ones(n), labels, groups, validation)


# Numbers of folds and networks


def find_n_folds(n, n_members, fraction):
    """The rule in words: the largest number of folds for which it holds."""

    def suits(k):
        has_two_rows = n // k >= 2 or k == 2
        has_twenty_rows = n // k >= 20
        is_asked_for = (k - 1) * fraction < 1  # the last k with folds of at least the fraction
        is_for_a_member = k <= n_members and has_twenty_rows
        return has_two_rows and ((is_asked_for and (k <= 5 or has_twenty_rows)) or is_for_a_member)

    return max((k for k in range(2, min(n, 30) + 1) if suits(k)), default=0)


def find_n_networks(n, n_folds, n_members):
    """Add networks until they hold out 60 rows, or every row that is in a fold."""
    n_networks = n_members
    while min(n_networks, n_folds) * (n // n_folds) < 60 and n_networks < n_folds:
        n_networks += 1
    return n_networks


@pytest.mark.parametrize("n_members", [1, 2, 5, 20])
@pytest.mark.parametrize(
    ("fraction", "exact"), [(0.1, Fraction(1, 10)), (0.3, Fraction(3, 10)), (0.5, Fraction(1, 2))]
)
def test_numbers_of_folds_and_networks_follow_their_rule(n_members, fraction, exact):
    for n in range(2, 701):
        plan = plan_hold_out("auto", make_data(n), n_members, fraction)
        n_folds = find_n_folds(n, n_members, exact)
        assert plan == HoldOutPlan(n_folds, find_n_networks(n, n_folds, n_members)), n


@pytest.mark.parametrize("n_members", [1, 2, 3, 7, 18, 50])
def test_plan_changes_little_between_numbers_of_rows_and_members(n_members):
    """Bounds of held-out and training rows, for each number of rows from two on."""
    for n in range(2, 701):
        plan, alone = (plan_hold_out("auto", make_data(n), m, 0.1) for m in (n_members, 1))
        in_fold = n // plan.n_folds
        held_out = min(plan.n_networks, plan.n_folds) * in_fold
        left_over = n % plan.n_folds
        assert held_out >= min(60, n - left_over), n
        assert left_over < min(5, n) or held_out >= 60, n
        # Each network trains on at least 80 % of the rows, of which there are few below ten.
        assert in_fold <= max(n / 5, 2), n
        assert plan.n_networks >= n_members, n
        # More members never hold out fewer rows.
        assert held_out >= min(min(alone.n_networks, alone.n_folds) * (n // alone.n_folds), 60), n


def test_one_member_is_five_networks_on_few_rows_and_one_on_many():
    networks = [plan_hold_out("auto", make_data(n), 1, 0.1).n_networks for n in range(2, 2000)]
    assert networks[:2] == [2, 2]
    assert set(networks[10 - 2 : 75 - 2]) == {5}
    assert max(networks) == 5
    assert networks[598 - 2 : 601 - 2] == [2, 2, 1]
    assert set(networks[600 - 2 :]) == {1}


def test_one_row_and_partial_fit_hold_nothing_out():
    assert plan_hold_out("auto", make_data(1), 3, 0.1) == HoldOutPlan(0, 3)
    for early_stopping in ("auto", False):
        plan = plan_hold_out(early_stopping, make_data(1000), 3, 0.1, partial=True)
        assert plan == HoldOutPlan(0, 3)
    assert plan_hold_out(False, make_data(50), 2, 0.1) == HoldOutPlan(0, 2)
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        plan_hold_out(True, make_data(1000), 1, 0.1, partial=True)


def test_early_stopping_true_holds_out_the_whole_fraction():
    """The number of members does not matter, because members share the folds."""
    assert count_folds(True, 12, 1, 0.1) == count_folds(True, 12, 50, 0.1) == 10
    assert count_folds(True, 12, 1, 0.3) == 4
    assert count_folds(True, 10_000, 50, 0.5) == 2
    assert count_folds(True, 10, 1, 0.1) == 10
    with pytest.raises(
        ValueError, match=r"each of 10 folds with validation_fraction=0\.1, got n_"
    ):
        count_folds(True, 9, 1, 0.1)


@pytest.mark.parametrize("k", range(2, 60))
def test_validation_fraction_of_one_kth_gives_k_folds(k):
    """1 / (1 / 49) is a little more than 49 in floating point."""
    assert count_folds(True, 1000, 1, 1 / k) == k


def test_one_row_of_each_class_is_never_held_out():
    """A table with classes has the plan of a table with one row fewer per class."""
    for n in range(1, 300):
        labels = np.arange(n) % 3
        plan = plan_hold_out("auto", make_data(n, labels), 1, 0.1)
        without = plan_hold_out("auto", make_data(max(n - 3, 1)), 1, 0.1)
        assert plan == without, n
    assert count_folds(True, 12, 1, 0.1, n_classes=2) == 10
    message = r"10 folds \(and one more row of each class\) .*=0\.1, got n_samples=12\. Raise"
    with pytest.raises(ValueError, match=message):
        count_folds(True, 12, 1, 0.1, n_classes=3)


@pytest.mark.parametrize("labels", [None, np.arange(60) % 4])
def test_groups_count_instead_of_rows(labels):
    for n_groups in range(2, 61):
        groups = np.arange(60) % n_groups
        plan = plan_hold_out("auto", make_data(60, labels, groups), 3, 0.1)
        assert plan == plan_hold_out("auto", make_data(n_groups), 3, 0.1)
    message = r"at least one of the groups for each of 10 folds with .*, got n_groups=9\."
    with pytest.raises(ValueError, match=message):
        plan_hold_out(True, make_data(60, labels, np.arange(60) % 9), 1, 0.1)


@pytest.mark.parametrize("early_stopping", ["auto", True, False])
def test_validation_rows_replace_folds(early_stopping):
    data = make_data(5, n_validation=7)
    plan = plan_hold_out(early_stopping, data, 3, 0.1)
    assert plan == HoldOutPlan(0, 3)
    parts = assign_hold_out(np.random.default_rng(0), data, plan)
    assert parts.train.tolist() == [[0, 1, 2, 3, 4]] * 3
    assert parts.held_out.tolist() == [[5, 6, 7, 8, 9, 10, 11]] * 3
    assert parts.counts.all()
    assert parts.n_units == 7


def test_number_of_networks_without_folds_is_the_number_of_members():
    assert count_networks(4, 0, 1000) == 4


# Rows


def test_networks_without_folds_train_on_all_rows():
    parts = assign_hold_out(np.random.default_rng(0), make_data(6), HoldOutPlan(0, 2))
    assert parts.train.tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    assert parts.held_out.shape == parts.counts.shape == (2, 0)
    assert (parts.held_out.dtype, parts.counts.dtype) == (np.int64, bool)
    assert parts.n_units == 0


@pytest.mark.parametrize(
    ("n_rows", "n_folds", "n_networks"), [(50, 10, 1), (53, 5, 5), (20, 7, 3)]
)
def test_folds_are_disjoint_equal_and_complementary_to_training_rows(n_rows, n_folds, n_networks):
    train, held_out = assign_folds(np.random.default_rng(0), n_rows, n_folds, n_networks)
    assert held_out.shape == (n_networks, n_rows // n_folds)
    assert len(np.unique(held_out)) == held_out.size
    for inside, outside in zip(train, held_out, strict=True):
        assert sorted([*inside, *outside]) == list(range(n_rows))


def test_all_folds_together_hold_out_every_row():
    _, held_out = assign_folds(np.random.default_rng(0), 50, 5, 5)
    assert sorted(held_out.ravel()) == list(range(50))


@pytest.mark.parametrize("labels", [None, np.arange(23) % 3])
def test_networks_take_the_folds_in_turn(labels):
    """The number of networks does not change the first networks."""
    few, many = (assign_folds(np.random.default_rng(2), 23, 4, n, labels) for n in (4, 10))
    for one, two in zip(few, many, strict=True):
        np.testing.assert_array_equal(one[np.arange(10) % 4], two)
    parts = assign_hold_out(np.random.default_rng(2), make_data(23, labels), HoldOutPlan(4, 10))
    np.testing.assert_array_equal(parts.held_out, many[1])
    np.testing.assert_array_equal(parts.train, many[0])
    assert parts.counts.all()
    assert parts.n_units == 20, "distinct rows, not rows times networks"


@pytest.mark.parametrize(("n_networks", "n_units"), [(1, 5), (3, 15), (7, 20)])
def test_rows_that_several_networks_hold_out_are_counted_once(n_networks, n_units):
    plan = HoldOutPlan(4, n_networks)
    assert assign_hold_out(np.random.default_rng(2), make_data(23), plan).n_units == n_units


def test_folds_are_stratified_and_every_network_trains_on_every_class():
    labels = np.repeat([0, 1, 2, 3], [60, 30, 9, 1])
    labels = np.random.default_rng(1).permutation(labels)
    for seed in range(20):
        train, held_out = assign_folds(np.random.default_rng(seed), 100, 5, 5, labels)
        for inside, outside in zip(train, held_out, strict=True):
            assert set(labels[inside]) == {0, 1, 2, 3}
            counts = np.bincount(labels[outside], minlength=4)
            np.testing.assert_allclose(counts, [12, 6, 1.6, 0], atol=1)
            assert counts[3] == 0


def test_only_row_of_a_class_is_never_held_out():
    """Also if the class is neither the first nor the last one."""
    labels = np.repeat([0, 1, 2], [50, 1, 49])
    _, held_out = assign_folds(np.random.default_rng(0), 100, 7, 7, labels)
    assert 50 not in held_out


@pytest.mark.parametrize("n_classes", [None, 3])
def test_rows_are_assigned_in_turn_in_their_random_order(n_classes):
    """The same shuffle, sorted with Python's stable sort, without the first row of each class."""
    labels = None if n_classes is None else np.arange(200) // 67 % n_classes
    order = np.random.default_rng(4).permutation(200).tolist()
    if labels is not None:
        order.sort(key=lambda row: labels[row])
        kept, seen = [], set()
        for row in order:
            if labels[row] in seen:
                kept.append(row)
            seen.add(labels[row])
        order = kept
    train, held_out = assign_folds(np.random.default_rng(4), 200, 6, 4, labels)
    size = len(order) // 6
    for member in range(4):
        expected = [row for place, row in enumerate(order) if place % 6 == member][:size]
        assert held_out[member].tolist() == sorted(expected)
        assert train[member].tolist() == sorted(set(range(200)) - set(expected))


# Groups

SIZES = [
    [4] * 12,
    [1, 2, 3, 4, 5, 6, 7, 8],
    [40, 1, 1, 1, 1, 1],
    [1] * 30,
    [100, 3],
]


def make_groups(sizes, seed=3):
    """Rows of all groups in random order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize("n_networks", [1, 2, 7])
def test_folds_have_whole_groups_and_equal_numbers_of_groups(sizes, n_folds, n_networks):
    groups, n_folds = make_groups(sizes), min(n_folds, len(sizes))
    parts = assign_group_folds(np.random.default_rng(0), groups, n_folds, n_networks)
    folds = []
    for train, held_out, counts in zip(parts.train, parts.held_out, parts.counts, strict=True):
        inside, outside = set(groups[train]), set(groups[held_out])
        assert not inside & outside
        assert inside | outside == set(groups)
        assert len(outside) in (len(sizes) // n_folds, -(-len(sizes) // n_folds))
        # Each row of a group is there, once without padding.
        assert set(train) == set(np.flatnonzero(np.isin(groups, list(inside))))
        expected = np.flatnonzero(np.isin(groups, list(outside)))
        assert sorted(held_out[counts]) == expected.tolist()
        folds.append(frozenset(outside))
    for network, fold in enumerate(folds):
        assert fold == folds[network % n_folds]
    assert sum(map(len, folds[:n_folds])) == len(frozenset().union(*folds)) == parts.n_units


def test_padding_repeats_rows_of_the_same_network_and_does_not_count():
    groups = np.repeat([0, 1, 2], [1, 5, 20])
    parts = assign_group_folds(np.random.default_rng(0), groups, 3, 3)
    assert parts.train.shape == (3, 25), "as many rows as the network that holds out one row"
    assert parts.held_out.shape == parts.counts.shape == (3, 20)
    for train, held_out, counts in zip(parts.train, parts.held_out, parts.counts, strict=True):
        (group,) = set(groups[held_out])
        assert counts.sum() == (groups == group).sum()
        assert set(held_out[~counts]) <= set(held_out[counts])
        assert len(set(train)) == (groups != group).sum()
    assert parts.n_units == 3


def test_folds_by_group_are_random_and_reproducible():
    groups = make_groups([3] * 20)
    found = [assign_group_folds(np.random.default_rng(seed), groups, 5, 5) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0].held_out, found[1].held_out)
    np.testing.assert_array_equal(found[0].train, found[1].train)
    assert found[0].held_out.tolist() != found[2].held_out.tolist()


def test_training_rows_of_group_folds_have_every_label():
    """Labels 2 and 3 are in one group each, and label 4 in two groups."""
    groups = np.repeat(np.arange(10), 4)
    labels = np.arange(40) % 2
    labels[[0, 5]] = 2, 3
    labels[[9, 13]] = 4
    held_out_groups = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        parts = assign_group_folds(rng, groups, 5, 5, labels)
        assert len({*map(tuple, parts.held_out)}) > 2
        for train, held_out in zip(parts.train, parts.held_out, strict=True):
            assert set(labels[train]) == {0, 1, 2, 3, 4}
            assert not {0, 1} & set(groups[held_out]), "the only groups with label 2 or 3"
            assert not set(groups[train]) & set(groups[held_out])
            held_out_groups |= set(groups[held_out])
        assert parts.n_units == len(np.unique(groups[parts.held_out]))
    assert held_out_groups == set(range(2, 10))


def test_folds_that_lose_all_their_groups_are_dropped():
    groups, labels = np.repeat([0, 1, 2], 4), np.repeat([0, 1, 1], 4)
    parts = assign_group_folds(np.random.default_rng(0), groups, 3, 5, labels)
    assert {tuple(set(groups[rows])) for rows in parts.held_out} == {(1,), (2,)}
    assert parts.n_units == 2
    assert len(parts.train) == 5, "the networks share the folds that are left"


def test_groups_without_rows_to_hold_out_raise():
    labels = np.repeat([0, 1], 4)
    with pytest.raises(ValueError, match=r"each group is the only one with some label\. Give val"):
        assign_group_folds(np.random.default_rng(0), labels, 2, 2, labels)


def test_assign_hold_out_uses_the_groups_of_the_data():
    data = make_data(12, groups=np.arange(12) // 3)
    plan = HoldOutPlan(4, 4)
    parts = assign_hold_out(np.random.default_rng(5), data, plan)
    expected = assign_group_folds(np.random.default_rng(5), data.groups, 4, 4)
    assert isinstance(parts, Assignment)
    np.testing.assert_array_equal(parts.held_out, expected.held_out)
    np.testing.assert_array_equal(parts.train, expected.train)


# Warnings


@pytest.mark.parametrize(
    ("n_units", "data", "partial", "message"),
    [
        (0, make_data(50), True, "Name holds out no rows in partial_fit, so nothing corrects"),
        (0, make_data(1), False, "Name holds out no rows because there are too few, 1, so"),
        (1, make_data(50), False, "Name can hold out only 1 row, so its uncertainty is a rough"),
        (9, make_data(9), False, r"only 9 rows, .* Add rows: from 10 rows on"),
        (
            *(4, make_data(50, groups=np.arange(50) % 4), False),
            r"only 4 groups of rows, .*: from 10 groups of rows on",
        ),
    ],
)
def test_few_held_out_rows_cause_a_warning(n_units, data, partial, message):
    with pytest.warns(UncertaintyWarning, match=message):
        warn_about_hold_out("Name", n_units, data, "auto", partial=partial)


def test_early_stopping_false_causes_a_warning():
    with pytest.warns(UncertaintyWarning, match="holds out no rows with early_stopping=False, so"):
        warn_about_hold_out("Name", 0, make_data(50), False, partial=False)


def test_ten_held_out_rows_cause_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_hold_out("Name", 10, make_data(10), "auto", partial=False)
