import numpy as np

from benchmarks_uci.intervals.splits import split_set
from benchmarks_uci.regression.protocols import random80
from tests.benchmarks_uci._helpers import toy_dataset


def test_rows_follow_the_protocol():
    dataset = toy_dataset()
    (X, y), (X_test, y_test) = split_set(dataset, 130)
    split = random80(dataset, 130)
    np.testing.assert_array_equal(X, dataset.X[split.train])
    np.testing.assert_array_equal(y_test, dataset.y[split.test])
    assert len(y) + len(X_test) == 60
