import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from sk_deltauq._methods.variational import BayesianLinear, BayesianMLP, draw_normal_noise, draw_weight_noise
from sk_deltauq._networks.mlp import StackedLinear
from tests._helpers import embed

M, D, H, N = 3, 4, 5, 7


def generators(seeds=range(M)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def posterior(layer, member=slice(None)):
    return Normal(layer.mean[member], layer.log_std[member].exp())


@pytest.fixture
def layer():
    """A layer whose posterior is not the initial one."""
    layer = BayesianLinear(D, H, generators())
    with torch.no_grad():
        layer.log_std.copy_(-1 + 0.5 * rows(*layer.log_std.shape, seed=1))
    return layer


def network(seeds=range(M), prior_std=0.7, **settings):
    settings = {"hidden_layer_sizes": (6, H), "activation": "tanh"} | settings
    return BayesianMLP(
        embed(None, D), 2, prior_std=prior_std, generators=generators(seeds), **settings
    )


# The layer


def test_a_layer_starts_near_a_plain_one_with_a_narrow_posterior():
    layer, plain = BayesianLinear(D, H, generators()), StackedLinear(D, H, generators())
    assert layer.mean.shape == layer.log_std.shape == (M, H, D + 1)
    x = rows(M, D, N)
    assert layer(x, torch.zeros(M, H, N)).equal(plain(x))
    assert layer.apply_draws(x[:, None], torch.zeros(M, 1, layer.n_weights))[:, 0].allclose(plain(x))
    bound = D**-0.5
    assert 0 < layer.log_std.exp().max() < 0.1 * bound


def test_outputs_have_the_moments_that_draws_of_the_weights_give(layer):
    n_draws, x = 40_000, rows(M, D, 1)
    noise = draw_weight_noise(n_draws, layer.n_weights, generators())
    drawn = layer.apply_draws(x[:, None], noise)[..., 0].transpose(1, 2)  # (member, out, draw)
    sampled = layer(x.expand(-1, -1, n_draws), draw_normal_noise(n_draws, H, generators([7, 8, 9])))
    for moment in (torch.mean, torch.std):
        found, expected = moment(sampled, dim=2), moment(drawn, dim=2)
        torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03)
    assert drawn.std(dim=2).min() > 0.2


@pytest.mark.parametrize("prior_std", [0.3, 1.0, 5.0])
def test_divergence_is_that_of_torch(layer, prior_std):
    prior = Normal(torch.tensor(0.0), torch.tensor(prior_std))
    expected = kl_divergence(posterior(layer), prior).sum()
    torch.testing.assert_close(layer.kl_divergence(prior_std), expected)


def test_divergence_vanishes_where_the_posterior_is_the_prior(layer):
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
            h = torch.tanh(h) if layer is not net.first else h
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
                h = torch.tanh(h) if layer is not net.first else h
                eps = draws[member, draw, first : first + layer.n_weights]
                first += layer.n_weights
                weights = layer.mean[member] + layer.log_std[member].exp() * eps.view(
                    layer.mean.shape[1:]
                )
                h = torch.nn.functional.linear(h.T, weights[:, :-1], weights[:, -1]).T
            torch.testing.assert_close(found[member, :, draw], h)
    torch.testing.assert_close(net.components(x, limit=2), found[:, :, :2])
    torch.testing.assert_close(net.components(x.expand(M, -1, -1)), found)


def test_divergence_of_a_network_is_the_sum_over_layers_and_members():
    net, prior = network(prior_std=0.7), Normal(torch.tensor(0.0), torch.tensor(0.7))
    by_member = [
        sum(kl_divergence(posterior(layer, m), prior).sum() for layer in net.layers)
        for m in range(M)
    ]
    torch.testing.assert_close(net.kl_divergence(), sum(by_member))
    alone = network(seeds=[1], prior_std=0.7)
    torch.testing.assert_close(alone.kl_divergence(), by_member[1])


def test_a_network_without_hidden_layers_is_a_bayesian_linear_model():
    net, noise = network(hidden_layer_sizes=()), rows(M, 2, N, seed=1)
    x = rows(M, D, N)
    assert net(x, noise).equal(net.first(x, noise))


# Noise


def test_a_longer_series_of_draws_begins_with_the_shorter_one():
    few, many = (draw_weight_noise(n, 37, generators()) for n in (3, 8))
    assert few.shape == (M, 3, 37)
    assert many[:, :3].equal(few)
    assert not many[0].allclose(many[1])


def test_noise_is_standard_normal_and_each_members_own():
    noise = draw_normal_noise(4000, 50, generators())
    assert noise.shape == (M, 50, 4000)
    assert abs(noise.mean().item()) < 0.01
    assert abs(noise.std().item() - 1) < 0.01
    assert abs(np.corrcoef(noise[0, 0], noise[1, 0])[0, 1]) < 0.08
    assert draw_normal_noise(4000, 50, generators([1]))[0].equal(noise[1])
