"""Corrupted mini-batches: their inputs, their share, and their random numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, baselines, load
from sk_deltauq._training.corruption import CORRUPTIONS, CorruptedBatches
from sk_deltauq._training.rows import ExtraInputs

ROWS = torch.randn(2, 5, 64, generator=torch.Generator().manual_seed(0))  # (member, feature, row)
ANCHORS = torch.randn(2, 5, 64, generator=torch.Generator().manual_seed(1))
TARGET = "target"
N_BATCHES = 400


def never(order):
    raise AssertionError("These mini-batches are there already.")


def generators(members):
    return [torch.Generator().manual_seed(member) for member in members]


ANCHORED = ExtraInputs(5, never, lambda inputs, change: (inputs[1] + change,), are_anchors=True)
# Extra inputs that do not change, and extra inputs that are the sum of the change
STAYING = ExtraInputs(5, never)
FOLLOWING = ExtraInputs(5, never, lambda inputs, change: (change.sum(dim=1, keepdim=True),))


class SameBatch:
    """The same mini-batch many times, with the attributes of `Batches` that corruption reads."""

    def __init__(self, members, extra):
        self.extra, self.rows = extra, SimpleNamespace(generators=generators(members))
        self.inputs = ROWS[list(members)], ANCHORS[list(members)]

    def __iter__(self):
        return iter([(self.inputs, TARGET)] * N_BATCHES)


def corrupted(name, members=(0, 1), extra=ANCHORED):
    return list(CorruptedBatches(SameBatch(members, extra), CORRUPTIONS[name]))


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruption_changes_the_anchor_and_keeps_the_difference(name):
    n_changed = 0
    for (x, c), target in corrupted(name):
        torch.testing.assert_close(x - c, ROWS - ANCHORS, atol=1e-5, rtol=0)
        assert target is TARGET
        n_changed += sum(
            not torch.equal(found, own) for found, own in zip(c, ANCHORS, strict=True)
        )
    assert 0.06 < n_changed / (2 * N_BATCHES) < 0.14  # one in ten


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruption_without_anchors_keeps_the_other_inputs(name):
    found = corrupted(name, extra=STAYING)
    assert all(torch.equal(c, ANCHORS) for (_, c), _ in found)
    assert any(not torch.equal(x, ROWS) for (x, _), _ in found)


def test_extra_inputs_follow_the_corrupted_rows():
    found = corrupted("swap", extra=FOLLOWING)
    changed = [((x - ROWS).sum(dim=1, keepdim=True), c) for (x, c), _ in found if c.shape[1] == 1]
    assert 0.1 < len(changed) / N_BATCHES < 0.3  # one in ten of each member
    for expected, c in changed:
        torch.testing.assert_close(c, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruption_of_a_member_does_not_depend_on_the_stack(name):
    together, alone = corrupted(name), corrupted(name, members=(1,))
    for (one, _), (other, _) in zip(together, alone, strict=True):
        for in_stack, single in zip(one, other, strict=True):
            assert torch.equal(in_stack[1], single[0])


def test_swap_takes_values_of_other_rows_and_noise_has_its_std():
    rows = ANCHORS[0].T
    generator = torch.Generator().manual_seed(0)
    swapped = CORRUPTIONS["swap"](rows, generator)
    changed = swapped != rows
    assert 0.2 < changed.float().mean() < 0.4
    for feature in range(5):
        assert set(swapped[:, feature].tolist()) <= set(rows[:, feature].tolist())
    noise = CORRUPTIONS["noise"](rows, generator) - rows
    assert noise.std().item() == pytest.approx(0.5, rel=0.15)


def double(rows, generator):
    return 2 * rows


@pytest.mark.parametrize(
    "make",
    [
        lambda c: DeltaUQClassifier(anchor_corruption=c, n_anchors=3),
        lambda c: DeltaUQClassifier(anchor_corruption=c, n_anchors=3, anchors="neighbours"),
        lambda c: baselines.DeepEnsembleClassifier(input_corruption=c, n_members=2),
        lambda c: baselines.MCDropoutClassifier(input_corruption=c, n_masks=3),
    ],
)
def test_estimators_train_with_a_corruption(make, classification_data, tmp_path):
    X, y = classification_data
    small = {"hidden_layer_sizes": (8,), "max_iter": 8, "batch_size": 8, "random_state": 0}
    found = [
        make(c).set_params(**small).fit(X, y).predict_proba(X) for c in (None, "swap", double)
    ]
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[1], found[2])
    model = make(double).set_params(**small).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), found[2])  # from the seed alone
    model.save(tmp_path / "model.safetensors")
    name = next(n for n in model.get_params() if n.endswith("_corruption"))
    with pytest.raises(ValueError, match=name):
        load(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors", **{name: double})
    np.testing.assert_array_equal(again.predict_proba(X), found[2])


@pytest.mark.parametrize("wrong", [lambda rows, _: rows[:, :1], lambda rows, _: rows.numpy()])
def test_corruption_that_changes_the_shape_raises(wrong, classification_data):
    model = DeltaUQClassifier(anchor_corruption=wrong, batch_size=4, max_iter=20)
    with pytest.raises(ValueError, match="must return a torch tensor of the same shape"):
        model.fit(*classification_data)
    assert not hasattr(model, "net_")
