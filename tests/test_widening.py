"""`widening` inflates the standard deviation far from the training rows, and only there."""

import numpy as np
import pytest

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._novelty import DistanceInflation
from sk_deltauq._validation import scale_to_tensor

PARAMS = {"hidden_layer_sizes": (8,), "max_iter": 10, "n_iter_no_change": 10, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))
    return X, 3 * X[:, 0] + rng.normal(size=200) / 4 + 40


@pytest.fixture(scope="module")
def new():
    """Rows with a growing distance from the training rows; the first rows are near them."""
    direction = np.array([1.0, -1.0, 0.5])
    return np.linspace(0, 20, 50)[:, None] * direction


def fit_pair(data, **params):
    """Fit the same networks with and without inflation."""
    settings = [{"widening": 0.7}, {"widening": 0}]
    return [DeltaUQRegressor(**{**PARAMS, **params, **w}).fit(*data) for w in settings]


@pytest.fixture(scope="module")
def default_pair(data):
    return fit_pair(data)


def compute_factors(model, X):
    x = scale_to_tensor(X, model.x_scaler_)
    return model._inflation_(x).numpy().astype(float)


def inflate(base, factor, scale):
    """Multiply the std by a factor, up to the std of the training targets."""
    return np.where(base < scale, np.minimum(base * factor, scale), base)


@pytest.mark.parametrize("params", [{}, {"n_members": 2}, {"noise": None}, {"n_anchors": 1}])
def test_std_grows_by_the_factor_and_the_mean_stays(data, new, params):
    wide, narrow = fit_pair(data, **params)
    factor = compute_factors(wide, new)
    assert factor[0] == 1
    assert factor[-1] > 3
    assert (np.diff(factor[10:]) > 0).all()
    (mean, std), (same_mean, base) = (m.predict(new, return_std=True) for m in (wide, narrow))
    np.testing.assert_array_equal(mean, same_mean)
    np.testing.assert_allclose(std, inflate(base, factor, data[1].std()), rtol=1e-5)


def test_predicting_only_the_mean_computes_no_distance(default_pair, new, monkeypatch):
    wide, _ = default_pair
    mean, _ = wide.predict(new, return_std=True)
    monkeypatch.setattr(DistanceInflation, "forward", None)
    np.testing.assert_array_equal(wide.predict(new), mean)


def test_nothing_changes_near_the_training_rows(data, default_pair):
    wide, narrow = default_pair
    assert (compute_factors(wide, data[0]) == 1).all()  # each training row is its own reference
    fresh = np.random.default_rng(6).normal(size=(500, 3))
    inside = compute_factors(wide, fresh) == 1
    assert inside.mean() == pytest.approx(0.9, abs=0.05)
    for wide_part, narrow_part in zip(
        wide.predict_uncertainty(fresh[inside]).values(),
        narrow.predict_uncertainty(fresh[inside]).values(),
        strict=True,
    ):
        np.testing.assert_allclose(wide_part, narrow_part, rtol=1e-6)


def test_the_inflation_is_epistemic(data, default_pair, new):
    models = default_pair
    wide, narrow = (model.predict_uncertainty(new) for model in models)
    np.testing.assert_allclose(wide.aleatoric, narrow.aleatoric)
    grows = (compute_factors(models[0], new) > 1) & (narrow.total < data[1].std())
    assert grows.sum() >= 3
    assert (wide.epistemic[grows] > narrow.epistemic[grows]).all()
    np.testing.assert_allclose(wide.epistemic[~grows], narrow.epistemic[~grows])


def test_features_without_effect_have_a_smaller_weight(data):
    X, _ = data
    wide, _ = fit_pair((X, 3 * X[:, 0]), max_iter=60)
    far = compute_factors(wide, np.eye(3) * 6)
    assert far[0] > 2 * far[1:].max()


def test_a_rare_category_has_a_larger_epistemic_std():
    rng = np.random.default_rng(0)
    level = np.repeat([0, 1, 2], [100, 97, 3])
    X = np.column_stack([rng.normal(size=(200, 2)), np.eye(3)[level]])
    y = X[:, 0] + level + 0.1 * rng.normal(size=200)
    wide, narrow = fit_pair((X, y), max_iter=60)
    fresh = rng.normal(size=(100, 2))

    def predict_epistemic(model, level):
        rows = np.column_stack([fresh, np.tile(np.eye(3)[level], (100, 1))])
        return np.median(model.predict_uncertainty(rows).epistemic)

    assert predict_epistemic(wide, 2) > 2 * predict_epistemic(wide, 0)
    assert predict_epistemic(wide, 0) == pytest.approx(predict_epistemic(narrow, 0), rel=0.1)


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic", None])
def test_the_distribution_has_the_inflated_standard_deviations(data, new, noise):
    wide, _ = fit_pair(data, noise=noise)
    dist, parts = wide.predict_dist(new), wide.predict_uncertainty(new)
    np.testing.assert_allclose(dist.mean, wide.predict(new))
    np.testing.assert_allclose(dist.std, parts.total, rtol=1e-6)
    np.testing.assert_allclose(dist.aleatoric, parts.aleatoric, rtol=1e-6)
    np.testing.assert_allclose(dist.epistemic, parts.epistemic, rtol=1e-3)
    assert dist.n_components == (1 if noise is None else wide.n_components_)
    lower, upper = wide.predict_interval(new).T
    assert (upper - lower)[-1] > 2 * (upper - lower)[0]


def test_each_output_is_inflated_in_its_own_units(data, new):
    X, y = data
    wide, narrow = fit_pair((X, np.column_stack([y, 1000 * X[:, 1]])))
    expected = inflate(
        narrow.predict(new, return_std=True)[1],
        compute_factors(wide, new)[:, None],
        np.array([y.std(), 1000 * X[:, 1].std()]),
    )
    np.testing.assert_allclose(wide.predict(new, return_std=True)[1], expected, rtol=1e-5)


def test_rows_of_partial_fit_become_references(data):
    X, y = data
    model = DeltaUQRegressor(**PARAMS).partial_fit(X, y)
    later = X + 15
    before = compute_factors(model, later)
    model.partial_fit(later, y)
    assert np.median(before) > 3
    assert np.median(compute_factors(model, later)) == 1
    assert np.median(compute_factors(model, X)) == 1


def test_a_changed_widening_has_an_effect_in_the_next_fit(data, new):
    wide, narrow = fit_pair(data)
    expected = wide.predict(new, return_std=True)[1]
    wide.set_params(widening=0)
    np.testing.assert_array_equal(wide.predict(new, return_std=True)[1], expected)
    base = narrow.predict(new, return_std=True)[1]
    np.testing.assert_array_equal(wide.fit(*data).predict(new, return_std=True)[1], base)
