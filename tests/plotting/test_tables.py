import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_deltauq.plotting._tables import Table, make_grid, repeat_cells

CELLS = {
    "a": [1.0, 2.0, None, 4.0],
    "b": ["x", "y", "y", None],
    "c": [True, False, True, True],
}
FRAMES = {
    "pandas": pd.DataFrame(CELLS),
    "nullable": pd.DataFrame(CELLS).convert_dtypes(),
    "polars": pl.DataFrame(CELLS),
    "pyarrow": pa.table(CELLS),
    "array": np.array(list(zip(*CELLS.values(), strict=True)), dtype=object),
}
every_frame = pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)


@every_frame
def test_get_column_reads_all_frames(X):
    table = Table(X)
    np.testing.assert_array_equal(table.get_column(0), [1, 2, np.nan, 4])
    assert table.get_column(1).tolist() == ["x", "y", "y", None]
    assert table.get_column(2).tolist() == CELLS["c"]


@every_frame
def test_median_and_mode_are_observed_values(X):
    fixed = Table(X).fix_at_median(2, np.ones(4))
    assert fixed.get_column(0).tolist() == [2, 2]
    assert fixed.get_column(1).tolist() == ["y", "y"]
    assert fixed.get_column(2).tolist() == [True, True]
    weighted = Table(X).fix_at_median(1, np.array([0.0, 1.0, 0.0, 9.0]))
    assert weighted.get_column(0).tolist() == [4]
    assert weighted.get_column(2).tolist() == [True]


@every_frame
def test_replace_leaves_the_table_unchanged(X):
    table = Table(X)
    changed = table.take(np.array([0, 0])).replace(0, np.array([7.5, 8.5]))
    assert changed.get_column(0).tolist() == [7.5, 8.5]
    assert changed.get_column(1).tolist() == ["x", "x"]
    assert table.get_column(0)[0] == 1


@every_frame
def test_grid_of_categories_leaves_missing_values_out(X):
    table = Table(X)
    names, cells = make_grid(table, 1, 100)
    assert names.tolist() == ["x", "y"]
    changed = table.take(np.zeros(4, dtype=int)).replace(1, repeat_cells(cells, 2))
    assert changed.get_column(1).tolist() == ["x", "x", "y", "y"]
    values, _ = make_grid(table, 0, 4)
    np.testing.assert_allclose(values, [1, 2, 3, 4])


def test_integers_become_floats_if_the_grid_needs_floats():
    changed = Table(np.arange(4).reshape(2, 2)).replace(1, np.array([0.5, 1.5]))
    np.testing.assert_array_equal(changed.rows, [[0, 0.5], [2, 1.5]])


def test_find_column_accepts_names_and_positions():
    table = Table(FRAMES["pandas"])
    assert table.find_column("b") == table.find_column(1) == table.find_column(-2) == (1, "b")
    for feature in ("d", 3, True, 1.0):
        with pytest.raises(ValueError, match="feature must be"):
            table.find_column(feature)


def test_grid_rejects_too_many_categories():
    table = Table(pd.DataFrame({"id": [f"row {i}" for i in range(60)]}))
    with pytest.raises(ValueError, match="60 categories; a picture can show 1 to 50"):
        make_grid(table, 0, 100)
    names, _ = make_grid(table, 0, ["row 1", "row 2"])
    assert names.tolist() == ["row 1", "row 2"]


@pytest.mark.parametrize("X", [np.ones(3), np.ones((0, 2))])
def test_table_needs_rows_and_columns(X):
    with pytest.raises(ValueError, match="X must be a table with at least one row"):
        Table(X)
