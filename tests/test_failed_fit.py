"""A fit that fails or is interrupted leaves the last fit, or an unfitted estimator."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError

from sk_deltauq._training.net import StackedNet
from tests._helpers import assert_finite, assert_same_predictions, predict_all


def interrupt(net, *args, **kwargs):
    raise KeyboardInterrupt


BAD_CALLS = {
    "infinity": lambda X, y: (np.where(X[3] == X, np.inf, X), y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "too few targets": lambda X, y: (X, y[:-1]),
    "no target": lambda X, y: (X, None),
    "bad weights": lambda X, y: (X, y, -np.ones(len(X))),
    "no weights": lambda X, y: (X, y, np.zeros(len(X))),
}


@pytest.mark.parametrize("bad", BAD_CALLS)
@pytest.mark.parametrize("warm_start", [False, True])
def test_refit_with_invalid_data_keeps_the_last_fit(make, data, bad, warm_start):
    X, y = data
    model = make(warm_start=warm_start).fit(X, y)
    before, state = predict_all(model, X), vars(model).copy()
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(*BAD_CALLS[bad](X, y))
    assert vars(model).keys() == state.keys()
    assert_same_predictions(predict_all(model, X), before)


def test_refit_with_invalid_data_keeps_the_feature_names(make, data):
    X, y = data
    X = pd.DataFrame(X).add_prefix("x")
    model = make().fit(X, y)
    far = X.rename(columns={"x0": "z"}).mask(X.to_numpy() > X["x0"].median(), np.inf)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(far, y)
    assert list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X.to_numpy()[:0, :1], y[:0])
    assert model.n_features_in_ == X.shape[1]
    assert_finite(predict_all(model, X))
    model.fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("bad", [*BAD_CALLS, "columns"])
def test_partial_fit_with_invalid_data_keeps_the_state(make, data, bad):
    X, y = data
    model, twin = make(), make()
    for each in (model, twin):
        each.partial_fit(X, y)
    before = predict_all(model, X)
    call = (X[:, :1], y) if bad == "columns" else BAD_CALLS[bad](X, y)
    names = ["X", "y", "sample_weight"][: len(call)]
    with pytest.raises(ValueError):  # noqa: PT011
        model.partial_fit(**dict(zip(names, call, strict=True)))
    assert_same_predictions(predict_all(model, X), before)
    # Training then continues as if the failed call had not been made.
    for each in (model, twin):
        each.partial_fit(X[::2], y[::2])
    assert_same_predictions(predict_all(model, X), predict_all(twin, X))


def test_partial_fit_rejects_early_stopping(make, data):
    model = make(early_stopping=True)
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        model.partial_fit(*data)
    assert not hasattr(model, "net_")


@pytest.mark.parametrize("fitted_before", [False, True])
def test_ctrl_c_during_fit_leaves_an_unfitted_estimator(make, data, fitted_before, monkeypatch):
    X, y = data
    model = make()
    parameters = vars(model).copy()
    if fitted_before:
        model.fit(X, y)
    monkeypatch.setattr(StackedNet, "train_step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == parameters
    with pytest.raises(NotFittedError):
        model.predict(X)
    monkeypatch.undo()
    assert_same_predictions(predict_all(model.fit(X, y), X), predict_all(make().fit(X, y), X))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_ctrl_c_during_continued_training_keeps_the_last_fit(make, data, method, monkeypatch):
    X, y = data
    model = make(warm_start=True, max_iter=4).fit(X, y)
    before, whole_step, steps = predict_all(model, X), StackedNet.train_step, []

    def interrupted(net, *args, **kwargs):
        steps.append(1)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return whole_step(net, *args, **kwargs)

    monkeypatch.setattr(StackedNet, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model.set_params(batch_size=8, learning_rate_init=0.5), method)(X, y)
    assert len(steps) == 2
    assert_same_predictions(predict_all(model, X), before)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_divergence_during_continued_training_keeps_the_last_fit(make, data, method, monkeypatch):
    X, y = data
    model = make(warm_start=True).fit(X, y)
    before, step = predict_all(model, X), StackedNet.train_step_single

    def diverge(net, batch):
        return {**step(net, batch), "loss": torch.tensor(np.nan)}

    monkeypatch.setattr(StackedNet, "train_step_single", diverge)
    with pytest.raises(ValueError, match="Training diverged: the loss is nan in epoch"):
        getattr(model, method)(X, y)
    assert_same_predictions(predict_all(model, X), before)


def interrupt_a_process():
    """Fit in a new process, interrupt it after the first epoch, and return its output."""
    code = f"""
        import os, threading, warnings
        import numpy as np
        import sk_deltauq
        from skorch.callbacks import Callback
        from sklearn.exceptions import ConvergenceWarning, NotFittedError

        training = threading.Event()

        class Report(Callback):
            def on_epoch_end(self, net, **kwargs):
                training.set()

        def press_ctrl_c():
            training.wait()
            os.kill(os.getpid(), {int(signal.SIGINT)})

        X = np.random.default_rng(0).normal(size=(200, 2))
        model = sk_deltauq.DeltaUQRegressor(max_iter=10**6, early_stopping=False, tol=0)
        model.set_params(n_iter_no_change=10**6, net_params={{"callbacks": [Report]}})
        threading.Thread(target=press_ctrl_c, daemon=True).start()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, X[:, 0])
            assert np.isfinite(model.predict(X)).all()
            print(*(w.message for w in caught if w.category is ConvergenceWarning))
        except KeyboardInterrupt:
            try:
                model.predict(X)
            except NotFittedError:
                print("not fitted")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.mark.long
def test_interrupt_signal_ends_training_and_keeps_the_model():
    assert "Ctrl-C ended training after" in interrupt_a_process()


def test_second_ctrl_c_during_training_keeps_the_last_fit(make, data, monkeypatch):
    """The second Ctrl-C does not wait for the end of the epoch."""
    X, y = data
    model = make(warm_start=True).fit(X, y)
    before, step, calls = predict_all(model, X), StackedNet.train_step_single, []

    def press_twice(net, batch):
        calls.append(1)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return step(net, batch)

    monkeypatch.setattr(StackedNet, "train_step_single", press_twice)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_same_predictions(predict_all(model, X), before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
