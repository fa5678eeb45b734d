"""The loop as one call: results, callbacks, resuming."""

import numpy as np
import pytest

from sk_deltauq.optimize import Optimizer, minimize
from tests.optimize._helpers import BOUNDS, bowl, quick

SETTINGS = {"surrogate": quick(), "n_initial": 4, "random_state": 0}


def test_it_is_the_loop_of_ask_and_tell():
    result = minimize(bowl, BOUNDS, 7, **SETTINGS)
    optimizer = Optimizer(BOUNDS, **SETTINGS)
    for _ in range(7):
        [x] = optimizer.ask()
        optimizer.tell(x, bowl(x))
    np.testing.assert_array_equal(result.x_iters, optimizer.X_)
    np.testing.assert_array_equal(result.func_vals, optimizer.y_)
    assert result.nfev == 7
    assert result.success
    assert result.fun == result.func_vals.min() == bowl(result.x)
    assert "7 evaluations" in result.message
    assert result.optimizer.ask().shape == (1, 2)


def test_the_callback_sees_each_evaluation_and_may_stop():
    seen = []

    def stop(result):
        seen.append(result.nfev)
        return result.nfev == 3

    result = minimize(bowl, BOUNDS, 9, callback=stop, **SETTINGS)
    assert seen == [1, 2, 3]
    assert result.nfev == 3
    assert "callback" in result.message


def test_an_error_of_the_function_loses_nothing(tmp_path):
    path, whole = tmp_path / "state.json", minimize(bowl, BOUNDS, 7, **SETTINGS)
    calls = []

    def break_once(x):
        calls.append(x)
        if len(calls) == 6:
            raise RuntimeError("the machine broke")
        return bowl(x)

    with pytest.raises(RuntimeError, match="broke"):
        minimize(break_once, BOUNDS, 7, path=path, **SETTINGS)
    result = minimize(break_once, BOUNDS, 7, path=path, **SETTINGS)
    np.testing.assert_array_equal(result.x_iters, whole.x_iters)
    assert len(calls) == 8
    again = minimize(break_once, BOUNDS, 7, path=path, **SETTINGS)
    assert again.nfev == 7
    assert len(calls) == 8


def test_without_any_success():
    result = minimize(lambda x: np.nan, BOUNDS, 3, **SETTINGS)
    assert not result.success
    assert result.x is None
    assert np.isnan(result.fun)
    assert "All of them failed" in result.message


def test_the_progress_bar_goes_to_stderr(capsys):
    minimize(bowl, BOUNDS, 2, verbose=True, **SETTINGS)
    captured = capsys.readouterr()
    assert "best=" in captured.err
    assert not captured.out


def test_the_function_cannot_change_the_points():
    def zero(x):
        x[:] = 0
        return 1.0

    assert (minimize(zero, BOUNDS, 2, **SETTINGS).x_iters != 0).any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"f": 3}, TypeError, "f must be callable"),
        ({"callback": 3}, TypeError, "callback must be callable"),
        ({"n_calls": 0}, ValueError, "n_calls"),
        ({"maximize": True}, ValueError, "minimise -f"),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        minimize(**{"f": bowl, "bounds": BOUNDS, **SETTINGS, **change})
