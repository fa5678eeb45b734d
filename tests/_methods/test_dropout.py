"""Dropout masks, networks with masks, and their training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sk_deltauq._host import Stream, torch_generators
from sk_deltauq._methods.dropout import Dropout, draw_masks
from sk_deltauq._training import rows as rows_module
from sk_deltauq._training.rows import Batches
from tests._helpers import assert_stacked_is_alone, make_spec, make_training_rows


def network(members=(0,), n_features=3, **changes):
    return Dropout((0.3,), 4).network(make_spec(n_features, 2, members, **changes))


# Masks


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 0.9])
def test_masks_drop_at_their_rate_and_have_mean_one(rate):
    generators = [torch.Generator().manual_seed(seed) for seed in range(2)]
    masks = draw_masks(400, 100, [rate, rate], generators)
    assert masks.shape == (2, 100, 400)
    assert masks.dtype == torch.float32
    dropped = (masks == 0).double()
    error = 4 * np.sqrt(rate * (1 - rate) / dropped[0].numel())
    for member in range(2):
        assert abs(dropped[member].mean().item() - rate) <= error
    kept = masks[masks > 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)))
    assert abs(masks.mean().item() - 1) <= error / (1 - rate)
    if rate:
        assert not torch.equal(masks[0], masks[1])
        assert abs(np.corrcoef(dropped[0, 0], dropped[0, 1])[0, 1]) < 0.25


def test_each_member_has_its_own_rate():
    generators = [torch.Generator().manual_seed(seed) for seed in range(2)]
    masks = draw_masks(400, 100, [0.1, 0.6], generators)
    dropped = (masks == 0).double().mean(dim=(1, 2)).numpy()
    np.testing.assert_allclose(dropped, [0.1, 0.6], atol=0.02)


# The network


def test_the_mean_over_masks_of_a_linear_network_is_the_network_without_dropout():
    net = network(sizes=(5,), activation="identity")
    generators = [torch.Generator().manual_seed(0)]
    x = torch.randn(3, 4, generator=generators[0])
    net.set_masks(draw_masks(40_000, 5, [0.2], generators))
    found = net.components(x).mean(dim=2)[0]
    expected = net(x[None], torch.ones(1, 5, 4))[0]
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("embedding", [None, "sinusoidal"])
def test_a_forward_pass_is_the_loop_written_out_in_plain_torch(embedding):
    net = network(members=(0, 1), sizes=(6, 5), embedding=embedding)
    generators = [torch.Generator().manual_seed(seed) for seed in range(2)]
    masks, x = draw_masks(7, 11, [0.3], generators), torch.randn(2, 3, 7, generator=generators[0])
    found, inputs = net(x, masks), net.core.embedding(x)
    first, rest = net.core.first, net.core.rest
    assert net.n_units == 11
    for member in range(2):
        for sample in range(7):
            h = first.weight[member] @ inputs[member, :, sample] + first.bias[member, :, 0]
            for layer, units in zip(rest, (slice(0, 6), slice(6, 11)), strict=True):
                h = torch.tanh(h) * masks[member, units, sample]
                h = layer.weight[member] @ h + layer.bias[member, :, 0]
            torch.testing.assert_close(found[member, :, sample], h)


def test_components_are_a_loop_over_masks():
    net = network(members=(0, 1), sizes=(6, 5))
    generators = [torch.Generator().manual_seed(seed) for seed in range(2)]
    masks, x = draw_masks(4, 11, [0.3], generators), torch.randn(3, 7, generator=generators[0])
    net.set_masks(masks)
    assert net.n_components == 8
    found = net.components(x)
    for mask in range(4):
        expected = net(x.expand(2, -1, -1), masks[:, :, mask : mask + 1].expand(-1, -1, 7))
        torch.testing.assert_close(found[:, :, mask], expected)
    torch.testing.assert_close(net.components(x, limit=2), found[:, :, :2])
    torch.testing.assert_close(net.components(x.expand(2, -1, -1)), found)


# Training


def training_rows(n=23):
    number = torch.arange(float(n))
    return make_training_rows(
        x=number[:, None],
        y=-number[:, None],
        weights=torch.ones(n),
        train=torch.arange(n).expand(3, -1),
        generators=[torch.Generator().manual_seed(member) for member in range(3)],
    )


def epoch(members=(0, 1, 2), batch_size=5, rates=(0.3,)):
    """The parts `(x, masks, y, weights)` of each mini-batch."""
    of_all, method = training_rows(), Dropout(rates, 4)
    rows = replace(
        of_all,
        train=of_all.train[list(members)],
        held_out=of_all.held_out[list(members)],
        generators=[of_all.generators[member] for member in members],
    )
    net = network(members, n_features=1, sizes=(6, 5))
    return [(*inputs, *target) for inputs, target in method.batches(net, rows, batch_size)]


def test_each_sample_has_its_own_mask():
    batches = epoch()
    masks = torch.cat([masks for _, masks, _, _ in batches], dim=2)
    assert masks.shape == (3, 11, 23)
    flat = masks.transpose(1, 2).flatten(0, 1)  # (member and sample, unit)
    assert len(flat.unique(dim=0)) > 0.8 * len(flat)
    torch.testing.assert_close(masks.unique(), torch.tensor([0, 1 / 0.7]))
    plain = list(Batches(training_rows(), 5))
    for (x, _, y, weights), ((plain_x,), (plain_y, plain_weights)) in zip(
        batches, plain, strict=True
    ):
        assert x.equal(plain_x), "the masks leave the order of the rows alone"
        assert y.equal(plain_y)
        assert weights.equal(plain_weights)


def test_the_rates_of_the_variants_take_turns():
    masks = torch.cat([masks for _, masks, _, _ in epoch(rates=(0.0, 0.5, 0.9))], dim=2)
    kept = [(masks[i] > 0).double().mean().item() for i in range(3)]
    np.testing.assert_allclose(kept, [1, 0.5, 0.1], atol=0.1)


@pytest.mark.parametrize("gathered", [40, 2**20])
def test_the_masks_of_a_member_do_not_depend_on_the_stack(gathered, monkeypatch):
    stacked = epoch()
    monkeypatch.setattr(rows_module, "_GATHER_ELEMENTS", gathered)
    for together, again in zip(stacked, epoch(), strict=True):
        for part, same in zip(together, again, strict=True):
            assert part.equal(same)
    for together, alone in zip(stacked, epoch([1]), strict=True):
        for part, own in zip(together, alone, strict=True):
            assert part[1].equal(own[0])


@pytest.mark.parametrize("hold_out", [False, True])
def test_a_stack_equals_its_members_trained_separately(hold_out):
    def set_masks(network, members):
        generators = torch_generators(7, Stream.MASKS, members)
        network.set_masks(draw_masks(4, network.n_units, [0.1], generators))

    settings = {"embedding": "periodic", "sizes": (8, 8), "set_members": set_masks}
    assert_stacked_is_alone(Dropout((0.1,), 4), kind="regressor", hold_out=hold_out, **settings)
