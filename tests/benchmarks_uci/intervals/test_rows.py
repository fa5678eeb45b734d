import numpy as np

from benchmarks_uci.intervals.rows import read_scores, split_set, write_scores
from benchmarks_uci.regression.protocols import random80
from tests.benchmarks_uci._helpers import toy_dataset


def test_rows_are_those_of_the_protocol():
    dataset = toy_dataset()
    (X, y), (X_test, y_test) = split_set(dataset, 130)
    split = random80(dataset, 130)
    np.testing.assert_array_equal(X, dataset.X[split.train])
    np.testing.assert_array_equal(y_test, dataset.y[split.test])
    assert len(y) + len(X_test) == 60


def test_scores_are_written_with_five_digits(tmp_path):
    path = tmp_path / "scores.csv"
    write_scores([{"data": "toy", "seed": 3, "score": 1.23456789}], path)
    assert read_scores(path) == [{"data": "toy", "seed": "3", "score": "1.2346"}]
    assert [file.name for file in tmp_path.iterdir()] == ["scores.csv"]
