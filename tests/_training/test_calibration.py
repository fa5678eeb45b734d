"""Calibration factors from the outputs of a stub network and from simulated errors."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training.calibration import (
    SCALES,
    OutOfFold,
    calibrate,
    estimate_error_ratio,
    find_outlier_scale,
    find_std_factors,
    predict_out_of_fold,
)
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.rows import TrainingRows

N, N_ROWS = 6, 24  # held-out rows per member, and all rows
ONE = np.ones(1)  # the factor of the noise


class TableNetwork:
    """A network whose outputs are in a table; the feature of a row is its place in the table.

    The table is `(member, output, component, row)`.
    """

    def __init__(self, table):
        self.table = table
        self.core = SimpleNamespace(n_members=len(table), width=1)
        self.n_components = table.shape[0] * table.shape[2]

    def eval(self):
        return self

    def components(self, x, limit=None):
        places = x[:, 0].long()  # (member, sample)
        members = zip(self.table, places, strict=True)
        return torch.stack([outputs[:, :limit, of_member] for outputs, of_member in members])


def set_up(n_members, n_draws, n_targets=2, noise="heteroscedastic", weights=None):
    """A net, its held-out rows, and the training rows."""
    generator = torch.Generator().manual_seed(0)
    head = GaussianHead(n_targets, noise, nll_beta=0, n_members=n_members)
    table = torch.randn(n_members, head.n_network_outputs, n_draws, N_ROWS, generator=generator)
    held_out = torch.randperm(N_ROWS, generator=generator)[: n_members * N].view(n_members, N)
    if weights is None:
        weights = torch.rand(N_ROWS, generator=generator) + 0.5
    rows = TrainingRows(
        x=torch.arange(float(N_ROWS))[:, None],
        y=2 * torch.randn(N_ROWS, n_targets, generator=generator),
        weights=weights,
        train=torch.empty((n_members, 0), dtype=torch.int64),
        held_out=held_out,
        held_out_weights=weights[held_out],
        n_units=n_members * N,
        generators=[],
    )
    return SimpleNamespace(module_=TableNetwork(table), criterion_=head), HoldOut(rows), rows


def make_found(
    error, variance=1.0, *, epistemic=0.0, spread=0.0, n_networks=1, n_units=None, weights=None
):
    """Errors of one target `(row,)`, and the same predictions for all rows."""
    error = np.atleast_2d(error)
    variances = np.broadcast_to(variance, (n_networks, *error.shape)).astype(float)
    return OutOfFold(
        error=error,
        network_spreads=np.zeros_like(variances),
        network_noises=variances,
        epistemic=np.full_like(error, epistemic),
        spread=np.full_like(error, spread),
        weights=np.ones(error.shape[1]) if weights is None else weights,
        n_networks=n_networks,
        n_units=error.shape[1] if n_units is None else n_units,
    )


@pytest.mark.parametrize("n_members", [1, 2, 4])
@pytest.mark.parametrize("n_draws", [1, 5])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic", None])
def test_out_of_fold_predictions_equal_a_loop_over_rows(n_members, n_draws, ddof, noise):
    net, hold_out, rows = set_up(n_members, n_draws, noise=noise)
    found = predict_out_of_fold(net, hold_out, ddof)
    means, stds = net.criterion_.components(net.module_.table)
    means, stds = (part.detach().double().numpy() for part in (means, stds))
    shape = n_members, n_draws, N_ROWS, 2
    means, variances = means.reshape(shape), stds.reshape(shape) ** 2
    of_members = means.mean(axis=1)
    between = means.var(axis=1, ddof=min(ddof, n_draws - 1))
    of_all = means.reshape(-1, N_ROWS, 2)
    names = "error", "network_spreads", "network_noises", "epistemic", "aleatoric", "spread"
    expected = {name: [] for name in names}
    for member, held_out in enumerate(rows.held_out.tolist()):
        for row in held_out:
            others = np.delete(of_members[:, row], member, axis=0)
            correction = min(ddof, len(of_all) - 1)
            expected["error"].append(rows.y[row].numpy() - of_members[member, row])
            expected["network_spreads"].append(between[:, row])
            expected["network_noises"].append(variances.mean(axis=1)[:, row])
            expected["epistemic"].append(of_all[:, row].var(axis=0, ddof=correction))
            expected["aleatoric"].append(variances[:, :, row].mean(axis=(0, 1)))
            expected["spread"].append(others.var(axis=0, ddof=1) if len(others) > 1 else [0, 0])
    for name, values in expected.items():
        values = np.moveaxis(np.array(values), 0, -1)
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-4, atol=1e-6)
    weights = rows.weights[rows.held_out].flatten().double().numpy()
    np.testing.assert_array_equal(found.weights, weights)
    assert found.n_networks == n_members
    assert found.n_units == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_padding_and_repeated_rows_do_not_count_as_units():
    _, hold_out, rows = set_up(2, 1, weights=torch.ones(N_ROWS))
    assert hold_out.count_units() == 12
    rows.held_out_weights[0, :2] = 0
    assert HoldOut(rows).count_units() == 12  # `n_units` does not count them
    rows.held_out_weights[0, 2:] = 4
    weights = rows.held_out_weights[rows.held_out_weights > 0]
    share = weights.mean() ** 2 / weights.square().mean()
    assert HoldOut(rows).count_units() == pytest.approx(12 * float(share))


def test_error_ratio_subtracts_the_gain_of_averaging():
    error, weights = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 1.0])
    mean_square = (1 + 2 * 4 + 9) / 4 / 2
    for n_networks, spread, expected in [
        (1, 0.0, mean_square),
        (4, 0.5, mean_square - 3 / 4 * 0.5 / 2),
        (4, 50.0, mean_square / 4),  # at least the error of four independent networks
    ]:
        found = make_found(error, 2.0, spread=spread, n_networks=n_networks, weights=weights)
        np.testing.assert_allclose(estimate_error_ratio(found), expected)


def test_error_ratio_without_predicted_variance_is_one():
    """One network without noise model and with one component."""
    assert estimate_error_ratio(make_found([1.0, 2.0], 0.0)) == 1


@pytest.mark.parametrize("n_units", [5.0, 100.0, 1e6])
def test_std_factor_shrinks_large_ratios_as_variance_and_small_as_precision(n_units):
    """30 rows of the ratio 1, and 8 / h for the uncertainty."""
    surcharge = 1 + 8 / n_units
    large, unchanged = find_std_factors(make_found([2.0, -2.0], n_units=n_units), has_noise=True)
    np.testing.assert_allclose(large**2, surcharge * (4 * n_units + 30) / (n_units + 30))
    small, noise = find_std_factors(make_found([0.5, -0.5], n_units=n_units), has_noise=True)
    np.testing.assert_allclose(
        surcharge / (small * noise) ** 2, (4 * n_units + 30) / (n_units + 30)
    )
    assert unchanged == 1
    for errors, ratio in (([2.0, -2.0], 4), ([0.5, -0.5], 0.25)):
        bare, noise = find_std_factors(make_found(errors, n_units=n_units), has_noise=False)
        np.testing.assert_allclose(bare**2, surcharge * ratio)
        assert noise == 1


@pytest.mark.parametrize("epistemic", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("error", [0.05, 0.5, 0.9, 1.5])
def test_small_ratio_reduces_the_noise_before_the_epistemic_part(error, epistemic):
    """A search over the noise: the largest epistemic factor up to 1 that gives the ratio."""
    n_units = 1e9  # neither a prior nor a surcharge
    total = 1 + epistemic
    found = make_found([error, -error], epistemic=epistemic, n_units=n_units)
    std_factor, noise_factor = find_std_factors(found, has_noise=True)
    ratio = error**2 / total
    reached = std_factor**2 * (epistemic + noise_factor**2) / total
    np.testing.assert_allclose(reached, ratio, rtol=1e-6)
    candidates = np.linspace(ratio / 2, 1, 200_001)  # the square of the noise factor
    factors = ratio * total / (epistemic + candidates)
    allowed = factors <= 1 + 1e-9
    best = factors[allowed].max() if ratio < 1 and allowed.any() else factors.min()
    np.testing.assert_allclose(std_factor**2, best if ratio < 1 else ratio, rtol=1e-4)


def test_errors_of_zero_give_finite_positive_factors():
    for epistemic in (0.0, 1.0):
        found = make_found(np.zeros(20), epistemic=epistemic)
        factors = np.array(find_std_factors(found, has_noise=True))
        assert np.isfinite(factors).all()
        assert (factors > 0).all()


def draw_errors(rng, n, scale, share=0.05):
    """Normal errors, of which a share is larger by `scale`; mean square 1."""
    wide = rng.random(n) < share
    return rng.normal(size=n) * np.where(wide, scale, 1) / np.sqrt(1 - share + share * scale**2)


def test_normal_errors_have_no_outlier_scale():
    rng = np.random.default_rng(0)
    found = [find_outlier_scale(make_found(rng.normal(size=200)), ONE)[0] for _ in range(60)]
    assert np.mean(np.array(found) == 1) > 0.8


@pytest.mark.parametrize("unit", [1.0, 7.0])
@pytest.mark.parametrize("scale", [2.0, 3.0, 6.0])
def test_outlier_scale_is_recovered_in_any_unit(scale, unit):
    """In any unit of the errors: only their shape counts."""
    rng = np.random.default_rng(1)
    found = find_outlier_scale(make_found(unit * draw_errors(rng, 20_000, scale)), ONE)
    assert found == pytest.approx(scale, rel=0.1)


def test_outlier_scale_maximises_the_likelihood():
    """Against SciPy's density and optimiser."""
    rng = np.random.default_rng(2)
    error, variance = rng.standard_t(3, size=500), rng.uniform(0.5, 2, size=500)
    z = error / np.sqrt(variance)
    z /= np.sqrt(np.mean(z**2))

    def loss(log_scale):
        scale = np.exp(log_scale)
        narrow = 1 / np.sqrt(0.95 + 0.05 * scale**2)
        density = 0.95 * norm.pdf(z, scale=narrow) + 0.05 * norm.pdf(z, scale=narrow * scale)
        return -np.log(density).sum()

    best = np.exp(minimize_scalar(loss, bounds=(0, np.log(10)), method="bounded").x)
    found = find_outlier_scale(make_found(error, variance), ONE)
    assert found == pytest.approx(best, rel=0.05)  # half a step of the candidates


