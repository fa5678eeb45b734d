import hashlib

import numpy as np
import pytest

from benchmarks_uci.classification.sets import LOCAL, NAMES, SETS, build, load, number_rows
from benchmarks_uci.datasets import DataCorrupt
from tests.benchmarks_uci.classification._helpers import toy_spec

X, LABELS = [[1, 2.5], [3, 4], [0, 9], [3, 7]], ["a", "b", "a", "b"]


@pytest.mark.parametrize("name", LOCAL)
def test_local_sets_are_the_expected_rows(name):
    dataset, spec = load(name), SETS[name]
    assert dataset.X.shape == (spec.n_rows, spec.n_features)
    assert sorted(np.unique(dataset.y)) == list(range(spec.n_classes))
    assert dataset.content_hash == spec.content_hash
    assert dataset.kind == ("images" if name == "digits" else "tables")
    assert not dataset.X.flags.writeable
    if dataset.shape is not None:
        assert np.prod(dataset.shape) == spec.n_features


def test_every_set_names_a_local_source_of_other_rows():
    assert all(spec.other in (*LOCAL, "photos") for spec in SETS.values())
    assert all(spec.other != name for name, spec in SETS.items())
    assert {*LOCAL} < {*NAMES}


def test_the_hash_and_the_classes_do_not_depend_on_the_source():
    spec = toy_spec()
    one = build(spec, X, LABELS, "one")
    # Other names of the classes, and another order of the rows
    rows = [2, 0, 3, 1]
    two = build(spec, np.array(X)[rows], np.array(["9", "9", "1", "1"]), "two")
    assert one.content_hash == two.content_hash
    np.testing.assert_array_equal(one.X[one.order], two.X[two.order])
    np.testing.assert_array_equal(one.y[one.order], two.y[two.order])
    assert one.X[one.order][0].tolist() == [0, 9]
    # By hand: class 0 holds the first of the sorted rows.
    lines = ["0,9,0", "1,2.5,0", "3,4,1", "3,7,1"]
    assert one.content_hash == hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X[:3], LABELS[:3], "found 3 rows, 2 features and 2 classes, expected 4, 2 and 2"),
        (X, ["a", "a", "a", "a"], "1 classes"),
        (X, ["b", "b", "a", "a"], "SHA-256 of the sorted rows"),
        ([*X[:3], [3, np.nan]], LABELS, "missing or infinite"),
    ],
)
def test_other_rows_are_an_error(rows, labels, message):
    with pytest.raises(DataCorrupt, match=message):
        build(toy_spec(), rows, labels, "a file")


def test_a_changed_label_changes_the_hash():
    spec = toy_spec()
    hashes = {
        number_rows(spec, X, labels, "").content_hash for labels in (LABELS, ["a", "b", "b", "b"])
    }
    assert len(hashes) == 2


def test_an_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"no data set 'iris'; there are digits"):
        load("iris")
