"""Scalers of features and targets, and checks of sample weights."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from sk_deltauq import _validation
from sk_deltauq._validation import (
    check_weights,
    fit_input_scaler,
    fit_target_scaler,
    scale_to_tensor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(57, 3)) * [1e-3, 1, 1e6] + [5, -3, 1e7]
W = RNG.uniform(0.1, 1, size=57)


@pytest.mark.parametrize("chunk", [10, 57, 1000])
def test_chunks_do_not_change_the_scaling(monkeypatch, chunk):
    monkeypatch.setattr(_validation, "_CHUNK_ROWS", chunk)
    expected = StandardScaler().fit_transform(X, sample_weight=W)
    scaled = scale_to_tensor(X, fit_input_scaler(X, W))
    assert scaled.dtype == torch.float32
    np.testing.assert_allclose(scaled, expected, rtol=1e-5, atol=1e-6)


def test_scaled_features_have_weighted_mean_zero_and_variance_one():
    scaled = scale_to_tensor(X, fit_input_scaler(X, W)).double().numpy()
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=W), 0, atol=1e-6)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=W), 1, rtol=1e-6)


def test_a_constant_column_is_ignored_unless_more_rows_may_come():
    constant = np.full((4, 1), 7.0)
    new = np.array([[7.0], [9.0], [-1e30]])
    assert scale_to_tensor(new, fit_input_scaler(constant, np.ones(4))).eq(0).all()
    scaler = fit_input_scaler(constant, np.ones(4), more_to_come=True)
    np.testing.assert_allclose(scale_to_tensor(new, scaler)[:2, 0], [0, 2])


@pytest.mark.parametrize("value", [0.0, 1e-12, -3.0, 1e12])
def test_the_scale_of_a_constant_target_is_its_rounding_error(value):
    scaler = fit_target_scaler(np.full((5, 1), value), np.ones(5))
    assert scaler.mean_[0] == pytest.approx(value, rel=1e-12)
    assert 0 < scaler.scale_[0] <= 3e-16 * max(abs(value), 1e-15)


def test_extreme_values_are_clipped_so_that_float32_stays_finite():
    scaler = fit_input_scaler(X, W)
    far = scale_to_tensor(np.array([[1e300, -1e300, 0]]), scaler)
    assert far[0, :2].tolist() == [1e6, -1e6]


def test_values_without_a_finite_variance_are_rejected():
    huge = np.array([[1.0, 1e200], [2.0, -1e200]])
    with pytest.raises(ValueError, match=r"X has values too large .*column 1, .*1e\+200"):
        fit_input_scaler(huge, np.ones(2))
    with pytest.raises(ValueError, match="y has values too large"):
        fit_target_scaler(huge, np.ones(2))


def test_weights_are_scaled_to_a_maximum_of_one():
    np.testing.assert_allclose(check_weights([1, 2, 4], X[:3]), [0.25, 0.5, 1])
    np.testing.assert_allclose(check_weights(1e300, X), 1)
    assert check_weights(None, X).tolist() == [1] * 57
    with pytest.raises(ValueError, match=r"(?i)non-zero|positive"):
        check_weights([0, 0, 0], X[:3])


def test_rare_levels_do_not_become_large_inputs():
    n = 400
    rare, common = np.arange(n) < 2, np.arange(n) < 40
    X = np.column_stack(
        [rare, 10 * rare, common, np.linspace(0, 1, n), rare + (np.arange(n) == 9)]
    )
    scaled = scale_to_tensor(X, fit_input_scaler(X, np.ones(n))).numpy()
    assert np.ptp(scaled[:, :2], axis=0) == pytest.approx(4)
    np.testing.assert_allclose(scaled[:, 2:4].std(axis=0), 1, rtol=1e-5)
    X[5, 4] = 0.5  # with three values, the column holds numbers
    scaled = scale_to_tensor(X, fit_input_scaler(X, np.ones(n))).numpy()
    assert scaled[:, 4].std() == pytest.approx(1, rel=1e-5)
    # Further rows may have other values.
    first = fit_input_scaler(X, np.ones(n), more_to_come=True)
    assert first.scale_[0] == pytest.approx(rare.std())
