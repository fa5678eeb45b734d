"""Estimators predict the same under all global settings of torch in the host program."""

import contextlib
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.base import is_classifier

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._host import plain_torch
from tests._helpers import ONE_PER_KIND, assert_same_predictions, mark_long, predict_all, regressor
from tests.test_common import PUBLIC_ESTIMATORS

# Each type of network once; ensembles have no type of their own.
QUICK = ONE_PER_KIND | {"MCDropoutClassifier", "VariationalBNNRegressor"}
SMALL = {
    **{"hidden_layer_sizes": (8,), "max_iter": 2, "n_iter_no_change": 2, "random_state": 0},
    **{"n_members": 2, "n_anchors": 5, "n_masks": 5, "n_draws": 5, "embedding": "periodic"},
}


@contextlib.contextmanager
def default_device(name):
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


STATES = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "default device": lambda: default_device("meta"),
    "device block": lambda: torch.device("meta"),
    "float64": lambda: default_dtype(torch.float64),
    "float16": lambda: default_dtype(torch.float16),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "deterministic": deterministic,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "plain": contextlib.nullcontext,
}


def read_state():
    return {
        "autocast": [torch.is_autocast_enabled(device) for device in ("cpu", "cuda")],
        "device": torch.empty(0).device,
        "dtype": torch.get_default_dtype(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "threads": torch.get_num_threads(),
    }


def make_small(cls):
    parameters = inspect.signature(cls).parameters
    return cls(**{name: SMALL[name] for name in SMALL if name in parameters})


def make_data(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    return X, (y > 0 if is_classifier(cls()) else y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("cls", mark_long(PUBLIC_ESTIMATORS, QUICK), ids=lambda cls: cls.__name__)
def test_estimators_predict_the_same_in_every_state_of_torch(cls):
    X, y = make_data(cls)
    plain = make_small(cls).fit(X, y)
    expected, continued = predict_all(plain, X), plain.partial_fit(X, y).predict(X, True)
    for name, state in STATES.items():
        model = make_small(cls)
        with state():
            before = read_state()
            found = predict_all(model.fit(X, y), X)
            after = model.partial_fit(X, y).predict(X, True)
            assert read_state() == before, name
        np.testing.assert_equal(found, expected, err_msg=name)
        np.testing.assert_equal(after, continued, err_msg=name)
        np.testing.assert_equal(model.predict(X, True), continued, err_msg=name)
    with ThreadPoolExecutor(1) as pool:  # a new thread has its own settings of torch
        model = make_small(cls)
        found = pool.submit(lambda: predict_all(model.fit(X, y), X)).result()
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("state", STATES)
def test_module_of_the_user_is_made_with_default_settings_of_torch(regression_data, state):
    seen = []

    def module(n_in, n_out):
        seen.append(read_state())
        return torch.nn.Sequential(torch.nn.Linear(n_in, 8), torch.nn.Linear(8, n_out))

    expected = predict_all(regressor(module=module).fit(*regression_data), regression_data[0])
    with STATES[state]():
        model = regressor(module=module).fit(*regression_data)
    assert_same_predictions(predict_all(model, regression_data[0]), expected)
    ignored = {"deterministic", "anomaly", "threads"}
    plain, inside = ({k: v for k, v in s.items() if k not in ignored} for s in seen)
    assert inside == plain


@pytest.mark.parametrize("state", STATES)
def test_prediction_in_threads_is_the_same_in_every_state(regression_data, state):
    model = DeltaUQRegressor(n_anchors=60, max_iter=2, random_state=0).fit(*regression_data)
    X = np.random.default_rng(0).uniform(size=(10 * model._predictor().count_chunk_rows(), 3))
    expected = model.predict(X, return_std=True)
    with STATES[state]():
        found = model.predict(X, return_std=True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("state", sorted(set(STATES) - {"no_grad", "inference_mode"}))
def test_a_torch_module_predicts_the_same_in_every_state(regression_data, state):
    module = regressor().fit(*regression_data).to_torch()

    def differentiate(state):
        rows = torch.from_numpy(np.array(regression_data[0])).requires_grad_()
        with state():
            found = module(rows)
        # Outside the block, because torch computes gradients in the autocast mode of the caller.
        (gradient,) = torch.autograd.grad(found.mean.sum() + found.std.sum(), rows)
        return *(part.detach() for part in found), gradient

    expected, found = (differentiate(s) for s in (contextlib.nullcontext, STATES[state]))
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


def test_a_torch_module_follows_the_gradient_mode_of_the_caller(regression_data):
    module = regressor().fit(*regression_data).to_torch()
    rows = torch.from_numpy(np.array(regression_data[0])).requires_grad_()
    with torch.no_grad():
        assert not any(part.requires_grad for part in module(rows))
    assert all(part.requires_grad for part in module(rows))


@pytest.mark.parametrize("state", STATES)
def test_plain_torch_restores_the_state_after_an_error(state):
    with STATES[state]():
        before = read_state()
        with pytest.raises(ZeroDivisionError), plain_torch(gradients=True):
            raise ZeroDivisionError
        assert read_state() == before


def test_dtype_stays_float32_while_another_block_is_open():
    entered, left = threading.Barrier(2, timeout=20), threading.Barrier(2, timeout=20)

    def stay():
        with plain_torch():
            entered.wait()
            left.wait()
            return torch.get_default_dtype()

    with default_dtype(torch.float64):
        with ThreadPoolExecutor(1) as pool:
            with plain_torch():
                future = pool.submit(stay)
                entered.wait()
            left.wait()
            assert future.result() == torch.float32
        assert torch.get_default_dtype() == torch.float64