def test_few_independent_rows_give_no_outlier_scale():
    """Rows of a group share an error, and weights of zero count for nothing."""
    rng = np.random.default_rng(1)
    error = draw_errors(rng, 500, 3.0)
    assert find_outlier_scale(make_found(error), ONE) > 2
    assert find_outlier_scale(make_found(error, n_units=10), ONE) == 1
    ordinary = np.abs(error) < 2
    assert find_outlier_scale(make_found(error, weights=ordinary.astype(float)), ONE) == 1


def test_different_noise_of_networks_explains_large_errors():
    rng = np.random.default_rng(3)
    variances = np.array([0.2, 1.0, 5.0])
    error = rng.normal(size=3000) * np.sqrt(rng.choice(variances, size=3000))
    assert find_outlier_scale(make_found(error), ONE) > 1.5
    found = make_found(error, variances[:, None, None], n_networks=3)
    assert find_outlier_scale(found, ONE) == 1


def call(net, hold_out, n_targets=2, **changes):
    values = {"std_factor_": 3.0, "noise_factor_": 0.5, "outlier_scale_": 2.0}
    defaults = {name: np.full(n_targets, value) for name, value in values.items()}
    settings = {"enabled": True, "defaults": defaults}
    found = hold_out and predict_out_of_fold(net, hold_out, 1)
    y_scale = np.arange(2.0, 2 + n_targets)
    return calibrate(net, hold_out, found, y_scale=y_scale, **{**settings, **changes})


