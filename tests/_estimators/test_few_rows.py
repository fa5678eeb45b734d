"""Few rows, constant targets, and fits without a noise model."""

import numpy as np
import pytest
from scipy.stats import norm

from sk_deltauq import baselines
from sk_deltauq._training.net import StackedNet
from tests._estimators.tiny_estimators import (
    CALLER,
    ESTIMATORS,
    REGRESSORS,
    catch_warnings,
    having,
    make_factory,
    make_rows,
)
from tests._helpers import (
    ONE_PER_KIND,
    assert_finite,
    mark_long,
    predict_all,
)


@pytest.fixture(params=mark_long(ESTIMATORS, ONE_PER_KIND), ids=lambda cls: cls.__name__)
def make(request):
    return make_factory(request.param)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_very_few_rows_give_finite_predictions(make, n):
    X, y = make_rows(make, n)
    if make.is_classifier and n < 4:
        y = np.zeros(n)
    model = make(max_iter=20)
    assert catch_warnings(model.fit, X, y)
    X_new = np.random.default_rng(9).normal(size=(4, 3))
    assert_finite(predict_all(model, X_new))
    if not make.is_classifier:
        assert (predict_all(model, X_new)["std"] > 0).all()
        assert np.isfinite(model.predict_dist(X_new).log_pdf(np.zeros(4))).all()


def test_the_std_of_one_row_has_the_size_of_the_target(make):
    X = np.ones((1, 3))
    if make.is_classifier:
        model = make()
        messages = [str(w.message) for w in catch_warnings(model.fit, X, ["oak"])]
        np.testing.assert_array_equal(model.predict_proba([[0, 5, 2]]), [[1]])
        assert model.predict([[0, 5, 2]]) == ["oak"]
        assert len(messages) == 1
    else:
        model = make()
        messages = [str(w.message) for w in catch_warnings(model.fit, X, [-12.0])]
        mean, std = model.predict([[0, 5, 2]], return_std=True)
        assert mean == pytest.approx(-12)
        assert std == pytest.approx(12)  # sqrt((1 + 1/1) / (1 + 1)) = 1
        assert len(messages) == 2
        assert "y is constant in output [0]: all 1 distinct" in messages[0]
    assert "holds out no rows because there are too few, 1" in messages[-1]


@pytest.mark.parametrize(("value", "size"), [(0.0, 1.0), (-3.5, 3.5), (1e9, 1e9)])
@pytest.mark.parametrize("n", [2, 50])
@having("max_iter", REGRESSORS)
def test_the_std_of_a_constant_target_follows_the_closed_form(make, value, size, n):
    """The predictive std of a normal target with known mean and a prior worth one row."""
    X, _ = make_rows(make, n)
    model = make(max_iter=20)
    messages = [str(w.message) for w in catch_warnings(model.fit, X, np.full(n, value))]
    assert messages[0].startswith(f"y is constant in output [0]: all {n} distinct rows")
    mean, std = model.predict(X, return_std=True)
    expected = size * np.sqrt((1 + 1 / n) / (n + 1))
    np.testing.assert_allclose(mean, value, rtol=1e-12, atol=1e-30)
    np.testing.assert_allclose(std, expected, rtol=1e-5)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, expected, rtol=1e-5)
    np.testing.assert_allclose(parts.aleatoric, 0, atol=1e-5 * size)
    # The distribution is the normal one with this standard deviation.
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.std, expected, rtol=1e-5)
    expected_interval = norm.interval(0.9, value, expected)
    np.testing.assert_allclose(
        model.predict_interval(X), np.tile(expected_interval, (n, 1)), rtol=1e-4
    )
    at = value + expected
    density = norm.logpdf(at, value, expected)
    np.testing.assert_allclose(dist.log_pdf(np.full(n, at)), density, rtol=1e-3)


@having("n_members", REGRESSORS)
def test_one_constant_output_among_several(make):
    X, y = make_rows(make, 80)
    Y = np.column_stack([y, np.full(80, 5.0), 3 * y])
    model = make()
    (warning,) = catch_warnings(model.fit, X, Y)
    assert "y is constant in output [1]" in str(warning.message)
    assert warning.filename == CALLER
    found = predict_all(model, X)
    assert_finite(found)
    expected = 5 * np.sqrt((1 + 1 / 80) / 81)
    np.testing.assert_allclose(found["std"][:, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(found["predict"][:, 1], 5, rtol=1e-12)
    # The other outputs know nothing of it.
    assert (found["predict_uncertainty.aleatoric"][:, [0, 2]] > 0).all()
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.std, found["std"], rtol=1e-4)
    assert np.isfinite(dist.log_pdf(Y)).all()


@having("max_iter", REGRESSORS)
def test_a_varying_target_has_no_prior_std(make):
    X, y = make_rows(make, 40)
    np.testing.assert_array_equal(make().fit(X, y)._constant_std_, [0.0])


# Without a noise model


# Draws of a variational network never agree.
@having("noise", [cls for cls in REGRESSORS if cls is not baselines.VariationalBNNRegressor])
def test_equal_components_have_a_positive_std(make):
    X, y = make_rows(make, 80)
    model = make(noise=None, calibrate=True, n_members=3).fit(X, y)
    for parameter in model.net_.module_.parameters():
        parameter.data.zero_()  # as where all units are dead
    mean, std = model.predict(X, return_std=True)
    assert np.ptp(mean) < 1e-6 * np.ptp(y)
    expected = model._least_std_ * model.std_factor_ * model.y_scaler_.scale_[0]
    assert expected > 0
    np.testing.assert_allclose(std, expected, rtol=1e-5)
    np.testing.assert_allclose(model.predict_dist(X).std, std, rtol=1e-4)


def spy_on_training(monkeypatch):
    """Numbers of training rows and held-out rows of each network, one entry per training."""
    calls, train = [], StackedNet.train

    def note(net, rows, **params):
        calls.append((rows.train, rows.held_out.shape[1]))
        return train(net, rows, **params)

    monkeypatch.setattr(StackedNet, "train", note)
    return calls


@having("noise")
def test_without_noise_model_training_ends_on_all_rows(make, monkeypatch):
    calls, (X, y) = spy_on_training(monkeypatch), make_rows(make, 60)
    model = make(noise=None).fit(X, y)
    (folds, n_held_out), (everyone, nothing) = calls
    assert (folds.shape, n_held_out) == ((5, 48), 12)
    assert nothing == 0
    assert everyone.tolist() == [list(range(60))] * 5
    # As many epochs again, which have no held-out scores.
    assert len(model.validation_scores_) == 4
    assert model.n_iter_ == len(model.loss_curve_) == 8
    # The weights are not the best ones on the held-out rows any more.
    other = make(noise="homoscedastic").fit(X, y)
    assert len(calls) == 3
    assert other.n_iter_ == len(other.validation_scores_)


@having("noise")
@pytest.mark.parametrize("held_out", [True, False])
def test_x_val_stays_held_out_without_noise_model(make, monkeypatch, held_out):
    calls, (X, y) = spy_on_training(monkeypatch), make_rows(make, 60)
    if held_out:
        model = make(noise=None).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    else:
        model = make(noise=None, early_stopping=False).fit(X, y)
    assert len(calls) == 1
    assert model.n_iter_ == 4
