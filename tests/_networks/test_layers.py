import copy

import pytest
import torch

from sk_deltauq._networks import mlp as layers
from sk_deltauq._networks.mlp import AnchoredLinear, StackedLinear

M, D, H, N, K = 3, 4, 5, 7, 6


def generators(seeds=range(M)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
    torch.testing.assert_close(anchored(x, c), expected, rtol=1e-12, atol=1e-12)


def test_anchored_layer_starts_as_torchs_linear_layer_of_double_width():
    layer = AnchoredLinear(400, 300, generators([0]))
    reference = torch.nn.Linear(800, 300)
    weights, bias = plain_weights(layer)[0].detach(), layer.bias.detach()
    bound = 800**-0.5
    assert weights.abs().max() <= bound
    for own, theirs in [(weights, reference.weight), (bias, reference.bias)]:
        assert own.std().item() == pytest.approx(theirs.std().item(), rel=0.1)
        assert own.mean().abs() < 0.1 * bound


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("n_at_a_time", [1, 2, K])
def test_all_pairs_is_a_loop_over_anchors(anchored, monkeypatch, n_at_a_time, reuse):
    monkeypatch.setattr(layers, "_CACHE_FLOATS", n_at_a_time * M * H * N)
    x, c = rows(M, D, N), rows(M, D, K, seed=1)
    with torch.set_grad_enabled(not reuse):
        parts = [part.clone() for part in anchored.pair_all(x, c, reuse=reuse)]
    assert len(parts) == -(-K // n_at_a_time)
    together = torch.cat(parts, dim=2)
    assert together.shape == (M, H, K, N)
    for k in range(K):
        one = anchored(x, c[:, :, k : k + 1].expand(-1, -1, N))
        torch.testing.assert_close(together[:, :, k], one, rtol=1e-12, atol=1e-12)


def test_stacked_layer_is_a_linear_layer_a_member():
    layer = StackedLinear(D, H, generators()).double()
    x = rows(M, D, N)
    for m, out in enumerate(layer(x)):
        one = torch.nn.functional.linear(x[m].T, layer.weight[m], layer.bias[m, :, 0])
        torch.testing.assert_close(out.T, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layer_class", [StackedLinear, AnchoredLinear])
def test_a_member_has_the_same_initial_weights_alone_and_in_a_stack(layer_class):
    stack = layer_class(D, H, generators())
    for m in range(M):
        alone = layer_class(D, H, generators([m]))
        for mine, theirs in zip(stack.parameters(), alone.parameters(), strict=True):
            assert torch.equal(mine[m], theirs[0])
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
