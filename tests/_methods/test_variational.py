"""Layers and networks with a normal posterior of the weights, their noise, and their training."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from sk_deltauq._host import Stream, torch_generators
from sk_deltauq._methods.variational import (
    BayesianLinear,
    Variational,
    draw_normal_noise,
    draw_weight_noise,
)
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._networks.mlp import StackedLinear
from sk_deltauq._training import rows as rows_module
from tests._helpers import assert_stacked_is_alone, make_spec, make_training_rows

M, D, H, N = 3, 4, 5, 7  # members, features, hidden units, samples


def generators(seeds=range(M)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def posterior(layer, member=slice(None)):
    return Normal(layer.mean[member], layer.log_std[member].exp())


def network(members=range(M), n_features=D, prior_std=0.7, sizes=(6, H), **changes):
    method = Variational(prior_std, kl_weight=1.0, n_draws=4)
    return method.network(make_spec(n_features, 2, members, sizes=sizes, **changes))


# The layer


@pytest.fixture
def layer():
    """A layer whose posterior is not the initial one."""
    layer = BayesianLinear(D, H, generators())
    with torch.no_grad():
        layer.log_std.copy_(-1 + 0.5 * rows(*layer.log_std.shape, seed=1))
    return layer


def test_a_layer_starts_near_a_plain_one_with_a_narrow_posterior():
    layer, plain = BayesianLinear(D, H, generators()), StackedLinear(D, H, generators())
    assert layer.mean.shape == layer.log_std.shape == (M, H, D + 1)
    x = rows(M, D, N)
    assert layer(x, torch.zeros(M, H, N)).equal(plain(x))
    without_noise = layer.apply_draws(x[:, None], torch.zeros(M, 1, layer.n_weights))
    assert without_noise[:, 0].allclose(plain(x))
    bound = D**-0.5
    assert 0 < layer.log_std.exp().max() < 0.1 * bound


def test_outputs_have_the_moments_that_draws_of_the_weights_give(layer):
    n_draws, x = 40_000, rows(M, D, 1)
    noise = draw_weight_noise(n_draws, layer.n_weights, generators())
    drawn = layer.apply_draws(x[:, None], noise)[..., 0].transpose(1, 2)  # (member, out, draw)
    sample_noise = draw_normal_noise(n_draws, H, generators([7, 8, 9]))
    sampled = layer(x.expand(-1, -1, n_draws), sample_noise)
    for moment in (torch.mean, torch.std):
        found, expected = moment(sampled, dim=2), moment(drawn, dim=2)
        torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03)
    assert drawn.std(dim=2).min() > 0.2


@pytest.mark.parametrize("prior_std", [0.3, 1.0, 5.0])
def test_the_divergence_equals_the_one_of_torch(layer, prior_std):
    prior = Normal(torch.tensor(0.0), torch.tensor(prior_std))
    expected = kl_divergence(posterior(layer), prior).sum()
    torch.testing.assert_close(layer.kl_divergence(prior_std), expected)


def test_the_divergence_is_zero_if_the_posterior_is_the_prior(layer):
    with torch.no_grad():
        layer.mean.zero_()
        layer.log_std.fill_(np.log(0.4))
    assert abs(layer.kl_divergence(0.4).item()) < 1e-3
    assert layer.kl_divergence(0.5).item() > 1


# The network


def test_a_forward_pass_is_the_one_written_out_in_plain_torch():
    net, x, noise = network(), rows(M, D, N), rows(M, 6 + H + 2, N, seed=1)
    found = net(x, noise)
    for member in range(M):
        h = x[member]
        units = noise[member].split([6, H, 2])
        for layer, unit_noise in zip(net.layers, units, strict=True):
            h = torch.tanh(h) if layer is not net.core.first else h
            h = torch.cat([h, torch.ones(1, N)])
            mean, std = layer.mean[member], layer.log_std[member].exp()
            h = mean @ h + (std**2 @ h**2).sqrt() * unit_noise
        torch.testing.assert_close(found[member], h)


def test_components_are_a_loop_over_draws():
    net, x = network(), rows(D, N)
    draws = draw_weight_noise(4, net.n_weights, generators())
    net.set_draws(draws)
    found = net.components(x)
    assert found.shape == (M, 2, 4, N)
    assert net.n_components == 4 * M
    for member in range(M):
        for draw in range(4):
            h, first = x, 0
            for layer in net.layers:
                h = torch.tanh(h) if layer is not net.core.first else h
                eps = draws[member, draw, first : first + layer.n_weights]
                first += layer.n_weights
                std = layer.log_std[member].exp()
                weights = layer.mean[member] + std * eps.view(std.shape)
                h = torch.nn.functional.linear(h.T, weights[:, :-1], weights[:, -1]).T
            torch.testing.assert_close(found[member, :, draw], h)
    torch.testing.assert_close(net.components(x, limit=2), found[:, :, :2])
    torch.testing.assert_close(net.components(x.expand(M, -1, -1)), found)


def test_the_divergence_of_a_network_is_the_sum_over_layers_and_members():
    net, prior = network(prior_std=0.7), Normal(torch.tensor(0.0), torch.tensor(0.7))
    by_member = [
        sum(kl_divergence(posterior(layer, m), prior).sum() for layer in net.layers)
        for m in range(M)
    ]
    torch.testing.assert_close(net.kl_divergence(), sum(by_member))
    alone = network(members=[1], prior_std=0.7)
    torch.testing.assert_close(alone.kl_divergence(), by_member[1])


def test_a_network_without_hidden_layers_is_a_bayesian_linear_model():
    net, noise = network(sizes=()), rows(M, 2, N, seed=1)
    x = rows(M, D, N)
    assert net(x, noise).equal(net.core.first(x, noise))


# Noise


def test_a_longer_series_of_draws_begins_with_the_shorter_one():
    few, many = (draw_weight_noise(n, 37, generators()) for n in (3, 8))
    assert few.shape == (M, 3, 37)
    assert many[:, :3].equal(few)
    assert not many[0].allclose(many[1])


def test_noise_is_standard_normal_and_differs_between_members():
    noise = draw_normal_noise(4000, 50, generators())
    assert noise.shape == (M, 50, 4000)
    assert abs(noise.mean().item()) < 0.01
    assert abs(noise.std().item() - 1) < 0.01
    assert abs(np.corrcoef(noise[0, 0], noise[1, 0])[0, 1]) < 0.08
    assert draw_normal_noise(4000, 50, generators([1]))[0].equal(noise[1])


# Training


def training_rows(members, n=23):
    number = torch.arange(n, dtype=torch.float32)
    return make_training_rows(
        x=number[:, None],
        y=-number[:, None],
        weights=torch.ones(n),
        train=torch.arange(n).expand(len(members), -1),
        generators=generators(members),
    )


def epoch(members):
    """The parts `(x, noise, y, weights)` of each mini-batch; two hidden units, two outputs."""
    net = network(members, n_features=1, sizes=(2,))
    batches = Variational(0.7, 1.0, 4).batches(net, training_rows(members), 5)
    return [(*inputs, *target) for inputs, target in batches]


def test_each_sample_has_its_own_noise():
    batches = epoch([0, 1])
    shapes = [noise.shape for _, noise, _, _ in batches]
    assert shapes == [(2, 4, x.shape[2]) for x, _, _, _ in batches]
    noise = torch.cat([noise for _, noise, _, _ in batches], dim=2)
    assert noise.shape == (2, 4, 23)
    assert len(noise.unique()) == noise.numel()
    for x, _, y, _ in batches:
        assert x.equal(-y)


@pytest.mark.parametrize("gathered", [1, 2**20])
def test_the_noise_of_a_member_does_not_depend_on_the_stack(gathered, monkeypatch):
    stacked = epoch([0, 1, 2])
    monkeypatch.setattr(rows_module, "_GATHER_ELEMENTS", gathered)
    for together, alone in zip(stacked, epoch([1]), strict=True):
        for part, own in zip(together, alone, strict=True):
            assert part[1].equal(own[0])


@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_step_has_the_gradients_of_the_evidence_lower_bound(n_targets):
    method = Variational(0.7, 0.3, 4)
    head = GaussianHead(n_targets, noise=None, nll_beta=0.0, n_members=M)
    net = method.network(make_spec(D, n_targets, range(M), sizes=(H,)))
    net.kl_weight, net.n_rows = 0.3, 40
    inputs = rows(M, D, N), rows(M, H + n_targets, N, seed=1)
    target = rows(M, n_targets, N, seed=2), torch.ones(M, N)
    found, outputs = method.step(net, head, (inputs, target))
    gradients = [p.grad.clone() for p in net.parameters()]
    torch.testing.assert_close(outputs, net(*inputs))
    prior = Normal(torch.tensor(0.0), torch.tensor(0.7))
    divergence = sum(kl_divergence(posterior(layer), prior).sum() for layer in net.layers)
    loss = head(net(*inputs), target) + 0.3 / (40 * n_targets) * divergence
    torch.testing.assert_close(found, loss.detach())
    expected = torch.autograd.grad(loss, list(net.parameters()))
    torch.testing.assert_close(gradients, list(expected))


@pytest.mark.parametrize("hold_out", [False, True])
def test_a_stack_equals_its_members_trained_separately(hold_out):
    def set_draws(network, members):
        generators = torch_generators(7, Stream.DRAWS, members)
        network.set_draws(draw_weight_noise(4, network.n_weights, generators))

    assert_stacked_is_alone(
        Variational(prior_std=1.0, kl_weight=0.5, n_draws=4),
        kind="regressor",
        hold_out=hold_out,
        embedding="periodic",
        sizes=(8, 8),
        set_members=set_draws,
        alpha=0.0,
        learning_rate_init=0.02,
    )
