"""`target_transform="auto"`: its choice, and its trials: time, Ctrl-C, callbacks and few rows."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_deltauq import DeltaUQRegressor, NormalMixture
from sk_deltauq._estimators import target_transform
from sk_deltauq._estimators.target_transform import choose_names
from sk_deltauq._training import budget
from sk_deltauq._training.net import StackedNet
from sk_deltauq.exceptions import UncertaintyWarning
from tests._estimators.test_target_transform import LEARN, X, draw, y
from tests._helpers import assert_finite, assert_same_predictions, predict_all, regressor


def test_auto_finds_the_logarithm():
    rows, target = draw(200)
    model = regressor(target_transform="auto", **LEARN).fit(rows, target)
    assert model.target_transform_.names == ("log",)
    same = regressor(target_transform="log", **LEARN).fit(rows, target)
    assert_same_predictions(predict_all(model, rows), predict_all(same, rows))


@pytest.mark.parametrize("shift", [0, 100])
def test_auto_does_not_transform_normal_targets(shift):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, (200, 1))
    target = shift + np.sin(2 * rows[:, 0]) + 0.3 * rng.normal(size=200)
    model = regressor(target_transform="auto", **LEARN).fit(rows, target)
    assert model.target_transform_ is None
    assert isinstance(model.predict_dist(rows), NormalMixture)


def test_auto_decides_for_each_output():
    rows, target = draw(200)
    normal = target.mean() + np.random.default_rng(1).normal(size=200) + rows[:, 0]
    model = regressor(target_transform="auto", **LEARN)
    model.fit(rows, np.column_stack([target, normal]), groups=np.arange(200) // 4)
    assert model.target_transform_.names == ("log", None)
    assert_finite(predict_all(model, rows))


@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
def test_auto_with_one_group_left():
    """The rows of all other groups have the weight zero."""
    rows, target = draw(200)
    groups = np.arange(200) % 2
    model = regressor(target_transform="auto", early_stopping="auto", max_iter=20)
    model.fit(rows, target, groups=groups, sample_weight=1.0 - groups)
    assert_finite(predict_all(model, rows))


def test_auto_without_rows_to_compare():
    for fit in (
        lambda m: m.partial_fit(X, y),
        lambda m: m.set_params(early_stopping="auto").fit(X[:12], y[:12]),
    ):
        model = regressor(target_transform="auto")
        with pytest.warns(UncertaintyWarning, match="target_transform='auto'"):
            fit(model)
        assert model.target_transform_ is None
    with pytest.raises(ValueError, match=r"target_transform='auto'.*noise=None"):
        regressor(target_transform="auto", noise=None).fit(X, y)


class Counter(Callback):
    """Counts the trainings that it sees, in all copies."""

    n_trainings = 0

    def on_train_begin(self, net, **kwargs):
        type(self).n_trainings += 1


def test_callbacks_run_in_the_fit_of_the_user_only(monkeypatch):
    monkeypatch.setattr(Counter, "n_trainings", 0)
    settings = {"callbacks": [("counter", Counter())], "optimizer__weight_decay": 0.0}
    regressor(net_params=settings).fit(X, y)
    alone = Counter.n_trainings
    model = regressor(net_params=settings, target_transform="auto").fit(X, y)
    assert Counter.n_trainings == 2 * alone > 0
    assert model.net_params is settings
    assert len(settings) == 2


def test_trials_need_no_more_rows_than_the_fit():
    """20 folds of 25 rows are enough for early stopping; half of the rows are not."""
    model = regressor(target_transform="auto", early_stopping=True, validation_fraction=0.05)
    assert_finite(predict_all(model.fit(X[:25], y[:25]), X))


@pytest.fixture
def trials(monkeypatch):
    """A clock on which each trial takes its whole time, and the times of the trials."""
    times, clock = [], SimpleNamespace(now=0.0, step=1.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(target_transform, "time", clock)
    fit = DeltaUQRegressor.fit

    def fit_slowly(self, *args, **kwargs):
        times.append(self.max_time)
        clock.now += clock.step * (self.max_time or 0)
        return fit(self.set_params(max_time=None), *args, **kwargs)

    monkeypatch.setattr(DeltaUQRegressor, "fit", fit_slowly)
    return times, clock


def choose(model):
    return choose_names(model, X, y[:, None], np.ones(60), None, partial=False)


def test_trials_share_max_time(trials):
    times, clock = trials
    choose(regressor(max_time=8.0))
    assert times == [2, 2, 2, 2]
    times.clear()
    clock.step = 0.5
    choose(regressor(max_time=8.0))
    np.testing.assert_allclose(times, [8 / 4, 7 / 3, (7 - 7 / 6) / 2, 7 - 7 / 6 - 35 / 24])
    times.clear()
    choose(regressor())
    assert times == [None] * 4


@pytest.mark.parametrize(
    ("slowness", "n_trials", "message"),
    [(4, 1, "max_time=8 .* after 0 of 60 rows.*choice is None"), (3, 2, "after 30 of 60 rows")],
)
def test_without_time_the_trials_so_far_decide(trials, slowness, n_trials, message):
    times, clock = trials
    clock.step = slowness
    with pytest.warns(UncertaintyWarning, match=message):
        choose(regressor(max_time=8.0))
    assert len(times) == n_trials


def test_half_of_the_rows_can_decide(trials):
    rows, target = draw(200)
    _, clock = trials
    clock.step = 3
    model = regressor(target_transform="auto", max_time=8.0, **LEARN)
    with pytest.warns(UncertaintyWarning, match="after 100 of 200 rows.*choice is 'log'"):
        names = choose_names(model, rows, target[:, None], np.ones(200), None, partial=False)
    assert names == ["log"]


@pytest.mark.parametrize("trial", [0, 3])
def test_ctrl_c_during_a_trial_ends_the_fit(monkeypatch, trial):
    """Nothing is fitted yet that could be kept."""
    model = regressor(target_transform="auto", max_iter=4)
    before, fit, n_fits = vars(model).copy(), DeltaUQRegressor.fit, []
    presses = []
    step = StackedNet.train_step_single

    def count(self, *args, **kwargs):
        n_fits.append(1)
        return fit(self, *args, **kwargs)

    def press(net, batch):
        # The first fit is the user's. One press: a second one soon after interrupts every fit.
        if len(n_fits) == trial + 2 and len(net.history) == 3 and not presses:
            presses.append(1)
            signal.raise_signal(signal.SIGINT)
        return step(net, batch)

    monkeypatch.setattr(budget, "_last_press", -np.inf)  # by another test
    monkeypatch.setattr(DeltaUQRegressor, "fit", count)
    monkeypatch.setattr(StackedNet, "train_step_single", press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(n_fits) == trial + 2
    assert vars(model) == before
