"""Rows of each member, random draws from them, and mini-batches: exact values."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from sk_deltauq._training import rows as module
from sk_deltauq._training.folds import HoldOutPlan, assign_folds
from sk_deltauq._training.rows import (
    Batches,
    ExtraInputs,
    assign_rows,
    resolve_batch_size,
)
from sk_deltauq._validation import FitData
from tests._helpers import assign_as_planned, make_settings, make_training_rows

# Two members that train on different rows of 12
TRAIN = [[0, 1, 2, 3, 5, 7, 9], [11, 10, 8, 6, 4, 2, 0]]


def generators(n_members=2):
    return [torch.Generator().manual_seed(40 + member) for member in range(n_members)]


def make_rows(weights=None, train=TRAIN):
    """Row i has the features i and i + 0.5, and the target -i."""
    number = torch.arange(12, dtype=torch.float32)
    return make_training_rows(
        x=torch.stack([number, number + 0.5], dim=1),
        y=-number[:, None],
        weights=torch.ones(12) if weights is None else torch.tensor(weights),
        train=torch.tensor(train),
        generators=generators(len(train)),
    )


def test_length_is_the_number_of_all_rows():
    assert len(make_rows()) == 12


def test_pick_counts_places_among_training_rows_of_each_member():
    picked = make_rows().pick([torch.tensor([6, 0]), torch.tensor([1, 1])])
    assert picked.tolist() == [[9, 0], [10, 10]]


def test_permutations_come_from_the_generator_of_each_member():
    expected = [torch.randperm(7, generator=g).tolist() for g in generators()]
    assert [p.tolist() for p in make_rows().draw_permutations()] == expected
    assert expected[0] != expected[1]


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_with_equal_weights_each_row_is_a_partner_once(weight):
    take = make_rows([weight] * 12).draw_partners()
    partners = take([(0, 3), (3, 7)])
    assert partners.shape == (2, 2, 7), "(member, feature, sample)"
    for member in range(2):
        assert sorted(partners[member, 0].tolist()) == sorted(TRAIN[member])
    orders = [torch.randperm(7, generator=g) for g in generators()]
    expected = [[TRAIN[m][place] for place in order] for m, order in enumerate(orders)]
    assert partners[:, 0].tolist() == expected
    assert torch.equal(partners[:, 1], partners[:, 0] + 0.5)
    assert torch.equal(take([(2, 3), (3, 5)]), partners[..., 2:5])


def test_one_row_is_its_own_partner():
    rows = make_rows(train=[[3], [4]])
    assert rows.draw_partners()([(0, 1)])[:, 0].tolist() == [[3], [4]]
    alone = make_training_rows(
        x=torch.ones(1, 2),
        y=torch.ones(1, 1),
        weights=torch.ones(1),
        train=torch.tensor([[0]]),
        generators=generators(1),
    )
    assert alone.draw_partners()([(0, 1)]).tolist() == [[[1], [1]]]


def test_weighted_partners_invert_the_cumulative_weights_of_the_member():
    weights = [0.1, 4.0, 0.2, 1.0, 2.0, 0.3, 0.5, 1.5, 0.4, 0.7, 0.9, 0.4]
    partners = make_rows(weights).draw_partners()([(0, 7)])[:, 0]
    for member, generator in enumerate(generators()):
        of_member = np.array(weights, dtype=np.float32).astype(float)[TRAIN[member]]
        shares = np.cumsum(of_member) / np.sum(of_member)
        draws = torch.rand(7, generator=generator, dtype=torch.float64)
        expected = [TRAIN[member][next(i for i, s in enumerate(shares) if s >= u)] for u in draws]
        assert partners[member].tolist() == expected


def test_weighted_rows_are_drawn_in_proportion_to_their_weights():
    weights = np.linspace(0.1, 1.9, 5)
    rows = make_training_rows(
        x=torch.zeros(5, 1),
        y=torch.zeros(5, 1),
        weights=torch.tensor(weights),
        train=torch.arange(5).repeat(1, 2000),
        generators=generators(1),
    )
    (places,) = rows.draw_weighted_places()
    assert len(places) == 10_000
    counts = np.bincount(places.numpy() % 5, minlength=5)
    np.testing.assert_allclose(counts / 10_000, weights / weights.sum(), atol=0.02)
    assert places.max() > 9_990, "the last rows are drawn too"


def test_default_device_of_the_caller_does_not_change_the_draws():
    rows, others = make_rows(), make_rows()
    expected = rows.draw_permutations()
    with torch.device("meta"):
        drawn = others.draw_permutations()
    assert all(torch.equal(one, two) for one, two in zip(drawn, expected, strict=True))
    expected = rows.draw_weighted_places()
    with torch.device("meta"):
        drawn = others.draw_weighted_places()
    assert all(torch.equal(one, two) for one, two in zip(drawn, expected, strict=True))


@pytest.mark.parametrize(
    ("batch_size", "sizes"),
    [
        (1, [1] * 7),
        (2, [2, 1, 2, 2]),
        (3, [2, 3, 2]),
        (4, [4, 3]),
        (6, [4, 3]),
        (7, [7]),
        (9, [7]),
    ],
)
def test_epoch_is_split_into_batches_of_equal_size(batch_size, sizes):
    """Sizes differ by at most one row."""
    batches = list(Batches(make_rows(), batch_size))
    found = [y.shape[-1] for _, (y, _) in batches]
    assert sum(found) == 7
    assert len(found) == math.ceil(7 / batch_size)
    assert max(found) - min(found) <= 1
    assert max(found) <= batch_size
    assert Counter(found) == Counter(sizes)


@pytest.mark.parametrize("per_gather", [1, 2, 100])
def test_batches_follow_the_order_of_each_member(per_gather, monkeypatch):
    monkeypatch.setattr(module, "_GATHER_ELEMENTS", per_gather * 2 * 2 * 3)
    weights = np.linspace(0.5, 1.5, 12, dtype=np.float32)
    batches = list(Batches(make_rows(weights.tolist()), 2))
    assert all(len(inputs) == 1 for inputs, _ in batches)
    x, y, w = (
        torch.cat(parts, dim=-1)
        for parts in zip(*((x, y, w) for (x,), (y, w) in batches), strict=True)
    )
    orders = [torch.randperm(7, generator=g) for g in generators()]
    expected = np.array([[TRAIN[m][place] for place in order] for m, order in enumerate(orders)])
    assert x.shape == (2, 2, 7), "(member, feature, sample)"
    assert y.shape == (2, 1, 7), "(member, target, sample)"
    np.testing.assert_array_equal(x[:, 0], expected)
    np.testing.assert_array_equal(x[:, 1], expected + 0.5)
    np.testing.assert_array_equal(y[:, 0], -expected)
    np.testing.assert_array_equal(w, weights[expected])


def test_second_pass_has_another_order():
    batches = Batches(make_rows(), 7)
    ((first,), _), ((second,), _) = (next(iter(batches)) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("limit", [1, 2 * 2 * (2 + 1 + 3), 2 * 2 * 2 * (2 + 1 + 3), 10_000])
def test_extra_inputs_match_the_samples_of_each_batch(limit, monkeypatch):
    """One call serves as many batches as fit into one gather."""
    monkeypatch.setattr(module, "_GATHER_ELEMENTS", limit)
    calls, epochs = [], []

    def begin_epoch(order):
        epochs.append(1)

        def take(bounds):
            calls.append(len(bounds))
            number = torch.arange(bounds[0][0], bounds[-1][1], dtype=torch.float32)
            return number.expand(2, 3, -1)

        return take

    batches = list(Batches(make_rows(), 2, ExtraInputs(3, begin_epoch)))
    assert len(epochs) == 1
    per_call = min(max(limit // 24, 1), 4)
    assert calls == [per_call] * (4 // per_call)
    extra = torch.cat([inputs[1] for inputs, _ in batches], dim=-1)
    assert extra[1, 2].tolist() == list(range(7))
    for (x, extra), (y, weights) in batches:
        assert x.shape[-1] == extra.shape[-1] == y.shape[-1] == weights.shape[-1]
    # The rows come in the same order as without a second input.
    plain = torch.cat([x for (x,), _ in Batches(make_rows(), 2)], dim=-1)
    assert torch.equal(torch.cat([x for (x, _), _ in batches], dim=-1), plain)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(1, 1), (31, 31), (32, 32), (2047, 32), (2049, 64), (10**7, 1024)]
)
def test_automatic_batch_size_is_a_power_of_two_near_the_root(n_rows, expected):
    """The root is rounded at 45.25, the geometric mean of 32 and 64, so at 2048 rows."""
    assert resolve_batch_size("auto", n_rows) == expected


def test_wrong_number_of_members_raises():
    """A list of places or generators of the wrong length is an error, not a shorter result."""
    with pytest.raises(ValueError, match="zip"):
        make_rows().pick([torch.tensor([0])])
    rows = make_rows()
    rows.generators.pop()
    with pytest.raises(ValueError, match="zip"):
        rows.draw_weighted_places()


def make_data(n=40, n_classes=None, weights=None):
    x = torch.arange(2.0 * n).reshape(n, 2)
    labels = None if n_classes is None else np.arange(n) % n_classes
    weights = torch.ones(n) if weights is None else weights
    return FitData(x.numpy(), x, x[:, :1] * 3, weights, labels)


def test_assign_rows_scales_weights_and_assigns_folds():
    weights = torch.linspace(1, 5, 40)
    data, own = make_data(weights=weights), generators(4)
    plan, members = HoldOutPlan(n_folds=4, n_networks=3), [0, 0, 2, 1]
    rows = assign_rows(data, make_settings(), plan, members, np.random.default_rng(8), own)
    train, held_out = assign_folds(np.random.default_rng(8), 40, 4, 3)
    assert rows.train.tolist() == train[members].tolist()
    assert rows.held_out.tolist() == held_out[members].tolist()
    assert torch.equal(rows.x, data.x)
    assert torch.equal(rows.y, data.y)
    torch.testing.assert_close(rows.weights, weights / 3)
    torch.testing.assert_close(rows.held_out_weights, (weights / 3)[held_out[members]])
    assert rows.n_units == 30, "three folds of ten rows"
    assert rows.generators is own


def test_classes_leave_fewer_rows_to_hold_out():
    """Without one row of each class, 18 rows are left for five folds."""
    settings = make_settings(early_stopping="auto", n_members=1)
    sizes = []
    for n_classes in (None, 2):
        data = make_data(20, n_classes)
        rows = assign_as_planned(data, settings, [0], np.random.default_rng(8), generators(1))
        sizes.append(rows.held_out.shape)
    assert sizes == [(1, 4), (1, 3)]


def test_folds_of_a_classifier_are_stratified():
    settings = make_settings(early_stopping=True, n_members=2, validation_fraction=0.25)
    data = make_data(44, 4)
    rows = assign_as_planned(data, settings, [0, 1], np.random.default_rng(8), generators())
    counts = [np.bincount(data.labels[fold], minlength=4) for fold in rows.held_out.numpy()]
    np.testing.assert_allclose(counts, [[2.5] * 4] * 2, atol=0.5)


@pytest.mark.parametrize("changes", [{"early_stopping": False}, {"partial": True}])
def test_members_without_folds_train_on_all_rows(changes):
    settings = make_settings(**{"early_stopping": "auto", "n_members": 2, **changes})
    rng, members = np.random.default_rng(8), [1, 0, 0]
    rows = assign_as_planned(make_data(), settings, members, rng, generators(3))
    assert rows.train.tolist() == [list(range(40))] * 3
    assert rows.held_out.shape == (3, 0)
    assert rows.held_out.dtype == torch.int64


def test_rows_and_draws_are_on_the_device_of_training():
    """The device "meta" has no values, so nothing can be left on the CPU by mistake."""
    settings = make_settings(early_stopping=True, n_members=2, device="meta")
    rng = np.random.default_rng(8)
    rows = assign_as_planned(make_data(), settings, [0, 1], rng, generators())
    places = rows.draw_permutations()
    tensors = [rows.x, rows.y, rows.weights, rows.train, rows.held_out, *places]
    tensors.append(rows.held_out_weights)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
