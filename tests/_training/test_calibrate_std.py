"""The factor of the standard deviation, from numbers that a stub network returns."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training.held_out import HoldOut, calibrate_std
from sk_deltauq._training.rows import TrainingRows

N, N_ROWS = 6, 24  # held-out rows per member, and all rows


class TableNetwork:
    """A network whose outputs stand in a table; the feature of a row is its place there.

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


def set_up(n_members, n_draws, n_targets=2, noise="heteroscedastic"):
    """A net, its held-out rows, and the training rows."""
    generator = torch.Generator().manual_seed(0)
    head = GaussianHead(n_targets, noise=noise, nll_beta=0, n_members=n_members)
    table = torch.randn(n_members, head.n_network_outputs, n_draws, N_ROWS, generator=generator)
    held_out = torch.randperm(N_ROWS, generator=generator)[: n_members * N].view(n_members, N)
    rows = TrainingRows(
        x=torch.arange(float(N_ROWS))[:, None],
        y=2 * torch.randn(N_ROWS, n_targets, generator=generator),
        weights=torch.rand(N_ROWS, generator=generator) + 0.5,
        train=torch.empty((n_members, 0), dtype=torch.int64),
        held_out=held_out,
        generators=[],
    )
    return SimpleNamespace(module_=TableNetwork(table), criterion_=head), HoldOut(rows), rows


def calibrate(net, hold_out, n_targets=2, **changes):
    settings = {"enabled": True, "ddof": 1, "default": np.full(n_targets, 3.0)}
    return calibrate_std(
        net, hold_out, y_scale=np.arange(2.0, 2 + n_targets), **{**settings, **changes}
    )


@pytest.mark.parametrize("n_members", [1, 2, 4])
@pytest.mark.parametrize("n_draws", [1, 5])
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_factor_is_the_ratio_of_errors_to_standard_deviations(n_members, n_draws, ddof):
    """Row by row: the error of the member that holds the row out, less the part averaged away."""
    net, hold_out, rows = set_up(n_members, n_draws)
    means, stds = (part.numpy() for part in net.criterion_.components(net.module_.table))
    y, weights = rows.y.numpy(), rows.weights.double().numpy()
    means = means.astype(float)  # (component, row, target)
    variances = (stds**2).mean(axis=0) + means.var(axis=0, ddof=min(ddof, len(means) - 1))
    of_members = means.reshape(n_members, n_draws, N_ROWS, 2).mean(axis=1)
    error, spread, n_rows = 0, 0, 0
    for member, held_out in enumerate(rows.held_out.tolist()):
        for row in held_out:
            others = np.delete(of_members[:, row], member, axis=0)
            error += weights[row] * (y[row] - of_members[member, row]) ** 2 / variances[row]
            if n_members > 2:
                spread += weights[row] * others.var(axis=0, ddof=1) / variances[row]
            n_rows += weights[row]
    error, spread = error / n_rows, spread / n_rows
    squared = error - (1 - 1 / n_members) * spread
    squared = np.maximum(squared, error / n_members)
    # The prior counts as 100 rows with the factor 1.
    expected = np.sqrt((n_rows * squared + 100) / (n_rows + 100))
    assert (abs(expected - 1) > 0.01).all(), "a factor of one shows nothing"
    found = calibrate(net, hold_out, ddof=ddof)
    assert found.keys() == {"std_factor_"}
    np.testing.assert_allclose(found["std_factor_"], expected, rtol=1e-5)


def test_the_error_of_the_mean_is_at_least_the_error_of_independent_members():
    """Members far apart: their spread exceeds their errors, and would leave less than nothing."""
    net, _, rows = set_up(4, 1)
    net.module_.table[:, :2] = torch.tensor([0.0, 50.0, -50.0, 0.0])[:, None, None, None]
    rows.y.zero_()
    squared_errors = 50.0**2 * torch.tensor([0, 1, 1, 0])
    means, stds = net.criterion_.components(net.module_.table)
    variances = stds.square().mean(0) + means.var(0)
    weights = rows.weights[rows.held_out]  # (member, row)
    z = squared_errors[:, None, None] / variances[rows.held_out]  # (member, row, target)
    error = (z * weights[..., None]).sum((0, 1)) / weights.sum()
    n_rows = weights.sum()
    expected = ((n_rows * error / 4 + 100) / (n_rows + 100)).sqrt()
    found = calibrate(net, HoldOut(rows))["std_factor_"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_without_an_estimate_the_factor_is_the_default():
    net, hold_out, _ = set_up(2, 3)
    for found in (calibrate(net, hold_out, enabled=False), calibrate(net, None)):
        np.testing.assert_array_equal(found["std_factor_"], [3, 3])


@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_constant_noise_is_reported_in_the_units_of_y(n_targets):
    net, hold_out, _ = set_up(2, 3, n_targets, noise="homoscedastic")
    net.criterion_.raw_noise.data = torch.randn(2, n_targets, 1)
    found = calibrate(net, hold_out, n_targets)
    noise_std = net.criterion_.noise_std().detach().numpy()
    expected = noise_std * found["std_factor_"] * [2.0, 3.0][:n_targets]
    assert found["noise_std_"] == pytest.approx(expected if n_targets == 2 else expected[0])
    for value in found.values():
        assert isinstance(value, float) if n_targets == 1 else value.shape == (2,)
