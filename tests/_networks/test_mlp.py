"""Linear layers, embeddings and multilayer perceptrons against plain torch, member by member."""

import copy
import math

import pytest
import torch
from torch import nn

from sk_deltauq._networks import mlp as mlp_module
from sk_deltauq._networks.mlp import (
    ACTIVATIONS,
    EMBEDDINGS,
    MLP,
    N_DIRECTIONS,
    AnchoredLinear,
    PlainNetwork,
    StackedLinear,
)
from tests._helpers import make_spec

M, D, H, N, K = 3, 4, 5, 7, 6  # members, features, outputs, samples, anchors
N_FREQUENCIES = {"alternating": 3, "sinusoidal": 3, "periodic": 4}
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def generators(seeds=range(M)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Linear layers


@pytest.fixture
def anchored():
    return AnchoredLinear(D, H, generators()).double()


def plain_weights(layer):
    """The paper's weights `[A, W]` on the columns `[c, x - c]`."""
    return torch.cat([layer.weight + layer.anchor_weight, layer.weight], dim=2)


def test_anchored_layer_is_a_linear_layer_on_the_concatenated_input(anchored):
    x, c = rows(M, D, N), rows(M, D, N, seed=1)
    concatenated = torch.cat([c, x - c], dim=1)
    expected = plain_weights(anchored) @ concatenated + anchored.bias
    torch.testing.assert_close(anchored(x, c), expected, **EXACT)


def test_anchored_layer_starts_like_a_torch_linear_layer_of_double_width():
    layer = AnchoredLinear(400, 300, generators([0]))
    reference = nn.Linear(800, 300)
    weights, bias = plain_weights(layer)[0].detach(), layer.bias.detach()
    bound = 800**-0.5
    assert weights.abs().max() <= bound
    for own, torchs in [(weights, reference.weight), (bias, reference.bias)]:
        assert own.std().item() == pytest.approx(torchs.std().item(), rel=0.1)
        assert own.mean().abs() < 0.1 * bound


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("n_at_a_time", [1, 2, 4, K])  # the last of four is shorter
def test_pair_all_is_a_loop_over_anchors(anchored, monkeypatch, n_at_a_time, in_parts):
    monkeypatch.setattr(mlp_module, "_CACHE_FLOATS", n_at_a_time * M * H * N)
    x, c = rows(M, D, N), rows(M, D, K, seed=1)
    with torch.set_grad_enabled(not in_parts):
        parts = [part.clone() for part in anchored.pair_all(x, c, in_parts=in_parts)]
    assert len(parts) == (-(-K // n_at_a_time) if in_parts else 1)
    together = torch.cat(parts, dim=2)
    assert together.shape == (M, H, K, N)
    for k in range(K):
        one = anchored(x, c[:, :, k : k + 1].expand(-1, -1, N))
        torch.testing.assert_close(together[:, :, k], one, **EXACT)


def test_stacked_layer_is_one_linear_layer_per_member():
    layer = StackedLinear(D, H, generators()).double()
    x = rows(M, D, N)
    for m, out in enumerate(layer(x)):
        one = nn.functional.linear(x[m].T, layer.weight[m], layer.bias[m, :, 0])
        torch.testing.assert_close(out.T, one, **EXACT)


@pytest.mark.parametrize("layer_class", [StackedLinear, AnchoredLinear])
def test_initial_weights_of_a_member_do_not_depend_on_the_stack(layer_class):
    stack = layer_class(D, H, generators())
    for m in range(M):
        alone = layer_class(D, H, generators([m]))
        for in_stack, own in zip(stack.parameters(), alone.parameters(), strict=True):
            assert torch.equal(in_stack[m], own[0])
    assert not torch.equal(stack.weight[0], stack.weight[1])


def test_adam_on_a_stack_is_adam_on_each_member():
    stack = StackedLinear(D, H, generators())
    members = [StackedLinear(D, H, generators([m])) for m in range(M)]
    x, y = rows(M, D, N).float(), rows(M, H, N, seed=1).float()

    def train(layer, x, y):
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.05, fused=True)
        for _ in range(20):
            optimizer.zero_grad()
            ((layer(x) - y) ** 2).mean(dim=(1, 2)).sum().backward()
            optimizer.step()

    before = copy.deepcopy(stack.weight.detach())
    train(stack, x, y)
    assert (stack.weight - before).abs().max() > 0.1
    for m, member in enumerate(members):
        train(member, x[m : m + 1], y[m : m + 1])
        torch.testing.assert_close(stack.weight[m], member.weight[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(stack.bias[m], member.bias[0], rtol=1e-4, atol=1e-5)


# Embeddings


def embedded(name, members=range(2)):
    """An embedding, some features, and the embedded features."""
    x = rows(len(members), D, N, seed=7).float()
    embedding = make_spec(D, H, members, embedding=name).make_embedding()
    return embedding, x, embedding(x).detach()


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding_has_n_outputs_columns_and_starts_with_the_features(name):
    embedding, x, out = embedded(name)
    assert out.shape == (2, embedding.n_outputs, N)
    assert torch.equal(out[:, :D], x)
    if name is None:
        assert embedding.n_outputs == D


@pytest.mark.parametrize("name", N_FREQUENCIES)
def test_sinusoidal_features_are_sines_and_cosines_feature_by_feature(name):
    embedding, x, out = embedded(name, members=[0, 2])
    n_frequencies = N_FREQUENCIES[name]
    frequencies = embedding.frequencies.detach().expand(2, D, n_frequencies, 1)
    for m in range(2):
        for d in range(D):
            for j in range(n_frequencies):
                angle = frequencies[m, d, j, 0] * x[m, d]
                row = D + d * n_frequencies + j
                torch.testing.assert_close(out[m, row], angle.sin())
                torch.testing.assert_close(out[m, row + D * n_frequencies], angle.cos())


def test_sinusoidal_frequencies_are_octaves_and_are_not_learnt():
    embedding, *_ = embedded("sinusoidal")
    expected = torch.tensor([math.pi / 4, math.pi / 2, math.pi])
    torch.testing.assert_close(embedding.frequencies[:, 0], expected)
    assert not list(embedding.parameters())


@pytest.mark.parametrize("members", [[0, 1, 2], [3], [2], [0, 0, 1, 1]])
def test_only_even_members_see_alternating_features(members):
    embedding, _, out = embedded("alternating", members)
    sinusoidal = embedded("sinusoidal", members)[2]
    for i, member in enumerate(members):
        is_even = member in (0, 2)
        expected = sinusoidal[i, D:] if is_even else torch.zeros_like(out[i, D:])
        torch.testing.assert_close(out[i, D:], expected)
    assert not any(p.requires_grad for p in embedding.parameters())


def test_fourier_features_are_sines_and_cosines_of_random_mixtures():
    embedding, x, out = embedded("fourier", members=[0, 2])
    n = N_DIRECTIONS
    for m in range(2):
        angles = embedding.directions[m].detach() @ x[m]
        torch.testing.assert_close(out[m, D : D + n], angles.sin())
        torch.testing.assert_close(out[m, D + n :], angles.cos())
    assert not torch.equal(*embedding.directions)  # a draw per member
    assert not embedding.directions.requires_grad


@pytest.mark.parametrize(("n_features", "cycles"), [(2, 0.5), (7, 0.5), (8, 0.25), (20, 0.25)])
def test_fourier_features_have_a_bandwidth_in_cycles_over_a_uniform_feature(n_features, cycles):
    embedding = make_spec(n_features, H, range(20), embedding="fourier").make_embedding()
    # A standardised uniform feature is sqrt(12) wide.
    per_width = embedding.directions.std().item() * 12**0.5 / (2 * math.pi)
    assert per_width == pytest.approx(cycles, rel=0.1)


def test_periodic_frequencies_are_learnt_and_differ_between_members():
    embedding, x, _ = embedded("periodic")
    embedding(x).sum().backward()
    assert embedding.frequencies.grad.abs().min() > 0
    assert not torch.equal(embedding.frequencies[0], embedding.frequencies[1])


# Multilayer perceptrons


def plain(members=range(M), **changes):
    return PlainNetwork(MLP(make_spec(D, H, members, **changes))).double()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_perceptron_is_a_chain_of_linear_layers(activation):
    reference = {
        "relu": nn.ReLU(),
        "tanh": nn.Tanh(),
        "logistic": nn.Sigmoid(),
        "silu": nn.SiLU(),
        "gelu": nn.GELU(),
        "identity": nn.Identity(),
    }[activation]
    network, x = plain(activation=activation), rows(M, D, N)
    for m in range(M):
        h = x[m].T
        for i, layer in enumerate([network.core.first, *network.core.rest]):
            h = reference(h) if i else h
            h = nn.functional.linear(h, layer.weight[m], layer.bias[m, :, 0])
        torch.testing.assert_close(network(x)[m].T, h, rtol=1e-10, atol=1e-12)
        with torch.inference_mode():  # where some activations work in place
            torch.testing.assert_close(network(x)[m].T, h, rtol=1e-10, atol=1e-12)
    assert network.core.width == 8
    assert network.core.n_members == M


def test_the_components_of_a_plain_network_are_its_members():
    network, x, own = plain(), rows(D, N), rows(M, D, N, seed=1)
    assert network.n_components == M
    for m in range(M):
        alone = plain([m])
        torch.testing.assert_close(network.components(x)[m, :, 0], alone(x[None])[0])
        torch.testing.assert_close(network.components(own)[m, :, 0], alone(own[m : m + 1])[0])
    assert network.components(own, limit=8).shape == (M, H, 1, N)


@pytest.mark.parametrize("first_layer", [StackedLinear, AnchoredLinear])
@pytest.mark.parametrize("embedding", [None, "periodic"])
def test_the_initial_weights_of_a_perceptron_do_not_depend_on_the_stack(first_layer, embedding):
    stack = MLP(make_spec(D, H, range(M), embedding=embedding), first_layer)
    for m in range(M):
        alone = MLP(make_spec(D, H, [m], embedding=embedding), first_layer)
        pairs = zip(stack.member_tensors(m), alone.member_tensors(0), strict=True)
        assert all(torch.equal(in_stack, own) for in_stack, own in pairs)


def test_member_tensors_are_views_of_one_member():
    core = MLP(make_spec(D, H, range(2), embedding="periodic"), AnchoredLinear)
    others = [tensor.clone() for tensor in core.member_tensors(0)]
    for tensor in core.member_tensors(1):
        tensor.zero_()
    assert all(p[1].eq(0).all() for p in core.parameters())
    for now, before in zip(core.member_tensors(0), others, strict=True):
        assert torch.equal(now, before)


def test_extra_inputs_follow_the_embedded_rows():
    core = MLP(make_spec(D, H, range(M), embedding="sinusoidal"), n_extra=2).double()
    x, extra = core.embedding(rows(M, D, N)), rows(M, 2, K, N, seed=1)
    found = core.map_extra(x, extra)
    assert found.shape == (M, H, K, N)
    for k in range(K):
        inputs = torch.cat([x, extra[:, :, k]], dim=1)
        torch.testing.assert_close(found[:, :, k], core.map_inputs(inputs), **EXACT)
