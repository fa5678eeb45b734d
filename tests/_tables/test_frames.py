"""Tables of pandas, polars and pyarrow have the same names, kinds and cells."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_deltauq._columns import is_missing
from sk_deltauq._tables.frames import (
    find_kind,
    is_frame,
    list_kinds,
    list_names,
    read_cells,
    read_numbers,
)

DAY = datetime.date(2026, 1, 1)
COLUMNS = {
    "number": [1.5, None],
    "flag": [True, None],
    "text": ["red", None],
    "day": [DAY, None],
    "time": [datetime.datetime(2026, 1, 1), None],
    "span": [datetime.timedelta(days=1), None],
    "list": [[1, 2], None],
    "record": [{"a": 1}, None],
}
KINDS = ["number", "number", "text", "date", "date", "date", "other", "other"]
MAKERS = {
    "pandas": lambda: pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
}


@pytest.mark.parametrize("name", MAKERS)
def test_names_kinds_and_cells(name):
    X = MAKERS[name]()
    assert is_frame(X)
    assert list_names(X) == list(COLUMNS)
    assert list_kinds(X) == KINDS
    np.testing.assert_array_equal(read_numbers(X, 0), [1.5, np.nan])
    np.testing.assert_array_equal(read_numbers(X, 1), [1.0, np.nan])
    first, second = read_cells(X, 2)
    assert first == "red"
    assert second is None or second is pd.NA or second != second


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series(["a"], dtype="category"), "category"),
        (pd.Series(["a"], dtype="string"), "text"),
        (pd.Series(["a"], dtype="str"), "text"),
        (pd.Series(["a"], dtype=object), "object"),
        (pd.Series([1], dtype="Int64"), "number"),
        (pd.Series([1], dtype="uint8"), "number"),
        (pd.Series([True], dtype="boolean"), "number"),
        (pd.Series([0.0], dtype="Sparse[float64]"), "number"),
        (pd.Series(pd.period_range("2026", periods=1)), "date"),
        (pd.Series(pd.interval_range(0, 1)), "other"),
        (
            pd.Series(["a"]).astype(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
            "category",
        ),
        (pd.Series([1.0], dtype="double[pyarrow]"), "number"),
        (pl.Series(["a"], dtype=pl.Categorical), "category"),
        (pl.Series(["a"], dtype=pl.Enum(["a"])), "category"),
        (pl.Series([Decimal(1)]), "number"),
        (pl.Series([None]), "number"),
        (pa.array(["a"]).dictionary_encode(), "category"),
        (pa.array(["a"], pa.large_string()), "text"),
        (pa.array([Decimal(1)]), "number"),
        (pa.array([None]), "number"),
        (pa.array([b"a"]), "other"),
        (pd.Series([1 + 2j]), "complex"),
        (pd.Series([1 + 2j]).astype("Sparse[complex128]"), "complex"),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", value))),
)
def test_kind_of_a_column_type(column, kind):
    X = pa.table({"a": column}) if isinstance(column, pa.Array) else column.to_frame("a")
    assert list_kinds(X) == [kind]
    if kind == "number":
        assert read_numbers(X, 0).dtype == np.float64


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2.5, True, Decimal(1), None, pd.NA], "number"),
        ([None, np.nan], "number"),
        (["a", None, np.nan, pd.NA], "text"),
        (["a", 1], "mixed"),
        ([DAY, pd.NaT], "date"),
        ([np.datetime64("2026-01-01")], "date"),
        ([[1]], "other"),
        ([1 + 2j, np.complex64(1)], "complex"),
        ([DAY, 1], "other"),
    ],
    ids=str,
)
def test_kind_of_cells_of_objects(cells, kind):
    assert find_kind(cells) == kind


def test_numbers_in_columns_of_objects_are_read():
    cells = np.array([1, True, Decimal("2.5"), None, pd.NA], dtype=object)
    expected = [1, 1, 2.5, np.nan, np.nan]
    objects = pl.Series("a", cells[:4].tolist(), dtype=pl.Object).to_frame()
    for X in (pd.DataFrame({"a": cells}), cells[:, None], objects):
        np.testing.assert_array_equal(read_numbers(X, 0), expected[: len(X)])


def test_integers_beyond_float64_become_infinite():
    frame = pd.DataFrame({"k": pd.Series([10**400, -(10**400), 1, None], dtype=object)})
    np.testing.assert_array_equal(read_numbers(frame, 0), [np.inf, -np.inf, 1, np.nan])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_short_floats_become_the_numbers_that_they_print(dtype):
    values = np.array([0.1, 0.2, np.nan, 3.0], dtype=dtype)
    array = pa.array(values, from_pandas=True)
    columns = [pd.Series(values), pd.Series(values, dtype=pd.ArrowDtype(array.type))]
    tables = [values[:, None], pa.table({"a": array})]
    if dtype != "float16":  # these types have no float16
        others = ["category", dtype.capitalize(), f"Sparse[{dtype}]"]
        columns += [pd.Series(values).astype(other) for other in others]
        tables.append(pl.DataFrame({"a": values}, nan_to_null=True))
        tables.append(pa.table({"a": array.dictionary_encode()}))
    tables += [column.to_frame("a") for column in columns]
    for table in tables:
        cells = [np.nan if is_missing(cell) else cell for cell in read_cells(table, 0)]
        np.testing.assert_array_equal(cells, [0.1, 0.2, np.nan, 3.0], str(type(table)))


def test_integers_beyond_2_to_53_are_rounded():
    column = {"k": [2**60 + 1, 2**53 + 1, 3]}
    for frame in (pd.DataFrame(column), pl.DataFrame(column), pa.table(column)):
        np.testing.assert_array_equal(read_numbers(frame, 0), [2.0**60, 2.0**53, 3])


def test_arrays_and_lists_are_no_frames():
    assert not any(map(is_frame, (np.eye(2), [[1]], pd.Series([1]), {"a": 1})))
