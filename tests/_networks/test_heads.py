"""Heads against the distributions of torch."""

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.nn.functional import softplus

from sk_deltauq._networks.heads import VARIANCE_FLOOR, CategoricalHead, GaussianHead

M, Q, K, N = 2, 3, 4, 6  # members, targets, components per member, samples


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gaussian_head(noise, nll_beta=0.0):
    head = GaussianHead(Q, noise=noise, nll_beta=nll_beta, n_members=M).double()
    if noise == "homoscedastic":
        head.raw_noise.data = draws(M, Q, 1, seed=5)
    return head


def reference_normal(head, raw):
    """The normal densities of raw outputs `(member, output, ..., sample)`, in plain torch."""
    mean = raw[:, :Q]
    if head.noise == "heteroscedastic":
        variance = softplus(raw[:, Q:])
    else:
        variance = softplus(head.raw_noise).reshape(M, Q, *(1,) * (raw.ndim - 2)).expand_as(mean)
    return Normal(mean, (variance + VARIANCE_FLOOR).sqrt())


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic"])
def test_loss_without_beta_is_the_weighted_negative_log_likelihood(noise):
    head = gaussian_head(noise)
    raw, y = draws(M, head.n_network_outputs, N), draws(M, Q, N, seed=1)
    weights = draws(M, N, seed=2).abs()
    log_density = reference_normal(head, raw).log_prob(y).mean(dim=1)
    constant = 0.5 * torch.log(torch.tensor(2 * torch.pi, dtype=torch.float64))
    expected = ((-log_density - constant) * weights).mean(dim=1).sum()
    torch.testing.assert_close(head(raw, (y, weights)), expected)


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0])
def test_beta_scales_each_gradient_by_a_power_of_the_variance(beta):
    y, weights = draws(M, Q, N, seed=1), torch.ones(M, N, dtype=torch.float64)
    gradients = {}
    for power in (0.0, beta):
        raw = draws(M, 2 * Q, N).requires_grad_()
        gaussian_head("heteroscedastic", power)(raw, (y, weights)).backward()
        gradients[power] = raw.grad
    scale = (softplus(draws(M, 2 * Q, N)[:, Q:]) + VARIANCE_FLOOR) ** beta
    torch.testing.assert_close(gradients[beta], gradients[0.0] * scale.repeat(1, 2, 1))


def test_without_noise_the_loss_has_the_gradient_of_half_the_squared_error():
    raw, y = draws(M, Q, N).requires_grad_(), draws(M, Q, N, seed=1)
    gaussian_head(None)(raw, (y, torch.ones(M, N, dtype=torch.float64))).backward()
    torch.testing.assert_close(raw.grad, (raw.detach() - y) / (Q * N))


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic"])
def test_score_is_the_log_density_of_the_mixture_over_components(noise):
    head = gaussian_head(noise)
    raw, y = draws(M, head.n_network_outputs, K, N), draws(M, Q, N, seed=1)
    normal = reference_normal(head, raw)
    components = Normal(normal.loc.movedim(2, -1), normal.scale.movedim(2, -1))
    uniform = Categorical(torch.ones(K, dtype=torch.float64))
    expected = MixtureSameFamily(uniform, components).log_prob(y).mean(dim=1)
    torch.testing.assert_close(head.score(raw, y), expected)


def test_score_without_noise_is_minus_the_squared_error_of_the_mean():
    raw, y = draws(M, Q, K, N), draws(M, Q, N, seed=1)
    expected = -((raw.mean(dim=2) - y) ** 2).mean(dim=1)
    torch.testing.assert_close(gaussian_head(None).score(raw, y), expected)


@pytest.mark.parametrize("noise", ["heteroscedastic", "homoscedastic", None])
def test_components_come_member_by_member(noise):
    head = gaussian_head(noise)
    raw = draws(M, head.n_network_outputs, K, N)
    means, stds = head.components(raw)
    assert means.shape == stds.shape == (M * K, N, Q)
    for m in range(M):
        for k in range(K):
            assert torch.equal(means[m * K + k], raw[m, :Q, k].T)
    if noise is None:
        assert not stds.any()
    else:
        expected = reference_normal(head, raw).scale[1, :, 2].T
        torch.testing.assert_close(stds[1 * K + 2], expected)


def test_noise_std_is_the_root_of_the_mean_variance_over_members():
    head = gaussian_head("homoscedastic")
    _, stds = head.components(draws(M, Q, K, N))
    torch.testing.assert_close(head.noise_std(), (stds**2).mean(dim=(0, 1)).sqrt())


def test_categorical_loss_and_score_against_torch_distributions():
    head = CategoricalHead(Q)
    y = torch.tensor([[0, 1, 2, 1, 0, 2], [2, 2, 0, 1, 1, 0]])
    target = y[:, None].double()  # labels are floats, like all targets
    raw, weights = draws(M, Q, N), draws(M, N, seed=2).abs()
    log_p = Categorical(logits=raw.movedim(1, -1)).log_prob(y)
    torch.testing.assert_close(head(raw, (target, weights)), -(log_p * weights).mean(1).sum())

    raw = draws(M, Q, K, N)
    proba = raw.softmax(dim=1).mean(dim=2)  # (member, class, sample)
    expected = proba.gather(1, y[:, None]).squeeze(1).log()
    torch.testing.assert_close(head.score(raw, target), expected)
    assert torch.equal(head.components(raw)[0][K + 1], raw[1, :, 1].T)
