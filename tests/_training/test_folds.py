import numpy as np
import pytest

from sk_deltauq._training.rows import assign_folds, count_folds


@pytest.mark.parametrize(
    ("n_rows", "n_members", "fraction", "expected"),
    [
        (19, 1, 0.1, 0),  # too few for five held-out rows in a quarter
        (20, 1, 0.1, 4),
        (100, 1, 0.1, 5),  # twenty rows in a fold
        (180, 1, 0.1, 9),
        (200, 1, 0.1, 10),
        (10_000, 1, 0.1, 10),
        (10_000, 1, 0.25, 4),
        (1000, 15, 0.1, 15),  # a fold a member
        (24, 5, 0.1, 0),
        (25, 5, 0.1, 5),
    ],
)
def test_auto_holds_out_enough_rows_for_a_score(n_rows, n_members, fraction, expected):
    assert count_folds("auto", n_rows, n_members, fraction) == expected


def test_early_stopping_true_and_false_are_taken_at_their_word():
    assert count_folds(False, 10_000, 5, 0.1) == 0
    assert count_folds(True, 12, 1, 0.1) == 10
    assert count_folds(True, 12, 1, 0.3) == 4
    assert count_folds(True, 12, 12, 0.3) == 12
    with pytest.raises(ValueError, match=r"each of 10 folds .* got n_samples=9\."):
        count_folds(True, 9, 1, 0.1)


def test_one_row_of_each_class_is_not_there_to_be_held_out():
    assert count_folds("auto", 20, 1, 0.1, n_classes=0) == 4
    assert count_folds("auto", 20, 1, 0.1, n_classes=2) == 0
    assert count_folds(True, 12, 1, 0.1, n_classes=2) == 10
    with pytest.raises(ValueError, match=r"got n_samples=12\."):
        count_folds(True, 12, 1, 0.1, n_classes=3)


def test_partial_fit_holds_nothing_out():
    assert count_folds("auto", 10_000, 1, 0.1, partial=True) == 0
    assert count_folds(False, 10_000, 1, 0.1, partial=True) == 0
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        count_folds(True, 10_000, 1, 0.1, partial=True)


def test_the_error_names_only_what_matters():
    with pytest.raises(ValueError, match=r"10 folds with validation_fraction=0\.1, got"):
        count_folds(True, 9, 1, 0.1)
    both = r"10 folds \(and one more row of each class.*n_members=2 and"
    with pytest.raises(ValueError, match=both):
        count_folds(True, 9, 2, 0.1, n_classes=2)


@pytest.mark.parametrize(("n_rows", "n_folds", "n_members"), [(50, 10, 1), (53, 5, 5), (20, 7, 3)])
def test_folds_are_apart_of_one_size_and_leave_the_rest_to_train_on(n_rows, n_folds, n_members):
    train, held_out = assign_folds(np.random.default_rng(0), n_rows, n_folds, n_members)
    assert held_out.shape == (n_members, n_rows // n_folds)
    assert len(np.unique(held_out)) == held_out.size
    for inside, outside in zip(train, held_out, strict=True):
        assert sorted([*inside, *outside]) == list(range(n_rows))


def test_all_folds_together_hold_out_every_row():
    _, held_out = assign_folds(np.random.default_rng(0), 50, 5, 5)
    assert sorted(held_out.ravel()) == list(range(50))


def test_folds_are_stratified_and_every_member_trains_on_every_class():
    labels = np.repeat([0, 1, 2, 3], [60, 30, 9, 1])
    labels = np.random.default_rng(1).permutation(labels)
    for seed in range(20):
        train, held_out = assign_folds(np.random.default_rng(seed), 100, 5, 5, labels)
        for inside, outside in zip(train, held_out, strict=True):
            assert set(labels[inside]) == {0, 1, 2, 3}
            counts = np.bincount(labels[outside], minlength=4)
            np.testing.assert_allclose(counts, [12, 6, 1.6, 0], atol=1)
            assert counts[3] == 0
