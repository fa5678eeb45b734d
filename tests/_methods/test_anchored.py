"""Anchored networks against the paper's input `[c, x - c]`, and their batches."""

import pytest
import torch
from torch import nn

from sk_deltauq._methods.anchored import Anchored
from sk_deltauq._networks import mlp as mlp_module
from sk_deltauq._networks.mlp import ACTIVATIONS
from sk_deltauq._training.rows import Batches
from tests._helpers import make_spec, make_training_rows

M, D, P, N, K = 2, 3, 4, 5, 6  # members, features, outputs, samples, anchors
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Networks


def perceptron(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))


def network(module=None, members=range(M), **changes):
    return Anchored(K, module).network(make_spec(D, P, members, **changes)).double()


NETWORKS = {
    "mlp": network,
    "mlp without hidden layers": lambda: network(sizes=()),
    "mlp, sinusoidal": lambda: network(embedding="sinusoidal"),
    "mlp, periodic": lambda: network(embedding="periodic"),
    "modules": lambda: network(perceptron),
    "modules, periodic": lambda: network(perceptron, embedding="periodic"),
}


def pair_one_by_one(network, x, c):
    """Map all pairs, anchor by anchor: the second route of `components`."""
    pairs = [network(x, c[:, :, k : k + 1].expand(-1, -1, x.shape[2])) for k in range(c.shape[2])]
    return torch.stack(pairs, dim=2)  # (member, output, anchor, sample)


@pytest.mark.parametrize("no_gradient", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_components_are_a_loop_over_anchors(name, no_gradient):
    network, x, c = NETWORKS[name](), draws(D, N), draws(D, K, seed=1)
    expected = pair_one_by_one(network, x.expand(M, -1, -1), c.expand(M, -1, -1))
    assert expected.shape == (M, P, K, N)
    network.set_anchors(c.T)
    assert network.n_components == M * K
    with torch.inference_mode(no_gradient):
        found, few = network.components(x), network.components(x, limit=2)
    torch.testing.assert_close(found, expected, **EXACT)
    torch.testing.assert_close(few, expected[:, :, :2], **EXACT)


@pytest.mark.parametrize("name", NETWORKS)
def test_components_take_samples_of_each_member(name):
    network, x, c = NETWORKS[name](), draws(M, D, N), draws(D, K, seed=1)
    expected = pair_one_by_one(network, x, c.expand(M, -1, -1))
    network.set_anchors(c.T)
    torch.testing.assert_close(network.components(x), expected, **EXACT)


@pytest.mark.parametrize("sizes", [(), (8,)])
def test_anchors_in_several_parts_are_all_anchors_at_once(sizes, monkeypatch):
    """The parts share memory without a gradient, but not if they are the result."""
    net, x = network(sizes=sizes), draws(D, N)
    net.set_anchors(draws(K, D, seed=1))
    with torch.inference_mode():
        expected = net.components(x)
        monkeypatch.setattr(mlp_module, "_CACHE_FLOATS", 2 * M * net.core.widths[0] * N)
        torch.testing.assert_close(net.components(x), expected, **EXACT)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_perceptron_is_the_papers_network_on_the_concatenated_input(activation):
    reference_activation = {
        "relu": nn.ReLU(),
        "tanh": nn.Tanh(),
        "logistic": nn.Sigmoid(),
        "silu": nn.SiLU(),
        "gelu": nn.GELU(),
        "identity": nn.Identity(),
    }[activation]
    net, x, c = network(activation=activation), draws(M, D, N), draws(M, D, N, seed=1)
    out = net(x, c)
    first = net.core.first
    for m in range(M):
        h = torch.cat([c[m], x[m] - c[m]]).T  # rows [c, x - c], eq. (6)
        weights = torch.cat([first.weight[m] + first.anchor_weight[m], first.weight[m]], dim=1)
        h = h @ weights.T + first.bias[m, :, 0]
        for layer in net.core.rest:
            h = reference_activation(h) @ layer.weight[m].T + layer.bias[m, :, 0]
        torch.testing.assert_close(out[m].T, h, **EXACT)


def test_a_users_module_gets_the_papers_input():
    net, x, c = network(nn.Linear), draws(M, D, N), draws(M, D, N, seed=1)
    for m, module in enumerate(net.core.members):
        expected = module(torch.cat([c[m], x[m] - c[m]]).T).T
        torch.testing.assert_close(net(x, c)[m], expected, **EXACT)


def test_gradients_reach_the_rows():
    net = network()
    net.set_anchors(draws(K, D, seed=1))
    assert torch.autograd.gradcheck(net.components, draws(D, N).requires_grad_())


@pytest.mark.parametrize("module", [None, perceptron])
def test_the_initial_weights_of_a_member_do_not_depend_on_the_stack(module):
    stack = network(module).core
    for m in range(M):
        alone = network(module, [m]).core
        pairs = zip(stack.member_tensors(m), alone.member_tensors(0), strict=True)
        assert all(torch.equal(in_stack, own) for in_stack, own in pairs)


# Batches


def training_rows():
    number = torch.arange(23.0)
    return make_training_rows(
        x=number[:, None],
        y=-number[:, None],
        weights=torch.ones(23),
        train=torch.stack([torch.arange(18), torch.arange(5, 23)]),
        held_out=torch.stack([torch.arange(18, 23), torch.arange(5)]),
        generators=[torch.Generator().manual_seed(member) for member in range(2)],
    )


def test_each_sample_is_paired_with_a_training_row_of_its_member():
    batches = list(Anchored(5).batches(network(), training_rows(), 5))
    x, c = (torch.cat([inputs[i] for inputs, _ in batches], dim=2) for i in range(2))
    for member, train in enumerate(training_rows().train):
        for found in (x, c):
            assert found[member, 0].sort().values.equal(train.float())
        assert (x[member] != c[member]).sum() > 10
    plain = list(Batches(training_rows(), 5))
    for (inputs, (y, weights)), ((alone,), (plain_y, plain_weights)) in zip(
        batches, plain, strict=True
    ):
        assert inputs[0].equal(alone), "the anchors leave the order of the rows alone"
        assert y.equal(plain_y)
        assert weights.equal(plain_weights)
