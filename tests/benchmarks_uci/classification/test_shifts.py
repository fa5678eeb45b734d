import numpy as np
import pytest

from benchmarks_uci.classification.sets import SETS
from benchmarks_uci.classification.shifts import (
    SHIFTS,
    Shifter,
    find_shift,
    list_shifts,
    measure_amount,
    read_strengths,
)
from tests.benchmarks_uci.classification._helpers import toy_set

EVERY = [pytest.param(shift, id=f"{shift.kind}-{shift.name}") for shift in SHIFTS.values()]


def make(kind):
    if kind == "tables":
        return toy_set(n_features=9)
    return toy_set(n_features=64, name="digits", shape=(8, 8))


def test_there_are_thirteen_shifts_of_images_and_eight_of_tables():
    assert [len(list_shifts(kind)) for kind in ("images", "tables")] == [13, 8]
    for kind in ("images", "tables"):
        assert any(shift.resembles for shift in list_shifts(kind))
        assert any(not shift.resembles for shift in list_shifts(kind))


@pytest.mark.parametrize("shift", EVERY)
def test_a_shift_starts_at_the_rows_and_moves_them_on(shift):
    dataset = make(shift.kind)
    shifter = Shifter(dataset, np.arange(60), seed=3)
    X = dataset.X[60:]
    np.testing.assert_allclose(shifter.apply(X, shift, 0.0), X, atol=1e-9)
    amounts = shift.largest * np.array([0.2, 0.9])
    once, twice = (shifter.apply(X, shift, amount) for amount in amounts)
    assert once.shape == X.shape
    assert np.isfinite(twice).all()
    moved = [np.abs(rows - X).mean() for rows in (once, twice)]
    assert moved[0] > 0
    if shift.name != "rotation":  # nearly half a turn may be closer to the start
        assert moved[0] < moved[1]
    np.testing.assert_array_equal(once, shifter.apply(X, shift, amounts[0]))
    if shift.kind == "images":
        assert X.min() - 1e-9 <= twice.min()
        assert twice.max() <= dataset.X[:60].max() + 1e-9


def test_the_seed_changes_the_draws():
    dataset, shift = make("tables"), find_shift("tables", "noise")
    one, two = (Shifter(dataset, np.arange(60), s).apply(dataset.X, shift, 1.0) for s in (0, 1))
    assert np.abs(one - two).mean() > 0.1


def test_a_constant_feature_has_the_unit_one():
    dataset = toy_set()
    X = dataset.X.copy()
    X[:, 0] = 5.0
    shifter = Shifter(dataset.__class__(**{**vars(dataset), "X": X}), np.arange(60), 0)
    rows = shifter.apply(X, find_shift("tables", "noise"), 1.0)
    assert 0.5 < rows[:, 0].std() < 1.5


def test_an_unknown_shift_or_amount_is_an_error():
    with pytest.raises(ValueError, match="no shift 'fog' of tables; there are noise, dropout"):
        find_shift("tables", "fog")
    shifter = Shifter(make("tables"), np.arange(60), 0)
    with pytest.raises(ValueError, match=r"amount of dropout must be between 0 and 0.95, got 2"):
        shifter.apply(np.zeros((2, 9)), find_shift("tables", "dropout"), 2.0)
    with pytest.raises(ValueError, match="severity must be one of 1, 2, 3, 4, 5, got 6"):
        measure_amount(1.0, 6)


def test_severities_are_fifths_of_the_strength():
    assert [measure_amount(2.0, s) for s in (1, 5)] == [0.4, 2.0]


def test_every_set_has_the_strength_of_each_shift():
    strengths = read_strengths()
    assert [*strengths] == [*SETS]
    for name, found in strengths.items():
        kind = "tables" if SETS[name].shape is None else "images"
        assert [*found] == [shift.name for shift in list_shifts(kind)]
        for shift in list_shifts(kind):
            assert 0 < found[shift.name] <= shift.largest
