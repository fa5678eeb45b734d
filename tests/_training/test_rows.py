"""Mini-batches of the rows of each member, and random partners of the rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sk_deltauq._training.rows import Batches, ExtraInputs
from tests._helpers import make_training_rows


def training_rows(n=23, n_members=2, weights=None, train=None, seed=0):
    """Rows with their number as features: row i is [i, i + 0.5], its target -i."""
    number = torch.arange(n, dtype=torch.float32)
    train = np.tile(np.arange(n), (n_members, 1)) if train is None else train
    return make_training_rows(
        x=torch.stack([number, number + 0.5], dim=1),
        y=-number[:, None],
        weights=torch.ones(n) if weights is None else torch.as_tensor(weights).float(),
        train=torch.as_tensor(train),
        generators=[torch.Generator().manual_seed(seed + m) for m in range(n_members)],
    )


def with_partners(rows, batch_size):
    """Mini-batches `((x, partners), (y, weights))`."""
    return Batches(
        rows, batch_size, ExtraInputs(rows.x.shape[1], lambda order: rows.draw_partners())
    )


def epoch(rows, batch_size, batches=with_partners):
    return [
        tuple(part.numpy() for pair in batch for part in pair)
        for batch in batches(rows, batch_size)
    ]


@pytest.mark.parametrize("batch_size", [1, 4, 5, 23, 1000])
def test_epoch_has_each_row_once_with_its_target_and_weight(batch_size):
    weights = np.linspace(0.5, 1.5, 23)
    batches = epoch(training_rows(weights=weights), batch_size)
    for member in range(2):
        x, c, y, w = (
            np.concatenate([part[member] for part in parts], axis=-1)
            for parts in zip(*batches, strict=True)
        )
        assert sorted(x[0]) == list(range(23))
        np.testing.assert_array_equal(x[1], x[0] + 0.5)
        np.testing.assert_array_equal(y[0], -x[0])
        np.testing.assert_allclose(w, weights[x[0].astype(int)], rtol=1e-6)
        np.testing.assert_array_equal(c[1], c[0] + 0.5)


@pytest.mark.parametrize("batch_size", [1, 5, 1000])
def test_epoch_without_partners_has_each_row_once(batch_size):
    batches = epoch(training_rows(), batch_size, Batches)
    for member in range(2):
        x, y, _ = (
            np.concatenate([part[member] for part in parts], axis=-1)
            for parts in zip(*batches, strict=True)
        )
        assert sorted(x[0]) == list(range(23))
        np.testing.assert_array_equal(y[0], -x[0])
    first, second = (epoch(training_rows(), 1000, kind)[0] for kind in (Batches, with_partners))
    np.testing.assert_array_equal(first[0], second[0])  # the order is the same with partners


@pytest.mark.parametrize(("batch_size", "sizes"), [(4, [4, 4, 4, 4, 4, 3]), (22, [12, 11])])
def test_batches_are_of_equal_size(batch_size, sizes):
    found = [batch[0].shape[-1] for batch in epoch(training_rows(), batch_size)]
    assert sorted(found, reverse=True) == sizes


def test_each_row_is_a_partner_once_in_another_order():
    ((x, c, *_),) = epoch(training_rows(), 1000)
    for member in range(2):
        assert sorted(c[member, 0]) == list(range(23))
        assert (c[member, 0] != x[member, 0]).sum() > 15
    assert not np.array_equal(x[0], x[1]), "each member has its own order"


def test_epochs_differ_and_are_reproducible():
    rows = training_rows()
    first, second = epoch(rows, 1000)[0], epoch(rows, 1000)[0]
    assert not np.array_equal(first[0], second[0])
    again = epoch(training_rows(), 1000)[0]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_batches_of_a_member_do_not_depend_on_other_members():
    rows = training_rows()
    own = replace(rows, train=rows.train[1:], generators=rows.generators[1:])
    alone, together = epoch(own, 5), epoch(training_rows(), 5)
    for stack, single in zip(together, alone, strict=True):
        for a, b in zip(stack, single, strict=True):
            np.testing.assert_array_equal(a[1], b[0])


def test_weighted_rows_are_partners_in_proportion_to_their_weights():
    weights = np.r_[np.full(500, 0.1), np.full(500, 1.9)]
    rows = training_rows(1000, 1, weights)
    partners = np.concatenate([epoch(rows, 1000)[0][1][0, 0] for _ in range(20)])
    share = (partners < 500).mean()
    assert share == pytest.approx(0.05, abs=5 * (0.05 * 0.95 / 20_000) ** 0.5)


def test_rows_and_partners_are_training_rows_of_the_member():
    train = np.array([[0, 1, 2, 3], [3, 4, 5, 6]])
    ((x, c, *_),) = epoch(training_rows(train=train), 10)
    for member in range(2):
        assert set(x[member, 0]) == set(c[member, 0]) == set(train[member])


@pytest.mark.parametrize("batches", [Batches, with_partners])
def test_number_of_gathers_does_not_change_the_batches(monkeypatch, batches):
    whole = epoch(training_rows(), 3, batches)
    monkeypatch.setattr("sk_deltauq._training.rows._GATHER_ELEMENTS", 40)
    for a, b in zip(whole, epoch(training_rows(), 3, batches), strict=True):
        for part_a, part_b in zip(a, b, strict=True):
            np.testing.assert_array_equal(part_a, part_b)


def test_width_of_an_extra_input_limits_a_gather(monkeypatch):
    """Batches of two rows, two members, five floats per sample: 40 floats are two batches."""
    monkeypatch.setattr("sk_deltauq._training.rows._GATHER_ELEMENTS", 40)
    blocks = []

    def begin_epoch(order):
        def take(bounds):
            blocks.append(len(bounds))
            return torch.zeros(2, 2, bounds[-1][1] - bounds[0][0])

        return take

    batches = list(Batches(training_rows(), 2, ExtraInputs(2, begin_epoch)))
    assert len(batches) == 12
    assert blocks == [2] * 6
