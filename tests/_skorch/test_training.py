import pytest
import torch

from sk_deltauq._skorch.training import batch_rows, number_of_folds


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
    assert number_of_folds("auto", n_rows, n_members, fraction) == expected


def test_early_stopping_true_and_false_are_taken_at_their_word():
    assert number_of_folds(False, 10_000, 5, 0.1) == 0
    assert number_of_folds(True, 12, 1, 0.1) == 10
    assert number_of_folds(True, 12, 1, 0.3) == 4
    assert number_of_folds(True, 12, 12, 0.3) == 12
    with pytest.raises(ValueError, match=r"each of 10 folds .* got n_samples=9\."):
        number_of_folds(True, 9, 1, 0.1)


def test_one_row_of_each_class_is_not_there_to_be_held_out():
    assert number_of_folds("auto", 20, 1, 0.1, n_classes=0) == 4
    assert number_of_folds("auto", 20, 1, 0.1, n_classes=2) == 0
    assert number_of_folds(True, 12, 1, 0.1, n_classes=2) == 10
    with pytest.raises(ValueError, match=r"got n_samples=12\."):
        number_of_folds(True, 12, 1, 0.1, n_classes=3)


@pytest.mark.parametrize(
    ("batch_size", "n_rows", "expected"),
    [
        ("auto", 5, 5),
        ("auto", 400, 32),
        ("auto", 1030, 32),
        ("auto", 9568, 128),
        ("auto", 45_730, 256),
        ("auto", 10_000_000, 1024),
        (64, 1000, 64),
        (64, 10, 10),
    ],
)
def test_batch_size(batch_size, n_rows, expected):
    assert batch_rows(batch_size, n_rows) == expected
    assert not torch.is_tensor(batch_rows(batch_size, n_rows))
