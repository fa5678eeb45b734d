"""Ctrl-C and `max_time` end training early and keep the completed epochs, in every estimator."""

import inspect
import math
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._training import budget
from sk_deltauq._training.net import StackedNet
from sk_deltauq.baselines._pbp_filter import Filter
from sk_deltauq.optimize import Optimizer
from tests._helpers import ONE_PER_KIND, assert_same_predictions, mark_long, predict_all, regressor
from tests.test_common import PUBLIC_ESTIMATORS

SMALL = {
    **{"hidden_layer_sizes": (8,), "n_iter_no_change": 50, "random_state": 0, "max_iter": 5},
    **{"n_anchors": 5, "n_masks": 5, "n_draws": 5, "batch_size": 30, "embedding": None},
}
pytestmark = pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
estimators = pytest.mark.parametrize(
    "cls", mark_long(PUBLIC_ESTIMATORS, ONE_PER_KIND), ids=lambda cls: cls.__name__
)


def make_small(cls, **changes):
    parameters = inspect.signature(cls).parameters
    settings = {**SMALL, **changes}
    return cls(**{name: settings[name] for name in settings if name in parameters})


def make_data(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(110, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=110)
    return X, (y > 0 if is_classifier(cls()) else y)


@pytest.fixture(autouse=True)
def forget_earlier_presses(monkeypatch):
    monkeypatch.setattr(budget, "_last_press", -math.inf)


@pytest.fixture
def schedule_ctrl_c(monkeypatch):
    """A function that schedules Ctrl-C in the middle of an epoch, counted from 1."""

    def schedule(epoch):
        presses = {"epoch": 0, "steps": 0}
        step, one_pass, absorb = StackedNet.train_step_single, Filter.one_pass, Filter.absorb

        def count_and_step(net, batch):
            if len(net.history) == epoch and not presses["steps"]:
                presses["steps"] += 1
                signal.raise_signal(signal.SIGINT)
            return step(net, batch)

        def count_passes(*args, **kwargs):
            presses["epoch"] += 1
            return one_pass(*args, **kwargs)

        def count_and_absorb(*args, **kwargs):
            if presses["epoch"] == epoch and not presses["steps"]:
                presses["steps"] += 1
                signal.raise_signal(signal.SIGINT)
            return absorb(*args, **kwargs)

        monkeypatch.setattr(StackedNet, "train_step_single", count_and_step)
        monkeypatch.setattr(Filter, "one_pass", count_passes)
        monkeypatch.setattr(Filter, "absorb", count_and_absorb)

    return schedule


def fit_all_epochs(cls, X, y, **changes):
    with pytest.warns(ConvergenceWarning) if "PBP" not in cls.__name__ else nullcontext():
        return make_small(cls, **changes).fit(X, y)


@pytest.mark.parametrize("early_stopping", [False, True])
@estimators
def test_ctrl_c_keeps_the_epochs_before_it(cls, early_stopping, schedule_ctrl_c):
    X, y = make_data(cls)
    expected = fit_all_epochs(cls, X, y, max_iter=2, early_stopping=early_stopping)
    schedule_ctrl_c(epoch=3)
    model = make_small(cls, early_stopping=early_stopping)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended training after 2 ") as caught:
        model.fit(X, y)
    assert caught[-1].filename == __file__
    assert model.n_iter_ == len(model.loss_curve_) == 2
    assert_same_predictions(predict_all(model, X), predict_all(expected, X))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@estimators
def test_ctrl_c_in_the_first_epoch_raises_keyboard_interrupt(cls, schedule_ctrl_c):
    X, y = make_data(cls)
    model = make_small(cls)
    before = vars(model).copy()
    schedule_ctrl_c(epoch=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before


@estimators
def test_ctrl_c_in_partial_fit_raises_keyboard_interrupt(cls, schedule_ctrl_c):
    X, y = make_data(cls)
    model = make_small(cls).partial_fit(X, y)
    before = predict_all(model, X)
    schedule_ctrl_c(epoch=1 if "PBP" in cls.__name__ else 2)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert_same_predictions(predict_all(model, X), before)


@estimators
def test_max_time_ends_training_after_the_current_epoch(cls, monkeypatch):
    X, y = make_data(cls)
    expected = fit_all_epochs(cls, X, y, max_iter=2)
    seconds = iter(range(1000))  # one per reading of the clock
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    with pytest.warns(ConvergenceWarning, match="max_time=1.5 ended training after 2 "):
        model = make_small(cls, max_time=1.5).fit(X, y)
    assert_same_predictions(predict_all(model, X), predict_all(expected, X))
    model.partial_fit(X, y)  # one epoch, even if it takes longer than max_time


def test_max_time_allows_one_epoch_and_warns_only_if_it_ends_training():
    X, y = make_data(regressor)
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 ended training after 1 "):
        assert regressor(max_time=1e-9).fit(X, y).n_iter_ == 1
    model = regressor(max_time=1e9, n_iter_no_change=1, tol=1e9, early_stopping=True)
    assert model.fit(X, y).n_iter_ == 2


def test_ctrl_c_in_the_final_training_on_all_rows_keeps_a_model(schedule_ctrl_c):
    """Without a noise model, the networks train again on all rows at the end."""
    X, y = make_data(regressor)
    settings = {"noise": None, "early_stopping": True, "n_iter_no_change": 50, "max_iter": 3}
    schedule_ctrl_c(epoch=5)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended training after 4 "):
        model = regressor(**settings).fit(X, y)
    assert model.n_iter_ == 4
    assert np.isfinite(model.predict(X)).all()


def test_second_ctrl_c_at_the_end_of_fit_leaves_the_estimator_unchanged(
    schedule_ctrl_c, monkeypatch
):
    X, y = make_data(regressor)
    model = regressor(max_iter=5, early_stopping=True)
    before = vars(model).copy()
    schedule_ctrl_c(epoch=3)
    monkeypatch.setattr(
        "sk_deltauq._training.fit._warn_if_unfinished",
        lambda *args: signal.raise_signal(signal.SIGINT),
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before


def test_second_ctrl_c_soon_after_the_first_interrupts_a_search(monkeypatch):
    X, y = make_data(regressor)
    search = GridSearchCV(regressor(max_iter=4), {"alpha": [0.0, 0.1]}, cv=2, refit=False)
    step = StackedNet.train_step_single

    def press_in_each_fit(net, batch):
        if len(net.history) == 2:
            signal.raise_signal(signal.SIGINT)
        return step(net, batch)

    monkeypatch.setattr(StackedNet, "train_step_single", press_in_each_fit)
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: 5.0))
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"), pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


def test_signal_handler_of_the_host_program_is_not_replaced():
    seen = []
    signal.signal(signal.SIGINT, lambda *args: seen.append(args))
    try:
        with budget.Budget().watch():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert len(seen) == 1


def test_ctrl_c_in_a_fit_inside_a_search_raises_keyboard_interrupt(schedule_ctrl_c):
    """Inside a search, a fit must not end early without an error."""
    X, y = make_data(DeltaUQRegressor)
    model = make_small(DeltaUQRegressor)
    before = vars(model).copy()
    schedule_ctrl_c(epoch=3)
    with budget.raise_interrupts(), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_during_ask_interrupts_the_optimizer(schedule_ctrl_c):
    optimizer = Optimizer(
        [(0, 1)], n_initial=2, surrogate=make_small(DeltaUQRegressor), random_state=0
    )
    optimizer.tell([[0.1], [0.5], [0.9]], [1.0, 2.0, 0.5])
    schedule_ctrl_c(epoch=3)
    with pytest.raises(KeyboardInterrupt):
        optimizer.ask()
    assert len(optimizer.y_) == 3
