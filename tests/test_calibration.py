"""`calibrate`: the estimated factors, the predictions that they change, and fits without them."""

import numpy as np
import pytest

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq.baselines import PBPRegressor

# `widening` changes the standard deviations too, by another factor per row.
PARAMS = {"hidden_layer_sizes": (8,), "max_iter": 30, "widening": 0, "random_state": 0}


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    return X, 3 * X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=120) + 40


def fit_pair(data, **params):
    """Fit a model with `calibrate`, and an equal model without."""
    return [
        DeltaUQRegressor(**{**PARAMS, **params}, calibrate=calibrate).fit(*data)
        for calibrate in (True, False)
    ]


@pytest.mark.parametrize(
    ("n_members", "n_networks", "noise"),
    [(1, 3, "heteroscedastic"), (3, 3, "homoscedastic"), (5, 5, "heteroscedastic")],
)
def test_factors_match_predicted_variances_to_held_out_errors(data, n_members, n_networks, noise):
    """Recompute the factors from `predict_dist`: squared z-scores, and 30 rows with the value 1.

    The squared error of the ensemble mean is the squared error of the member that held the row
    out, minus the variance that averaging removes.
    """
    X, y = data
    with_factor, without = fit_pair(data, n_members=n_members, noise=noise)
    assert without.n_networks_ == n_networks
    _, held_out = assign_folds(numpy_rng(without.seed_, Stream.FOLDS), len(X), 6, n_networks)
    dist, n_anchors = without.predict_dist(X), len(without.anchors_)
    # The mixture scales its means so that their variance has the denominator n_components - 1.
    n_components = n_networks * n_anchors
    shifts = (dist.means - dist.mean) * np.sqrt((n_components - 1) / n_components)
    member_means = (dist.mean + shifts).reshape(n_networks, n_anchors, -1).mean(axis=1)
    squared_z = []
    for member, rows in enumerate(held_out):
        for row in rows:
            others = np.delete(member_means[:, row], member)
            variance_removed = others.var(ddof=1) * (n_networks - 1) / n_networks
            error = (y[row] - member_means[member, row]) ** 2
            squared_z.append((error - variance_removed) / dist.std[row] ** 2)
    ratio, h = np.mean(squared_z), len(squared_z)
    shrunk = (h * ratio + 30) / (h + 30) if ratio > 1 else (h + 30) / (h / ratio + 30)
    parts = without.predict_uncertainty(X)
    rows = np.concatenate(held_out)  # each row as often as in `squared_z`
    noise_share = np.mean((parts.aleatoric / parts.total)[rows] ** 2)
    squared_noise_factor = with_factor.noise_factor_**2
    effect = with_factor.std_factor_**2 * (1 - noise_share + noise_share * squared_noise_factor)
    assert effect == pytest.approx(shrunk * (1 + 8 / h), rel=2e-4)
    assert abs(effect - 1) > 0.01, "the test needs a factor other than 1"
    assert (with_factor.noise_factor_ < 1) == (ratio < 1)
    assert without.std_factor_ == without.noise_factor_ == 1


@pytest.mark.parametrize("n_members", [1, 2])
def test_factor_multiplies_every_std_and_leaves_means_unchanged(data, n_members):
    X, _ = data
    with_factor, without = fit_pair(data, n_members=n_members)
    with_factor.outlier_scale_ = with_factor.noise_factor_ = 1.0  # keep only `std_factor_`
    factor = with_factor.std_factor_ = 1.5
    (mean, std), (plain_mean, plain_std) = (
        m.predict(X, return_std=True) for m in (with_factor, without)
    )
    np.testing.assert_allclose(mean, plain_mean, rtol=1e-12)
    np.testing.assert_allclose(std, factor * plain_std, rtol=1e-6)
    parts, plain = (m.predict_uncertainty(X) for m in (with_factor, without))
    for name in parts:
        np.testing.assert_allclose(parts[name], factor * plain[name], rtol=1e-6, err_msg=name)
    dist, plain = (m.predict_dist(X) for m in (with_factor, without))
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(dist.std, std, rtol=1e-5)
    # The factor multiplies the distance of a quantile from the mean too.
    levels = [0.1, 0.5, 0.9]
    distance, plain_distance = (d.ppf(levels) - d.mean[:, None] for d in (dist, plain))
    np.testing.assert_allclose(distance, factor * plain_distance, rtol=1e-4, atol=1e-5)


def test_noise_has_a_second_factor(data):
    X, _ = data
    with_factor, without = fit_pair(data)
    factor, noise_factor = with_factor.std_factor_, with_factor.noise_factor_
    assert noise_factor < 1, "the predicted errors are too large here"
    parts, plain = (m.predict_uncertainty(X) for m in (with_factor, without))
    np.testing.assert_allclose(parts.epistemic, factor * plain.epistemic, rtol=1e-6)
    np.testing.assert_allclose(parts.aleatoric, factor * noise_factor * plain.aleatoric, rtol=1e-6)
    total = np.hypot(parts.epistemic, parts.aleatoric)
    np.testing.assert_allclose(with_factor.predict(X, return_std=True)[1], total, rtol=1e-6)
    np.testing.assert_allclose(with_factor.predict_dist(X).std, total, rtol=1e-5)