@pytest.mark.parametrize("n_members", [1, 4])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_calibrate_returns_factors_of_out_of_fold_predictions(n_members, n_targets):
    net, hold_out, _ = set_up(n_members, 5, n_targets)
    attributes, found = call(net, hold_out, n_targets), predict_out_of_fold(net, hold_out, 1)
    assert attributes.keys() == set(SCALES)
    std_factor, noise_factor = find_std_factors(found, has_noise=True)
    np.testing.assert_allclose(attributes["std_factor_"], np.squeeze(std_factor))
    np.testing.assert_allclose(attributes["noise_factor_"], np.squeeze(noise_factor))
    expected = find_outlier_scale(found, noise_factor)
    np.testing.assert_allclose(attributes["outlier_scale_"], np.squeeze(expected))
    for value in attributes.values():
        assert isinstance(value, float) if n_targets == 1 else value.shape == (2,)


def test_calibrate_without_noise_model_keeps_noise_and_outlier_defaults():
    net, hold_out, _ = set_up(4, 5, noise=None)
    attributes, found = call(net, hold_out), predict_out_of_fold(net, hold_out, 1)
    expected, ones = find_std_factors(found, has_noise=False)
    np.testing.assert_allclose(attributes["std_factor_"], expected)
    np.testing.assert_array_equal(attributes["noise_factor_"], ones)
    np.testing.assert_array_equal(attributes["outlier_scale_"], [2, 2])
    # A tenth of the root mean square of the standard deviations.
    spreads = np.sqrt(found.epistemic)
    expected = [np.sqrt(np.average(row**2, weights=found.weights)) / 10 for row in spreads]
    np.testing.assert_allclose(attributes["_least_std_"], expected)


def test_calibrate_without_estimate_returns_the_defaults():
    net, hold_out, _ = set_up(2, 3)
    for found in (call(net, hold_out, enabled=False), call(net, None)):
        np.testing.assert_array_equal(found["std_factor_"], [3, 3])
        np.testing.assert_array_equal(found["noise_factor_"], [0.5, 0.5])
        np.testing.assert_array_equal(found["outlier_scale_"], [2, 2])


@pytest.mark.parametrize("n_targets", [1, 2])
def test_noise_std_has_the_units_of_y(n_targets):
    net, hold_out, _ = set_up(2, 3, n_targets, noise="homoscedastic")
    net.criterion_.raw_noise.data = torch.randn(2, n_targets, 1)
    found = call(net, hold_out, n_targets)
    noise_std = net.criterion_.noise_std().detach().numpy()
    expected = noise_std * found["std_factor_"] * found["noise_factor_"] * [2.0, 3.0][:n_targets]
    assert found["noise_std_"] == pytest.approx(expected if n_targets == 2 else expected[0])
