"""Thread counts of torch, and `map_in_threads`."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._host import map_in_threads, one_thread


@pytest.mark.usefixtures("two_threads")
def test_one_thread_sets_the_count_and_restores_it():
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_the_count_is_restored_after_an_error():
    with pytest.raises(RuntimeError, match="in the block"), one_thread():
        raise RuntimeError("in the block")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_overlapping_blocks_in_threads_restore_the_first_count():
    entered, first_left = Barrier(2, timeout=20), Barrier(2, timeout=20)

    def leave_first():
        with one_thread():
            entered.wait()
        first_left.wait()
        return torch.get_num_threads()

    def leave_last():
        with one_thread():
            entered.wait()
            first_left.wait()
        return torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(leave_first), pool.submit(leave_last)]
        counts = [future.result() for future in futures]
    assert counts == [2, 2]
    with ThreadPoolExecutor(1) as pool:  # new threads start with the count of the process
        assert pool.submit(torch.get_num_threads).result() == 2


@pytest.mark.usefixtures("two_threads")
def test_an_inner_block_does_not_end_the_outer_block():
    with one_thread():
        with one_thread():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("n_items", "n_threads"), [(40, 3), (5, 3), (0, 3), (40, 1)])
def test_map_in_threads_equals_map(n_items, n_threads):
    with one_thread():
        found = list(
            map_in_threads(lambda i: (i, torch.get_num_threads()), range(n_items), n_threads)
        )
    assert found == [(i, 1) for i in range(n_items)]


def test_an_error_in_a_thread_reaches_the_caller():
    with one_thread(), pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda i: 1 / (i - 20), range(40), 2))


@pytest.mark.usefixtures("two_threads")
def test_predictions_do_not_depend_on_the_number_of_threads(regression_data):
    model = DeltaUQRegressor(n_anchors=60, max_iter=2, random_state=0).fit(*regression_data)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(10 * model._predictor().count_chunk_rows() + 3, 3))
    shared = model.predict(X, return_std=True)
    torch.set_num_threads(1)
    alone = model.predict(X, return_std=True)
    torch.set_num_threads(2)
    np.testing.assert_array_equal(shared, alone)
