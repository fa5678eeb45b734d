import numpy as np
import pytest

from benchmarks_uci.splits import random80


@pytest.mark.parametrize("n_rows", [10, 178, 442, 569])
def test_train_and_test_rows_part_all_rows(n_rows):
    train, test = random80(n_rows, seed=3)
    assert sorted([*train, *test]) == list(range(n_rows))
    assert len(test) == round(0.2 * n_rows)


def test_split_depends_on_the_seed_alone():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    first, again, other = random80(100, 0), random80(100, 0), random80(100, 1)
    assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_split_of_a_seed_stays_what_it_was():
    # Results of other days are compared with these rows.
    assert random80(10, seed=0)[1].tolist() == [4, 6]
