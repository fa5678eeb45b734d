"""Fits and predictions on a GPU, if there is one, and models that move from the GPU to the CPU."""

import io
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from tests._helpers import TINY, assert_finite, predict_all

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

METHODS = [DeltaUQRegressor, DeltaUQClassifier] + [
    getattr(baselines, name) for name in baselines.__all__ if not name.startswith("PBP")
]


def make(cls, **params):
    known = cls().get_params()
    params = {**TINY, "max_iter": 5, "early_stopping": True, "device": "cuda", **params}
    return cls(**{name: value for name, value in params.items() if name in known})


def data(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 3] = rng.random(300) < 0.02  # a rare level
    y = X[:, 0] + 0.2 * rng.normal(size=300)
    return X, y > 0 if is_classifier(cls()) else y


def to_cpu(model):
    """Move a fitted model to the CPU, as unpickling does on a machine without a GPU."""
    net = model.net_
    net.module_.cpu(), net.criterion_.cpu()
    net.device = "cpu"
    return model


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("params", [{}, {"n_members": 3, "hidden_layer_sizes": (16, 16)}])
def test_predictions_are_the_same_on_gpu_and_cpu(cls, params):
    X, y = data(cls)
    model = make(cls, **params).fit(X, y)
    assert {p.device.type for p in model.net_.module_.parameters()} == {"cuda"}
    on_gpu = predict_all(model, X)
    on_cpu = predict_all(to_cpu(pickle.loads(pickle.dumps(model))), X)
    assert_finite(on_gpu)
    for name, value in on_gpu.items():
        if value.dtype.kind == "f" and name != "sample_y":
            np.testing.assert_allclose(value, on_cpu[name], rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("cls", METHODS)
def test_loss_curves_are_the_same_on_gpu_and_cpu(cls):
    X, y = data(cls)
    curves = [
        make(cls, device=device, tol=0.0).fit(X, y).loss_curve_ for device in ("cuda", "cpu")
    ]
    np.testing.assert_allclose(*curves, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("cls", METHODS)
def test_training_continues_on_the_gpu(cls):
    X, y = data(cls)
    model = make(cls, warm_start=True).fit(X, y).fit(X, y)
    more = {"classes": [False, True]} if is_classifier(model) else {}
    started = make(cls, early_stopping=False).partial_fit(X, y, **more)
    assert_finite(predict_all(started.partial_fit(X, y), X))
    assert_finite(predict_all(model, X))


def test_the_same_seed_gives_the_same_model():
    X, y = data(DeltaUQRegressor)
    model = make(DeltaUQRegressor)
    one, other = (predict_all(clone(model).fit(X, y), X) for _ in range(2))
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_global_random_states_of_torch_are_unchanged():
    X, y = data(DeltaUQRegressor)
    states = torch.get_rng_state(), torch.cuda.get_rng_state()

    def module(n_in, n_out):
        layers = torch.nn.Linear(n_in, 8), torch.nn.Dropout(), torch.nn.Linear(8, n_out)
        return torch.nn.Sequential(*layers)

    make(DeltaUQRegressor, module=module).fit(X, y).predict(X)
    assert torch.equal(states[0], torch.get_rng_state())
    assert torch.equal(states[1], torch.cuda.get_rng_state())


@pytest.mark.parametrize("dropout", [0.1, "auto"])
def test_dropout_rates_are_chosen_on_the_gpu(dropout):
    X, y = data(baselines.MCDropoutRegressor)
    model = make(baselines.MCDropoutRegressor, dropout=dropout).fit(X, y)
    assert_finite(predict_all(model, X))


def test_many_rows_are_predicted_in_chunks_of_bounded_memory():
    X, y = data(DeltaUQRegressor)
    model = make(DeltaUQRegressor).fit(X, y)
    many = np.tile(X, (1000, 1))
    torch.cuda.reset_peak_memory_stats()
    mean, std = model.predict(many, return_std=True)
    assert torch.cuda.max_memory_allocated() < 2**31
    np.testing.assert_allclose(mean[:300], model.predict(X), rtol=1e-4, atol=1e-5)
    assert (std > 0).all()


def test_torch_saves_and_loads_the_module():
    X, y = data(DeltaUQRegressor)
    model = make(DeltaUQRegressor).fit(X, y)
    buffer = io.BytesIO()
    torch.save(model.net_.module_.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer, map_location="cpu")
    assert {value.device.type for value in state.values()} == {"cpu"}
