import itertools

import numpy as np
import pytest

from benchmarks_uci.datasets import SETS, DataCorrupt
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import RawTable
from tests.benchmarks_uci.datasets import _folders


@pytest.fixture
def boston():
    return RawTable(SETS["boston"].columns, _folders.rows("boston"), "a test")


def change(table, **changes):
    return RawTable(**{**vars(table), **changes})


def test_shuffled_rows_are_the_same_data(boston):
    shuffled = np.random.default_rng(0).permutation(len(boston.values))
    first = build(SETS["boston"], boston)
    second = build(SETS["boston"], change(boston, values=boston.values[shuffled]))
    assert first.content_hash == second.content_hash == SETS["boston"].content_hash
    assert np.array_equal(first.X[first.order], second.X[second.order])
    assert np.array_equal(first.y[first.order], second.y[second.order])
    assert np.array_equal(second.X, first.X[shuffled])
    assert first.in_original_order
    assert not second.in_original_order


def test_order_sorts_the_rows(boston):
    dataset = build(SETS["boston"], boston)
    rows = [tuple(row) for row in np.column_stack([dataset.X, dataset.y])[dataset.order]]
    assert all(a <= b for a, b in itertools.pairwise(rows))


def test_columns_get_the_order_and_names_of_the_registry(boston):
    order = [13, *range(12, -1, -1)]
    names = ["medv", *(f"V{i}" for i in range(13))]
    dataset = build(SETS["boston"], RawTable(tuple(names), boston.values[:, order], "a test"))
    assert np.array_equal(dataset.X, boston.values[:, :13])
    assert dataset.feature_names == boston.columns[:13]
    assert dataset.in_original_order
    assert dataset.X.flags.c_contiguous


def test_arrays_are_read_only(boston):
    dataset = build(SETS["boston"], boston)
    assert not any(a.flags.writeable for a in (dataset.X, dataset.y, dataset.order))


def test_naval_excludes_its_other_target_and_its_constants():
    spec, values = _folders.random_set("naval")
    dataset = build(spec, RawTable(spec.columns, values, "a test"))
    assert np.array_equal(dataset.X, values[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 14, 15]])
    assert np.array_equal(dataset.y, values[:, 16])
    assert dataset.in_original_order


def test_energy_excludes_the_cooling_load():
    spec, values = _folders.random_set("energy")
    names = ("X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "Y1", "Y2")
    dataset = build(spec, RawTable(names, values, "a test"))
    assert np.array_equal(dataset.X, values[:, :8])
    assert np.array_equal(dataset.y, values[:, 8])


def test_the_target_name_of_openml_is_known():
    spec, values = _folders.random_set("naval")
    names = tuple(
        {"compressor_decay": spec.openml_target}.get(column, column) for column in spec.columns
    )
    assert np.array_equal(build(spec, RawTable(names, values, "a test")).y, values[:, 16])


def test_table_without_the_target(boston):
    names = (*boston.columns[:-1], "price")
    with pytest.raises(DataCorrupt, match=r"boston: a test must have one column MEDV.*LSTAT, pri"):
        build(SETS["boston"], change(boston, columns=names))


def test_wrong_number_of_rows(boston):
    with pytest.raises(DataCorrupt, match=r"found 505 rows and 13 inputs .*expected 506 and 13"):
        build(SETS["boston"], change(boston, values=boston.values[1:]))


def test_wrong_number_of_columns(boston):
    with pytest.raises(DataCorrupt, match=r"found 506 rows and 12 inputs .*expected 506 and 13"):
        build(SETS["boston"], boston.select([*range(12), 13]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_or_infinite_value(boston, value):
    boston.values[2, 4] = value
    with pytest.raises(DataCorrupt, match=r"1 missing or infinite values.*row 3, column NOX"):
        build(SETS["boston"], boston)


def test_wrong_target(boston):
    with pytest.raises(DataCorrupt, match=r"MEDV: found 12.6531 and 7.134, expected 22.5328 and"):
        build(SETS["boston"], boston, target="LSTAT")


def test_column_with_another_unit(boston):
    boston.values[:, 5] *= 2.54
    with pytest.raises(DataCorrupt, match=r"RM: found 15.963 and .*expected 6.28463 and"):
        build(SETS["boston"], boston)


def test_value_with_another_last_digit(boston):
    boston.values[7, 12] += 0.01
    with pytest.raises(DataCorrupt, match=r"found [0-9a-f]{64}, expected 11fcd6dc7ab2"):
        build(SETS["boston"], boston)


def test_rounding_after_six_digits_does_not_matter(boston):
    boston.values[:] = boston.values * (1 + 1e-12)
    assert build(SETS["boston"], boston).content_hash == SETS["boston"].content_hash