def test_each_output_has_its_own_factors(data):
    X, y = data
    Y = np.column_stack([y, X[:, 1]])
    with_factor, without = fit_pair((X, Y))
    noise_factor = with_factor.std_factor_ * with_factor.noise_factor_
    assert noise_factor.shape == (2,)
    assert noise_factor[0] != noise_factor[1]
    for name in ("std_factor_", "noise_factor_", "outlier_scale_"):
        np.testing.assert_array_equal(getattr(without, name), [1, 1])
    parts, plain = (m.predict_uncertainty(X) for m in (with_factor, without))
    np.testing.assert_allclose(
        parts.epistemic, plain.epistemic * with_factor.std_factor_, rtol=1e-6
    )
    np.testing.assert_allclose(parts.aleatoric, plain.aleatoric * noise_factor, rtol=1e-6)


def test_noise_std_contains_both_factors(data):
    with_factor, without = fit_pair(data, noise="homoscedastic")
    factor = with_factor.std_factor_ * with_factor.noise_factor_
    assert with_factor.noise_std_ == pytest.approx(factor * without.noise_std_, rel=1e-6)
    aleatoric = with_factor.predict_uncertainty(data[0]).aleatoric
    np.testing.assert_allclose(aleatoric, with_factor.noise_std_, rtol=1e-5)


def test_without_noise_the_factor_acts_on_the_epistemic_part(data):
    with_factor, without = fit_pair(data, noise=None)
    assert with_factor.std_factor_ > 1.5, "the errors are noise here"
    X, _ = data
    (mean, std), (plain_mean, plain_std) = (
        m.predict(X, return_std=True) for m in (with_factor, without)
    )
    np.testing.assert_array_equal(mean, plain_mean)
    least = with_factor._least_std_ * with_factor.y_scaler_.scale_[0]
    np.testing.assert_allclose(std, with_factor.std_factor_ * np.hypot(plain_std, least))


def test_outlier_scale_changes_quantiles_and_no_moments():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = X[:, 0] + rng.normal(size=700) * np.where(rng.random(700) < 0.05, 5, 1)
    params = {**PARAMS, "noise": "homoscedastic", "embedding": None}
    model = DeltaUQRegressor(**params).fit(X, y)
    assert model.outlier_scale_ > 2
    dist, (mean, std) = model.predict_dist(X), model.predict(X, return_std=True)
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dist.std, std, rtol=1e-5)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(dist.aleatoric, parts.aleatoric, rtol=1e-5)
    np.testing.assert_allclose(dist.epistemic, parts.epistemic, rtol=1e-4, atol=1e-5)
    width = np.diff(model.predict_interval(X, 0.9))[:, 0]
    assert (width < 2 * 1.6 * std).all()
    found = model.outlier_scale_
    assert model.partial_fit(X, y).outlier_scale_ == found
    model.set_params(calibrate=False).fit(X, y)
    assert model.outlier_scale_ == 1


def test_without_held_out_rows_all_factors_are_one(data):
    with_factor, without = fit_pair(data, early_stopping=False)
    assert with_factor.std_factor_ == with_factor.noise_factor_ == with_factor.outlier_scale_ == 1
    X, _ = data
    np.testing.assert_array_equal(
        with_factor.predict(X, return_std=True), without.predict(X, return_std=True)
    )


def test_partial_fit_keeps_the_factors_and_a_new_fit_does_not(data):
    model = DeltaUQRegressor(**PARAMS).fit(*data)
    factors = model.std_factor_, model.noise_factor_
    assert 1 not in factors
    model.partial_fit(*data)
    assert (model.std_factor_, model.noise_factor_) == factors
    assert model.set_params(early_stopping=False).fit(*data).std_factor_ == 1
    assert DeltaUQRegressor(**PARAMS).partial_fit(*data).std_factor_ == 1


def test_factors_depend_on_sample_weights(data):
    """Equal weights change nothing. Tests of the monitors check the effect of other weights."""
    X, y = data
    weights = np.ones(len(y))
    model = DeltaUQRegressor(**PARAMS).fit(X, y, sample_weight=weights)
    assert model.noise_factor_ == DeltaUQRegressor(**PARAMS).fit(X, y).noise_factor_ != 1
    weights[:60] = 3
    assert DeltaUQRegressor(**PARAMS).fit(X, y, sample_weight=weights).noise_factor_ != (
        model.noise_factor_
    )


def test_method_without_calibration_has_no_factor_attribute(data):
    assert not hasattr(PBPRegressor(max_iter=2, random_state=0).fit(*data), "std_factor_")
