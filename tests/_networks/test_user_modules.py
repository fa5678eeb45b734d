"""Copies of a module that the user brings: weights, buffers, shapes and random numbers."""

import pytest
import torch
from torch import nn

from sk_deltauq._networks.mlp import PlainNetwork
from sk_deltauq._networks.user_modules import UserModules
from tests._helpers import make_spec

M, D, P, N = 2, 3, 4, 5  # members, features, outputs, samples


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def perceptron(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))


def with_batch_norm(n_in, n_out):
    return nn.Sequential(nn.BatchNorm1d(n_in), nn.Linear(n_in, n_out))


def modules(members=range(M), factory=perceptron, embedding=None, n_inputs=1):
    return UserModules(make_spec(D, P, members, embedding=embedding), factory, n_inputs)


@pytest.mark.parametrize("embedding", [None, "periodic"])
def test_each_member_maps_its_own_embedded_rows(embedding):
    core, x = modules(embedding=embedding), rows(M, D, N)
    found, inputs = core(x), core.embedding(x)
    assert found.shape == (M, P, N)
    for member, module in enumerate(core.members):
        torch.testing.assert_close(found[member].T, module(inputs[member].T))


def test_the_components_of_a_plain_network_are_its_members():
    network, x, own = PlainNetwork(modules()), rows(D, N), rows(M, D, N, seed=1)
    assert network.n_components == M
    for m in range(M):
        alone = PlainNetwork(modules([m]))
        torch.testing.assert_close(network.components(x)[m, :, 0], alone(x[None])[0])
        torch.testing.assert_close(network.components(own)[m, :, 0], alone(own[m : m + 1])[0])
    assert network.components(own, limit=8).shape == (M, P, 1, N)


@pytest.mark.parametrize("embedding", [None, "periodic"])
def test_the_initial_weights_of_a_member_do_not_depend_on_the_stack(embedding):
    stack = modules(embedding=embedding)
    for m in range(M):
        alone = modules([m], embedding=embedding)
        pairs = zip(stack.member_tensors(m), alone.member_tensors(0), strict=True)
        assert all(torch.equal(in_stack, own) for in_stack, own in pairs)
    assert not torch.equal(stack.members[0][0].weight, stack.members[1][0].weight)


def test_making_modules_does_not_change_the_global_random_state():
    before = torch.get_rng_state()
    modules()
    assert torch.equal(before, torch.get_rng_state())


def test_member_tensors_are_views_of_one_member_with_its_buffers():
    core = modules(factory=with_batch_norm, embedding="periodic")
    others = [tensor.clone() for tensor in core.member_tensors(0)]
    before = [tensor.clone() for tensor in core.member_tensors(1)]
    core.train()
    core(rows(M, D, N))
    pairs = zip(before, core.member_tensors(1), strict=True)
    changed = [not torch.equal(then, now) for then, now in pairs]
    assert sum(changed) == 3, "running mean, running variance and number of batches"
    for tensor, value in zip(core.member_tensors(0), others, strict=True):
        tensor.copy_(value)
    for tensor in core.member_tensors(1):
        tensor.zero_()
    assert not any(tensor.any() for tensor in core.members[1].state_dict().values())
    for now, then in zip(core.member_tensors(0), others, strict=True):
        assert torch.equal(now, then)


@pytest.mark.parametrize(("n_inputs", "width"), [(1, 3), (2, 6)])
def test_a_module_with_another_output_shape_is_refused(n_inputs, width):
    match = rf"module must map rows of width {width} to 4 outputs.*\(2, 1\)"
    with pytest.raises(ValueError, match=match):
        modules(factory=lambda n_in, n_out: nn.Linear(n_in, 1), n_inputs=n_inputs)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (nn.LSTM, "expected a tensor of shape .*, got a tuple"),
        (lambda n_in, n_out: None, "returned a NoneType"),
    ],
)
def test_a_factory_of_something_else_is_refused(factory, message):
    with pytest.raises(ValueError, match=message):
        modules(factory=factory)


def test_a_module_instead_of_a_factory_is_refused():
    with pytest.raises(ValueError, match=r"module must be a factory.*an instance of Linear"):
        modules(factory=nn.Linear(D, P))


def test_a_trial_pass_does_not_change_the_statistics_of_a_module():
    core = modules(factory=with_batch_norm)
    assert core.training
    assert core.members[0][0].num_batches_tracked == 0


def test_the_width_is_the_widest_layer_or_the_input():
    assert modules().width == 6
    assert modules(n_inputs=2, embedding="sinusoidal").width == 2 * 7 * D


def test_extra_inputs_follow_the_embedded_rows():
    core = UserModules(make_spec(D, P, range(M)), perceptron, n_extra=2)
    x, extra = rows(M, D, N), rows(M, 2, 4, N, seed=1)
    found = core.map_extra(x, extra)
    assert found.shape == (M, P, 4, N)
    for member, module in enumerate(core.members):
        for k in range(4):
            inputs = torch.cat([x[member], extra[member, :, k]])
            torch.testing.assert_close(found[member, :, k].T, module(inputs.T))
