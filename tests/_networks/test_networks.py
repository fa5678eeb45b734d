import pytest
import torch
from torch import nn

from sk_deltauq._torch.networks import (
    ACTIVATIONS,
    AnchoredMLP,
    AnchoredModules,
    PlainMLP,
    PlainModules,
)
from tests._helpers import embed

M, D, P, N, K = 2, 3, 4, 5, 6


def generators(seeds=range(M)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _mlp(kind, seeds, embedding=None, **changes):
    drawing = generators(seeds)
    settings = {"hidden_layer_sizes": (8, 7), "activation": "tanh", **changes}
    return kind(embed(embedding, D, drawing), P, generators=drawing, **settings).double()


def mlp(seeds=range(M), **changes):
    return _mlp(AnchoredMLP, seeds, **changes)


def modules(seeds=range(M), embedding=None):
    def factory(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))

    drawing = generators(seeds)
    embedded = embed(embedding, D, drawing)
    return AnchoredModules(embedded, P, factory=factory, generators=drawing).double()


def tiled(network, x, c):
    """Every pair written out, as the authors' code does: the second route of `components`."""
    pairs = [network(x, c[:, :, k : k + 1].expand(-1, -1, x.shape[2])) for k in range(c.shape[2])]
    return torch.stack(pairs, dim=2)


def plain_mlp(seeds=range(M), **changes):
    return _mlp(PlainMLP, seeds, **changes)


def plain_modules(seeds=range(M)):
    def factory(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))

    settings = {"factory": factory, "generators": generators(seeds)}
    return PlainModules(embed(None, D), P, **settings).double()


NETWORKS = {
    "mlp": mlp,
    "mlp without hidden layers": lambda: mlp(hidden_layer_sizes=()),
    "mlp, sinusoidal": lambda: mlp(embedding="sinusoidal"),
    "mlp, periodic": lambda: mlp(embedding="periodic"),
    "modules": modules,
    "modules, periodic": lambda: modules(embedding="periodic"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_components_factorised_equal_tiled(name):
    network, x, c = NETWORKS[name](), rows(D, N), rows(D, K, seed=1)
    expected = tiled(network, x.expand(M, -1, -1), c.expand(M, -1, -1))
    assert expected.shape == (M, P, K, N)
    network.set_anchors(c.T)
    assert network.n_components == M * K
    torch.testing.assert_close(network.components(x), expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(
        network.components(x, limit=2), expected[:, :, :2], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_components_take_samples_of_each_member(name):
    network, x, c = NETWORKS[name](), rows(M, D, N), rows(D, K, seed=1)
    expected = tiled(network, x, c.expand(M, -1, -1))
    network.set_anchors(c.T)
    torch.testing.assert_close(network.components(x), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_mlp_is_the_papers_network_on_the_concatenated_input(activation):
    reference_activation = {
        "relu": nn.ReLU(),
        "tanh": nn.Tanh(),
        "logistic": nn.Sigmoid(),
        "silu": nn.SiLU(),
        "gelu": nn.GELU(),
        "identity": nn.Identity(),
    }[activation]
    network, x, c = mlp(activation=activation), rows(M, D, N), rows(M, D, N, seed=1)
    out = network(x, c)
    first = network.first
    for m in range(M):
        h = torch.cat([c[m], x[m] - c[m]]).T  # rows [c, x - c], eq. (6)
        weights = torch.cat([first.weight[m] + first.anchor_weight[m], first.weight[m]], dim=1)
        h = h @ weights.T + first.bias[m, :, 0]
        for layer in network.rest:
            h = reference_activation(h) @ layer.weight[m].T + layer.bias[m, :, 0]
        torch.testing.assert_close(out[m].T, h, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("build", [plain_mlp, plain_modules])
def test_the_components_of_a_plain_network_are_its_members(build):
    network, x, own = build(), rows(D, N), rows(M, D, N, seed=1)
    assert network.n_components == M
    for m in range(M):
        alone = build([m])
        torch.testing.assert_close(network.components(x)[m, :, 0], alone(x[None])[0])
        torch.testing.assert_close(network.components(own)[m, :, 0], alone(own[m : m + 1])[0])
    assert network.components(own, limit=8).shape == (M, P, 1, N)


def test_plain_mlp_is_a_chain_of_linear_layers():
    network, x = plain_mlp(), rows(M, D, N)
    for m in range(M):
        h = x[m].T
        for i, layer in enumerate([network.first, *network.rest]):
            h = torch.tanh(h) if i else h
            h = nn.functional.linear(h, layer.weight[m], layer.bias[m, :, 0])
        torch.testing.assert_close(network(x)[m].T, h, rtol=1e-10, atol=1e-12)
    assert network.width == 8


def test_gradients_reach_the_input():
    network = mlp()
    network.set_anchors(rows(K, D, seed=1))
    assert torch.autograd.gradcheck(network.components, rows(D, N).requires_grad_())


@pytest.mark.parametrize("build", [mlp, modules, plain_mlp, plain_modules])
def test_a_member_starts_the_same_alone_and_in_a_stack(build):
    stack = build()
    for m in range(M):
        alone = build([m])
        for mine, theirs in zip(stack.member_tensors(m), alone.member_tensors(0), strict=True):
            assert torch.equal(mine, theirs)


def test_building_a_users_module_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    modules()
    assert torch.equal(before, torch.get_rng_state())


def test_member_tensors_are_views_of_one_member():
    network = mlp(embedding="periodic")
    others = [tensor.clone() for tensor in network.member_tensors(0)]
    for tensor in network.member_tensors(1):
        tensor.zero_()
    assert all(p[1].eq(0).all() for p in network.parameters())
    for now, before in zip(network.member_tensors(0), others, strict=True):
        assert torch.equal(now, before)


def test_member_tensors_of_modules_include_buffers():
    network = AnchoredModules(
        embed(None, D),
        P,
        factory=lambda i, o: nn.Sequential(nn.BatchNorm1d(i), nn.Linear(i, o)),
        generators=generators(),
    )
    network.train()
    before = [tensor.clone() for tensor in network.member_tensors(0)]
    network(rows(M, D, N).float(), rows(M, D, N, seed=1).float())
    changed = [
        not torch.equal(a, b) for a, b in zip(before, network.member_tensors(0), strict=True)
    ]
    assert any(changed), "the running statistics of BatchNorm are part of a member"


def test_a_module_with_another_output_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"module must map rows of width 6 to 4 outputs.*\(2, 1\)"
    ):
        AnchoredModules(
            embed(None, D), P, factory=lambda i, o: nn.Linear(i, 1), generators=generators()
        )


def test_trying_a_module_out_leaves_its_statistics_alone():
    network = AnchoredModules(
        embed(None, D),
        P,
        factory=lambda i, o: nn.Sequential(nn.BatchNorm1d(i), nn.Linear(i, o)),
        generators=generators(),
    )
    assert network.training
    assert network.members[0][0].num_batches_tracked == 0
