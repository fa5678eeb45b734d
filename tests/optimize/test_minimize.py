"""`minimize`: results, callbacks, failures, and continued optimisations."""

import numpy as np
import pytest

from sk_deltauq.optimize import Optimizer, minimize
from tests.optimize._helpers import BOUNDS, bowl, quick

SETTINGS = {"surrogate": quick(), "n_initial": 4, "random_state": 0}


def test_minimize_equals_the_loop_of_ask_and_tell():
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
    np.testing.assert_array_equal(result.optimizer.ask(), optimizer.ask())


def test_callback_gets_each_evaluation_and_can_stop():
    seen = []

    def stop(result):
        seen.append(result.nfev)
        return result.nfev == 3

    result = minimize(bowl, BOUNDS, 9, callback=stop, **SETTINGS)
    assert seen == [1, 2, 3]
    assert result.nfev == 3
    assert "callback" in result.message


@pytest.mark.parametrize("kind", ["numpy", "exception"])
def test_callback_stops_by_numpy_bool_and_by_exception(kind):
    def stop(result):
        if kind == "exception" and result.nfev == 2:
            raise StopIteration
        return (result.func_vals < np.inf).sum() == 2 if kind == "numpy" else "text"

    result = minimize(bowl, BOUNDS, 5, callback=stop, **SETTINGS)
    assert result.nfev == 2
    assert "callback" in result.message


def test_small_space_of_integers_is_evaluated_completely():
    result = minimize(lambda x: float((x[0] - 2) ** 2), [(0, 3)], 10, integers=[0], **SETTINGS)
    assert result.nfev == 4
    assert result.x.tolist() == [2]
    assert result.message == "4 evaluations were made. These are all points of the space."


@pytest.mark.parametrize(
    "value", [np.inf, -np.inf, 1e200, 10**200, 10**400, np.array([np.inf]), np.float32(np.inf)]
)
def test_value_that_cannot_be_fitted_counts_as_failure(value):
    calls = []

    def f(x):
        calls.append(x)
        return value if len(calls) == 2 else bowl(x)

    with pytest.warns(UserWarning, match="counts as a failed evaluation"):
        result = minimize(f, BOUNDS, 6, **SETTINGS)
    assert np.isnan(result.func_vals).tolist() == [False, True, *[False] * 4]
    assert np.isfinite(result.fun)


def test_function_without_a_value_raises_after_one_call():
    calls = []
    with pytest.raises(ValueError, match=r"got None\. Does your function return its value"):
        minimize(lambda x: calls.append(x), BOUNDS, 6, **SETTINGS)
    assert len(calls) == 1


def test_stored_evaluations_count_as_calls(tmp_path):
    path = tmp_path / "state.json"
    minimize(bowl, BOUNDS, 4, path=path, **SETTINGS)
    result = minimize(bowl, BOUNDS, 2, path=path, **SETTINGS)
    assert result.nfev == 4
    assert result.message == "4 evaluations were made."


def test_minimize_continues_after_an_error_of_the_function(tmp_path):
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


def test_result_without_any_success():
    result = minimize(lambda x: np.nan, BOUNDS, 3, **SETTINGS)
    assert not result.success
    assert result.x is None
    assert np.isnan(result.fun)
    assert "All of them failed" in result.message


def test_progress_bar_goes_to_stderr(capsys):
    minimize(bowl, BOUNDS, 2, verbose=True, **SETTINGS)
    captured = capsys.readouterr()
    assert "best=" in captured.err
    assert not captured.out


def test_function_cannot_change_the_points():
    def zero(x):
        x[:] = 0
        return 1.0

    assert (minimize(zero, BOUNDS, 2, **SETTINGS).x_iters != 0).any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"f": 3}, TypeError, "f must be callable"),
        ({"callback": 3}, TypeError, "callback must be callable"),
        ({"n_calls": 0}, ValueError, "n_calls must be an integer from 1 on, got 0"),
        ({"n_calls": True}, ValueError, "n_calls must be an integer from 1 on, got True"),
        ({"n_calls": 2.0}, ValueError, "n_calls must be an integer from 1 on, got 2.0"),
        ({"maximize": True}, ValueError, "minimise -f"),
    ],
)
def test_minimize_rejects_invalid_input(change, error, message):
    with pytest.raises(error, match=message):
        minimize(**{"f": bowl, "bounds": BOUNDS, **SETTINGS, **change})
