import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold

from benchmarks_uci.regression.external import (
    BaggedNoise,
    ConstantNoise,
    GaussianProcess,
    JackknifePlus,
    MarginalGaussian,
    NGBoost,
    make_scaled_mlp,
)
from tests._helpers import mark_long

METHODS = {
    "marginal": MarginalGaussian,
    "constant": lambda: ConstantNoise(LinearRegression(), random_state=0),
    "bagged": lambda: BaggedNoise(LinearRegression(), random_state=0),
    "gp": GaussianProcess,
    "mapie": lambda: JackknifePlus(LinearRegression(), n_estimators=10, random_state=0),
    "ngboost": lambda: NGBoost(n_estimators=20, random_state=0),
}


def fitted(name, X, y):
    if name in ("mapie", "ngboost"):
        pytest.importorskip(name)
    return METHODS[name]().fit(X, y)


@pytest.mark.parametrize("name", METHODS)
def test_predicts_a_distribution_that_agrees_with_the_std(name, regression_data):
    X, y = regression_data
    model = fitted(name, X, y)
    mean, std = model.predict(X, return_std=True)
    dist = model.predict_dist(X)
    assert std.shape == mean.shape == y.shape
    assert (std > 0).all()
    np.testing.assert_array_equal(model.predict(X), mean)
    np.testing.assert_allclose(dist.mean, mean)
    np.testing.assert_allclose(dist.std, std)


@pytest.mark.parametrize("name", mark_long(METHODS, {"constant", "gp"}))
def test_fit_again_is_the_same_and_leaves_the_parameters_alone(name, regression_data):
    X, y = regression_data
    model = fitted(name, X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict(X, True), again.predict(X, True))


@pytest.mark.parametrize("name", mark_long(METHODS, {"bagged", "gp"}))
def test_units_do_not_matter(name, regression_data):
    X, y = regression_data
    mean, std = fitted(name, X, y).predict(X, return_std=True)
    scaled_mean, scaled_std = fitted(name, 1024 * X, 1024 * y).predict(1024 * X, True)
    np.testing.assert_allclose(scaled_mean / 1024, mean, rtol=1e-3)
    np.testing.assert_allclose(scaled_std / 1024, std, rtol=1e-2)


def test_marginal_gaussian_ignores_the_rows():
    y = np.array([1.0, 2.0, 6.0])
    mean, std = MarginalGaussian().fit(None, y).predict(np.zeros((2, 1)), return_std=True)
    assert mean.tolist() == [3, 3]
    assert std == pytest.approx(np.std(y, ddof=1))


def test_constant_noise_is_estimated_from_held_out_rows(regression_data):
    X, y = regression_data
    model = ConstantNoise(LinearRegression(), random_state=0).fit(X, y)
    errors = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        errors += list(y[test] - LinearRegression().fit(X[train], y[train]).predict(X[test]))
    assert model.noise_std_ == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X))


def test_constant_noise_leaves_its_predictor_unfitted(regression_data):
    predictor = DummyRegressor()
    ConstantNoise(predictor, random_state=0).fit(*regression_data)
    assert not hasattr(predictor, "constant_")


def test_bagged_noise_is_estimated_from_out_of_bag_rows(regression_data):
    X, y = regression_data
    model = BaggedNoise(LinearRegression(), n_estimators=3, random_state=0).fit(X, y)
    bags = [set(rows.tolist()) for rows in model.bagging_.estimators_samples_]
    members = [LinearRegression().fit(X[rows], y[rows]) for rows in map(list, bags_of(model))]
    errors = []
    for i in range(len(y)):
        unseen = [m for m, bag in zip(members, bags, strict=True) if i not in bag]
        if unseen:
            errors.append(y[i] - np.mean([m.predict(X[[i]])[0] for m in unseen]))
    assert 30 < len(errors) < 60
    assert model.noise_std_ == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    mean, std = model.predict(X, return_std=True)
    means = np.stack([m.predict(X) for m in members])
    np.testing.assert_allclose(mean, means.mean(axis=0))
    np.testing.assert_allclose(std**2, means.var(axis=0) + model.noise_std_**2)


def bags_of(model):
    """The bootstrap samples, rows drawn twice twice."""
    return model.bagging_.estimators_samples_


def test_gaussian_process_finds_the_noise_and_what_matters(regression_data):
    X, y = regression_data
    model = GaussianProcess().fit(X, y)
    new = np.random.default_rng(1).uniform(size=(200, 3))
    truth = 500 + 100 * np.sin(6 * new[:, 0]) + 50 * new[:, 1]
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 10
    # The noise has a standard deviation of 10, which a new observation has too.
    assert 7 < std.min() < 13
    scales = model.model_[-1].kernel_.k1.k2.length_scale
    assert scales[0] == min(scales)


def test_ngboost_keeps_its_best_step(regression_data):
    pytest.importorskip("ngboost")
    X, y = regression_data
    model = NGBoost(learning_rate=0.2, n_estimators=200, early_stopping_rounds=5, random_state=0)
    model.fit(X, y)
    held_out = model.ngb_.evals_result["val"]["LOGSCORE"]
    assert len(held_out) < 200
    assert model.n_steps_ == 1 + np.argmin(held_out)
    staged = list(model.ngb_.staged_pred_dist(X))[model.n_steps_ - 1]
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, staged.params["loc"])
    np.testing.assert_allclose(std, staged.params["scale"])


def test_jackknife_plus_answers_with_the_std_of_its_interval(regression_data):
    pytest.importorskip("mapie")
    X, y = regression_data
    model = JackknifePlus(Ridge(), n_estimators=10, random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    points, intervals = model.mapie_.predict_interval(X)
    np.testing.assert_array_equal(mean, points)
    # A normal distribution has 90 % of its mass within 1.645 stds of its mean.
    widths = intervals[:, 1, 0] - intervals[:, 0, 0]
    np.testing.assert_allclose(2 * 1.6448536 * std, widths)
    assert 0.85 < np.mean((intervals[:, 0, 0] <= y) & (y <= intervals[:, 1, 0])) < 0.97


def test_make_scaled_mlp_learns_in_any_units(regression_data):
    X, y = regression_data
    model = make_scaled_mlp((20,), 32, random_state=0).fit(1000 * X, y)
    assert model.score(1000 * X, y) > 0.5
