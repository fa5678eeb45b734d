"""Continued training: the state that `warm_start` and `partial_fit` keep or change."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.datasets import make_friedman1

from sk_deltauq._training.net import StackedNet
from sk_deltauq._training.rows import TrainingRows
from tests._helpers import list_uncertainty_warnings, regressor


@pytest.fixture
def recorded_calls(monkeypatch):
    """The held-out rows of each call of `train`, and the anchors of its mini-batches."""
    calls = []
    train = StackedNet.train

    def spy(net, rows: TrainingRows, *, batches, **settings):
        state = [g.get_state() for g in rows.generators]
        anchors = [c.clone() for (_, c), _ in batches]
        for g, s in zip(rows.generators, state, strict=True):
            g.set_state(s)
        calls.append((rows.held_out.clone(), torch.cat(anchors, dim=-1)))
        return train(net, rows, batches=batches, **settings)

    monkeypatch.setattr(StackedNet, "train", spy)
    return calls


def test_warm_fits_hold_out_the_same_rows_and_draw_other_anchors(make, data, recorded_calls):
    model = make(warm_start=True, early_stopping=True, n_members=2)
    for _ in range(3):
        model.fit(*data)
    for (held_out, pairs), (next_held_out, next_pairs) in pairwise(recorded_calls):
        assert held_out.numel()
        assert torch.equal(held_out, next_held_out), "a held-out row must never train"
        assert not torch.equal(pairs, next_pairs)


def test_each_call_of_partial_fit_and_fit_has_other_batches(make, data, recorded_calls):
    model = make(warm_start=True)
    for method in ("partial_fit", "partial_fit", "fit", "partial_fit"):
        getattr(model, method)(*data)
    pairs = [anchors for _, anchors in recorded_calls]
    for i, one in enumerate(pairs):
        assert not any(torch.equal(one, other) for other in pairs[:i])


def test_many_short_warm_fits_learn_like_one_long_fit(regression_data):
    X, y = regression_data
    params = {"learning_rate_init": 0.02, "embedding": None}
    long = regressor(max_iter=60, **params).fit(X, y)
    short = regressor(max_iter=1, warm_start=True, **params)
    for _ in range(60):
        short.fit(X, y)
    errors = [np.sqrt(np.mean((m.predict(X) - y) ** 2)) for m in (long, short)]
    assert errors[1] < 1.5 * errors[0]


def test_a_warm_fit_uses_the_current_parameters(regression_data):
    model = regressor(warm_start=True).fit(*regression_data)
    model.set_params(nll_beta=1.0, learning_rate_init=0.5, batch_size=7).fit(*regression_data)
    assert model.net_.criterion_.nll_beta == 1.0
    assert model.net_.optimizer_.param_groups[0]["lr"] == 0.5
    assert model.net_.batch_size == 7


def test_a_warm_fit_never_ends_with_a_lower_held_out_score(make, data):
    model = make(early_stopping=True, max_iter=30, learning_rate_init=0.02).fit(*data)
    before = model.best_validation_score_
    model.set_params(warm_start=True, learning_rate_init=50.0, max_iter=2).fit(*data)
    assert before.shape == (10,), "ten networks on 60 rows"
    assert (model.best_validation_score_ >= before).all()


def test_partial_fit_rejects_another_device(make, data):
    model = make().partial_fit(*data)
    model.net_.device = "cuda"  # as if it had been trained there
    with pytest.raises(ValueError, match=r"cannot move to device='cpu': the net is on 'cuda'"):
        model.partial_fit(*data)


@pytest.mark.parametrize("value", [True, np.True_])
def test_partial_fit_rejects_early_stopping(make, data, value):
    with pytest.raises(ValueError, match="does not support early_stopping=True"):
        make(early_stopping=value).partial_fit(*data)


def test_partial_fit_uses_the_current_step_size_batch_size_and_loss(regression_data):
    X, y = regression_data
    model = regressor(batch_size=50).partial_fit(X[:5], y[:5])
    assert model.net_.batch_size == 5
    model.set_params(learning_rate_init=1e-12, nll_beta=1.0)
    weights = model.net_.module_.core.first.weight.clone()
    model.partial_fit(X, y)
    assert model.net_.batch_size == 50
    assert model.net_.criterion_.nll_beta == 1.0
    assert model.net_.optimizer_.param_groups[0]["lr"] == 1e-12
    torch.testing.assert_close(model.net_.module_.core.first.weight, weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("changed", [{"alpha": 50.0}, {"net_params": {"optimizer__eps": 0.1}}])
def test_partial_fit_rejects_another_optimizer(make, data, changed):
    model = make().partial_fit(*data).set_params(**changed)
    with pytest.raises(ValueError, match=rf"cannot continue .* another {next(iter(changed))} "):
        model.partial_fit(*data)
    model.set_params(warm_start=True).fit(*data)
    model.partial_fit(*data)  # the warm fit made an optimizer of these settings


def test_a_constant_column_must_stay_constant(make, data):
    X, y = data
    constant = X.copy()
    constant[:, 1] = 2.0
    model = make(warm_start=True).fit(constant, y)
    model.fit(constant, y)
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="X varies in column 1, which was constant"):
            getattr(model, method)(X, y)
    assert model.set_params(warm_start=False).fit(X, y)


def test_a_constant_target_must_stay_constant(regression_data):
    X, y = regression_data
    model = regressor(warm_start=True).fit(X, np.full(len(y), 7.0))
    for new in (y, np.full(len(y), 8.0)):
        with pytest.raises(ValueError, match="y varies in column 0, which was constant"):
            model.fit(X, new)


def test_partial_fit_may_begin_with_one_row(make, data):
    X, y = data
    labels = {} if make is regressor else {"classes": np.unique(y)}
    model = make(learning_rate_init=0.02).partial_fit(X[:1], y[:1], **labels)
    for _ in range(60):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize(
    ("change", "warns"),
    [
        *[("none", False), ("order", True), ("more", True), ("no hold-out", False)],
        *[("validation", False), ("more, validation", False)],
        *[("no hold-out before", True), ("validation before", True), ("partial_fit", True)],
        ("no noise", True),  # the fit ends with training on all rows
    ],
)
def test_a_warm_fit_that_may_hold_out_known_rows_warns(change, warns):
    """The folds belong to the positions of the rows, so a known row may be held out."""
    X, y = make_friedman1(200, noise=1, random_state=0)
    validation = {"X_val": X[160:], "y_val": y[160:]}
    model = regressor(warm_start=True, max_iter=3, early_stopping="auto")
    if change == "no noise":
        model.set_params(noise=None)
    model.set_params(early_stopping=False if change == "no hold-out before" else "auto")
    model.fit(X[:150], y[:150], **(validation if change == "validation before" else {}))
    if change == "partial_fit":
        model.partial_fit(X[:150], y[:150])
    model.set_params(early_stopping=False if change == "no hold-out" else "auto")
    rows = np.arange(160 if "more" in change else 150)[:: -1 if change == "order" else 1]
    extra = validation if change in ("validation", "more, validation") else {}
    messages = list_uncertainty_warnings(model.fit, X[rows], y[rows], **extra)
    found = [m for m in messages if "may have trained on the rows that it holds out" in m]
    assert len(found) == warns


def test_partial_fit_warns_about_the_calibration_of_fit_once(regression_data):
    model = regressor(max_iter=3, early_stopping="auto").fit(*regression_data)
    for expected in (1, 0):
        messages = list_uncertainty_warnings(model.partial_fit, *regression_data)
        assert sum("The calibration of the last fit" in m for m in messages) == expected
    X, y = regression_data
    validated = regressor(max_iter=3).fit(X[20:], y[20:], X_val=X[:20], y_val=y[:20])
    assert len(list_uncertainty_warnings(validated.partial_fit, X, y)) == 1
    unstopped = regressor(max_iter=3, early_stopping=False).fit(*regression_data)
    assert not list_uncertainty_warnings(unstopped.partial_fit, *regression_data)
