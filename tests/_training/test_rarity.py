"""The variance of rare levels, from a network whose effects are known, and simulated errors."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._rarity import find_levels
from sk_deltauq._training.calibration import OutOfFold
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.rarity import add_rare_levels, estimate_factor, measure_level_spread
from sk_deltauq._training.rows import TrainingRows

N = 120
COUNTS = [50, 30, 20, 15, 3, 2]
EFFECTS = np.array([1.0, -2.0, 0.5, 3.0, 100.0, -50.0])
FLAGS = [2.0, -4.0, 70.0]  # effects of flags with 40, 30 and 2 rows


def make_net(effects):
    """A net with two members whose means are linear in the rows; the members' mean is exact."""

    def components(x, limit=None):
        mean = torch.tensor(effects, dtype=torch.float32) @ x  # (row,)
        return torch.stack([mean - 1, mean + 1])[:, None, None]  # (member, target, component, row)

    module = SimpleNamespace(components=components)
    module.eval = lambda: module
    return SimpleNamespace(module_=module, criterion_=GaussianHead(1, None, 0, n_members=2))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    number = rng.normal(size=(N, 1))
    one_hot = rng.permutation(np.eye(6)[np.repeat(np.arange(6), COUNTS)])
    flags = np.column_stack([rng.permutation(N) < count for count in (40, 30, 2)])
    return np.column_stack([one_hot, number, flags]).astype(np.float32)


def test_level_spread_is_the_variance_of_common_effects(rows):
    levels, x = find_levels(rows), torch.from_numpy(rows)
    net = make_net([*EFFECTS, 7.0, *FLAGS])
    spread = measure_level_spread(net, levels, levels.count_rows(x), x)
    expected = [np.var(EFFECTS[:4], ddof=1)] * 6 + [np.mean(np.square(FLAGS))] * 3
    assert spread[:, 0] == pytest.approx(expected, rel=1e-4)


def make_found(error, variance, weights=None):
    error = np.atleast_2d(error)
    variances = np.broadcast_to(variance, error.shape).astype(float)
    return OutOfFold(
        error=error,
        network_spreads=np.zeros((1, *error.shape)),
        network_noises=variances[np.newaxis],
        epistemic=np.zeros_like(error),
        spread=np.zeros_like(error),
        weights=np.ones(error.shape[1]) if weights is None else weights,
        n_networks=1,
        n_units=error.shape[1],
    )


@pytest.mark.parametrize("true_factor", [0.0, 0.5, 1.0, 3.0])
def test_factor_is_recovered_from_many_rows(true_factor):
    """The predicted variances are half of the truth, which the other rows show."""
    rng = np.random.default_rng(0)
    added = np.tile([0.0, 2.0, 6.0], 40_000)[np.newaxis]
    errors = np.sqrt(1 + true_factor * added) * rng.normal(size=added.shape)
    found = make_found(errors, 0.5)
    assert estimate_factor(found, added) == pytest.approx([true_factor], abs=0.03)
    assert estimate_factor(make_found(errors, 0.5), 2 * added) == pytest.approx(
        [true_factor / 2], abs=0.03
    )


def test_factor_of_few_rows_stays_near_one():
    added = np.r_[np.zeros(50), 1000.0][np.newaxis]
    errors = np.ones_like(added)
    errors[0, -1] = 0  # as if the level had no variance at all
    assert estimate_factor(make_found(errors, 1.0), added) == pytest.approx([10 / 11], abs=0.01)
    errors[0, -1] = np.sqrt(12_000)
    assert estimate_factor(make_found(errors, 1.0), added) == pytest.approx([22 / 11], rel=0.01)
    # A row without weight, such as padding, does not count.
    weights = np.r_[np.ones(50), 0.0]
    assert estimate_factor(make_found(errors, 1.0, weights), added) == pytest.approx([1.0])
    # Without other rows the predicted variances are taken as they are.
    found = make_found(np.full(1, 2.0), 1.0)
    share = 0.75
    expected = (10 + share * 3 / 4) / (10 + share**2)
    assert estimate_factor(found, np.full((1, 1), 3.0)) == pytest.approx([expected])


def test_rare_levels_add_variance_for_the_network_that_holds_them_out(rows):
    """The first network holds out all rows of the levels with 3 and 2 rows, the second none."""
    x, levels = torch.from_numpy(rows), find_levels(rows)
    is_rare = rows[:, 4:6].any(axis=1)
    rare, common = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    held_out = torch.from_numpy(np.stack([rare, common[:5]]))
    train = np.stack([common[:110], np.r_[rare, common[5:110]]])
    all_rows = TrainingRows(
        x=x,
        y=torch.zeros(N, 1),
        weights=torch.ones(N),
        train=torch.from_numpy(train),
        held_out=held_out,
        held_out_weights=torch.ones(2, 5),
        n_units=10,
        generators=[],
    )
    # The flags have no effect. The noise variance is 2.
    found = make_found(np.zeros(10), 2.0)
    net = make_net([*EFFECTS, 7.0, 0, 0, 0])
    changed, rarity = add_rare_levels(net, HoldOut(all_rows), found, levels, x)
    spread = np.var(EFFECTS[:4], ddof=1)
    factor = estimate_factor(found, np.r_[np.full(5, spread), np.zeros(5)][np.newaxis])[0]
    expected = factor * np.r_[np.full(5, spread), np.zeros(5)]
    assert changed.epistemic[0] == pytest.approx(expected, rel=1e-4)
    assert changed.network_spreads[0, 0] == pytest.approx(expected, rel=1e-4)
    # At prediction the levels have 3 and 2 rows: the posterior variance of their effects.
    posterior = [1 / (1 / spread + m / 2) for m in (3, 2)]
    assert rarity.variances[4:6, 0].numpy() == pytest.approx(np.multiply(factor, posterior))
    assert rarity.variances[:4].eq(0).all()
    assert rarity.unseen[:, 0].numpy() == pytest.approx([factor * spread])
