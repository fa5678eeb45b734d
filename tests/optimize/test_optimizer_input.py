"""Invalid settings, points and values of the optimizer, and errors before the first value."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from tests.optimize._helpers import make

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"surrogate": DeltaUQClassifier()}, TypeError, "regressor of sk_deltauq.*Classifier"),
        ({"surrogate": Ridge()}, TypeError, "must be a regressor of sk_deltauq, .*, got Ridge"),
        ({"surrogate": DeltaUQRegressor}, TypeError, r"the class .* Write DeltaUQRegressor\(\)"),
        ({"surrogate": DeltaUQRegressor(n_anchors=0)}, ValueError, "'n_anchors' parameter"),
        (
            {"surrogate": DeltaUQRegressor(categorical_features=[1])},
            ValueError,
            "categorical_features=None or 'from_dtype'",
        ),
        ({"surrogate": DeltaUQRegressor(warm_start=True)}, ValueError, "have warm_start=False"),
        ({"acquisition": "ei"}, ValueError, "'auto', 'log_ei'.*got 'ei'"),
        ({"acquisition": np.array([1, 2])}, ValueError, "acquisition must be one of"),
        ({"maximize": "min"}, ValueError, "maximize must be True or False, got 'min'"),
        ({"noisy": "no"}, ValueError, "noisy must be True or False, got 'no'"),
        ({"integers": None}, ValueError, "integers must be a list of positions.*got None"),
        ({"integers": 1}, ValueError, "integers must be a list of positions.*got 1"),
        ({"n_initial": 1}, ValueError, "from 2 on, got 1"),
        ({"n_initial": 2.5}, ValueError, "n_initial must be an integer from 2 on, got 2.5"),
        ({"bounds": [(1, 0)]}, ValueError, "lower < upper"),
        ({"bounds": [(0, np.inf)]}, ValueError, "bounds must be finite"),
        ({"integers": [5]}, ValueError, "integers must hold positions .* 0 to 1, got 5"),
        ({"random_state": "a"}, ValueError, "random_state must be an int"),
        ({"random_state": -1}, ValueError, "random_state must be an int"),
        ({"path": 3}, TypeError, "path must be a str or path-like object, got int"),
        (
            {"path": "no-such-folder/state.json"},
            ValueError,
            "path must be in a folder that exists",
        ),
    ],
)
def test_optimizer_rejects_invalid_settings(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.5, 5], np.inf, "at most 1e\\+100 in size, got inf for point 0. Use NaN"),
        ([[0.5, 5], [0.1, 5]], [1.0, -1e200], "got -1e\\+200 for point 1"),
        ([0.5, 5], "1.5", "numbers, got '1.5'"),
        ([0.5, 5], None, "numbers, got None. Does your function return its value"),
        ([[0.5, 5], [0.1, 5]], [1.0, None], "numbers, got None"),
        ([0.5, 5], [1.0, 2.0], "one value for each of 1 points"),
        ([[0.5, 5], [0.1, 5]], 1.0, "each of 2 points"),
        ([0.5, 11], 1.0, r"parameter 1 is outside of its bounds \(0 to 10\): 11"),
        ([np.nan, 5], 1.0, "x has NaN or infinity"),
        ([0.5, np.inf], 1.0, "x has NaN or infinity"),
        ([0.5], 1.0, "x must be one point of 2 numbers"),
    ],
)
def test_tell_rejects_invalid_points_and_values_and_stores_nothing(x, y, message):
    optimizer = make()
    optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(x, y)
    assert len(optimizer.y_) == 0
    assert len(optimizer.pending_) == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [([[0.5, 5]], 1.0), ([0.5, 5], [[1.0]]), ([[0.5, 5], [0.1, 1]], [[1.0], [2.0]])],
    ids=["one", "one-cell", "column"],
)
def test_tell_accepts_one_value_as_array_or_column(x, y):
    optimizer = make()
    optimizer.tell(x, y)
    assert optimizer.y_.tolist() == np.ravel(y).tolist()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_ask_rejects_invalid_numbers_of_points(n):
    with pytest.raises(ValueError, match="n must be"):
        make().ask(n)


def test_best_point_needs_a_value():
    optimizer = make()
    for y in (None, np.nan):
        if y is not None:
            optimizer.tell([0.5, 5], y)
        for name in ("x_best_", "y_best_"):
            with pytest.raises(NotFittedError, match="No point has a value yet: use tell first"):
                getattr(optimizer, name)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, np.nan], [1.0, 1.0, 1.0]])
def test_surrogate_needs_two_different_values(values):
    optimizer = make()
    for i, value in enumerate(values):
        optimizer.tell([0.1 * i, 5], value)
    with pytest.raises(NotFittedError, match="The surrogate needs two different values"):
        _ = optimizer.estimator_


def test_error_of_optimizer_without_botorch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "botorch", None)
    with pytest.raises(ImportError, match=r"Optimizer needs BoTorch.*'sk-deltauq\[optimize\]'"):
        make()


@pytest.mark.long
def test_all_entry_points_without_botorch_name_the_extra():
    code = """
        import sys
        sys.modules["botorch"] = None
        import sk_deltauq.optimize as optimize
        optimize.surrogate()
        for call in (lambda: optimize.Optimizer([(0, 1)]), lambda: optimize.BoTorchModel,
                     lambda: optimize.minimize(sum, [(0, 1)])):
            try:
                call()
            except ImportError as error:
                assert "pip install 'sk-deltauq[optimize]'" in str(error), error
            else:
                raise AssertionError("no error")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
