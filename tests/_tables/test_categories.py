"""Which columns are categories, and errors for columns of other kinds."""

import numpy as np
import pandas as pd
import pytest

from sk_deltauq._tables.categories import (
    find_categories,
    find_kinds,
    read_labels,
    refuse_other_kinds,
)

NAMES = ("age", "town", "grade")
KINDS = ["number", "text", "category"]


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ("from_dtype", (1, 2)),
        (None, ()),
        ([], ()),
        (["town"], (1,)),
        (("grade", "town", "town"), (1, 2)),
        (np.array(["age"]), (0,)),
        (pd.Index(["age"]), (0,)),
        ([2, 0], (0, 2)),
        ([True, False, False], (0,)),
        (np.array([False, False, False]), ()),
    ],
    ids=str,
)
def test_categories_by_type_name_position_and_mask(wanted, positions):
    assert find_categories(KINDS, wanted, NAMES) == positions


@pytest.mark.parametrize(
    ("wanted", "names", "message"),
    [
        (["city"], NAMES, r"names \['city'\], which X does not have. Its columns are \['age'"),
        (["town"], None, r"X has no column names. Pass a data frame, or the positions"),
        ([3], NAMES, r"must be 'from_dtype', None, or an array .* 0 to 2, .* 3 flags, got \[3\]"),
        ([-1], NAMES, r"got \[-1\]"),
        ([True, False], NAMES, r"3 flags, got \[True, False\]"),
        ([1.0], NAMES, r"got \[1.0\]"),
        ([[1]], NAMES, r"got \[\[1\]\]"),
    ],
)
def test_invalid_selections_are_rejected(wanted, names, message):
    with pytest.raises(ValueError, match=message):
        find_categories(KINDS, wanted, names)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("date", "column 'town' with dates or times. Convert them to numbers.*or drop them"),
        ("complex", "column 'town' with complex numbers. Convert each of them to two columns"),
        ("mixed", r"column 'town' with text and numbers. .*astype\(str\).*or drop them"),
        ("other", "column 'town' with cells that are neither numbers nor text.*drop them"),
        ("text", "column 'town' with text or categories, because."),
        ("category", "column 'town' with text or categories, because."),
    ],
)
def test_the_error_about_other_kinds_explains_the_solution(kind, message):
    with pytest.raises(ValueError, match=message):
        refuse_other_kinds(["number", kind], (), NAMES, "because.")


def test_known_kinds_are_accepted():
    refuse_other_kinds(KINDS, (1, 2), NAMES, "")


def test_kinds_of_objects_come_from_their_cells():
    X = pd.DataFrame({"a": [1, None], "b": ["x", None], "c": ["x", 1]}, dtype=object)
    assert find_kinds(X) == ["number", "text", "mixed"]
    assert find_kinds(np.array([["x", 1]], dtype=object)) == ["number", "number"]


def test_labels_have_plain_types_and_none_for_missing_values():
    X = pd.DataFrame(
        {
            "a": pd.Categorical([1, None, 2]),
            "b": pd.Series(["x", pd.NA, "y"], dtype="string"),
            "c": pd.cut([0.5, 1.5, np.nan], [0, 1, 2]),
            "d": np.array([np.str_("x"), np.float64(np.nan), None], dtype=object),
            "e": [True, False, True],
        }
    )
    labels = [read_labels(X, position, tuple(X)).tolist() for position in range(5)]
    assert labels == [
        [1, None, 2],
        ["x", None, "y"],
        ["(0, 1]", "(1, 2]", None],
        ["x", None, None],
        [True, False, True],
    ]
    assert type(labels[3][0]) is str
    assert read_labels(np.array([[b"x"]]), 0, None).tolist() == ["x"]
    short = np.array([[np.float32(0.1)], [np.float16(0.2)], [0.3]], dtype=object)
    assert read_labels(short, 0, None).tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pd.Categorical(["x", 1]), "column 'a' with text and numbers"),
        ([[1], [2]], "column 'a' with cells that are neither numbers nor text"),
    ],
)
def test_cells_that_are_no_labels_are_rejected(cells, message):
    with pytest.raises(ValueError, match=message):
        read_labels(pd.DataFrame({"a": cells}), 0, ("a",))
