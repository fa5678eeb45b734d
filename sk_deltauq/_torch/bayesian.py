"""Bayesian layers: a normal posterior for each weight, learnt by variational inference."""

from __future__ import annotations

import math

import torch
from torch import nn

from sk_deltauq._torch.layers import CPU_FLOAT, StackedLinear
from sk_deltauq._torch.networks import _MLP

# Initial standard deviation of the posterior, times the bound of the initial means. With that of
# the prior the noise of the weights drowns the data, and training ends with the weights pruned.
_INITIAL_STD = 0.05


def normal_noise(n_samples: int, n_units: int, generators) -> torch.Tensor:
    """Draw `(member, unit, sample)` from N(0, 1), each member from its own generator."""
    draws = [torch.randn((n_samples, n_units), generator=g, **CPU_FLOAT) for g in generators]
    return torch.stack(draws).transpose(1, 2)


def weight_noise(n_draws: int, n_weights: int, generators) -> torch.Tensor:
    """Draw `(member, draw, weight)` from N(0, 1); a longer series begins with the shorter one."""
    # One call a draw: the last numbers of a call depend on how many there are.
    draws = [normal_noise(1, n_weights, generators) for _ in range(n_draws)]
    return torch.cat(draws, dim=2).transpose(1, 2)


class BayesianLinear(nn.Module):
    """A linear layer a member, with a normal posterior for each weight and bias.

    `mean` and `log_std` are `(member, out, in + 1)`, with the biases in the last column. The
    initial means are the initial weights of `StackedLinear`.
    """

    def __init__(self, in_features: int, out_features: int, generators):
        super().__init__()
        start = StackedLinear(in_features, out_features, generators)
        mean = torch.cat([start.weight.detach(), start.bias.detach()], dim=2)
        self.mean = nn.Parameter(mean)
        log_std = math.log(_INITIAL_STD / math.sqrt(in_features))
        self.log_std = nn.Parameter(torch.full_like(mean, log_std))

    @property
    def bias(self) -> torch.Tensor:
        """Means of the biases, `(member, out, 1)`."""
        return self.mean[:, :, -1:]

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of a member."""
        return self.mean[0].numel()

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """`(member, in, sample)`, `(member, out, sample)` to `(member, out, sample)`.

        The local reparametrisation: with independent normal weights the outputs of a sample are
        independent and normal, so they are drawn instead of the weights.
        """
        variance = (2 * self.log_std).exp()
        out_mean = torch.baddbmm(self.bias, self.mean[:, :, :-1], x)
        out_variance = torch.baddbmm(variance[:, :, -1:], variance[:, :, :-1], x.square())
        return torch.addcmul(out_mean, out_variance.sqrt(), noise)

    def drawn(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Each sample through every draw of the weights.

        `(member, draw or 1, in, sample)`, `(member, draw, weight)` to
        `(member, draw, out, sample)`.
        """
        noise = noise.unflatten(2, self.mean.shape[1:])  # (member, draw, out, in + 1)
        weights = self.mean.unsqueeze(1) + self.log_std.exp().unsqueeze(1) * noise
        return weights[..., :-1] @ x + weights[..., -1:]

    def kl_divergence(self, prior_std: float) -> torch.Tensor:
        """Divergence of the posterior from N(0, prior_std^2), summed over members and weights."""
        second_moment = (2 * self.log_std).exp() + self.mean.square()
        constant = self.mean.numel() * (math.log(prior_std) - 0.5)
        return second_moment.sum() / (2 * prior_std**2) - self.log_std.sum() + constant


class BayesianMLP(_MLP):
    """M multilayer perceptrons with a normal posterior for each weight.

    `forward(x, noise)` draws the outputs of each layer anew for each sample, and `components(x)`
    takes the draws of the weights that the network keeps.

    Parameters
    ----------
    prior_std : float
        Standard deviation of the normal prior of weights and biases.
    **settings : dict
        The parameters of `_MLP`.

    Attributes
    ----------
    kl_weight : float
        Weight of the divergence in the loss, 1 until it is set; it may change between epochs.
    """

    first_layer = later_layer = BayesianLinear

    def __init__(self, *widths, prior_std: float, **settings):
        super().__init__(*widths, **settings)
        self.prior_std, self.kl_weight = prior_std, 1.0

    @property
    def layers(self) -> list[BayesianLinear]:
        """The layers, from the first to the last."""
        return [self.first, *self.rest]

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of a member, in all layers."""
        return sum(layer.n_weights for layer in self.layers)

    @property
    def n_components(self) -> int:
        """Number of components: pairs of a member and a draw of its weights."""
        return self.n_members * self.draws.shape[1]

    def set_draws(self, draws: torch.Tensor) -> None:
        """Keep noise `(member, draw, weight)` for the weights to predict with."""
        self.register_buffer("draws", draws)

    def kl_divergence(self) -> torch.Tensor:
        """Divergence of the posterior from the prior, summed over members and weights."""
        return sum(layer.kl_divergence(self.prior_std) for layer in self.layers)

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)`, `(member, unit, sample)` to `(member, output, sample)`.

        The units are those of all layers, the outputs among them.
        """
        widths = [layer.bias.shape[1] for layer in self.layers]
        h = self.embedding(x)
        for layer, layer_noise in zip(self.layers, noise.split(widths, dim=1), strict=True):
            h = layer(h if layer is self.first else self._activate(h), layer_noise)
        return h

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        """Each sample with every draw: `(member, output, draw, sample)`.

        `x` is `(feature, sample)`, or `(member, feature, sample)` where each member has samples
        of its own; `limit` keeps only so many draws.
        """
        sizes = [layer.n_weights for layer in self.layers]
        h = self.embedding(x.expand(self.n_members, -1, -1)).unsqueeze(1)
        for layer, noise in zip(self.layers, self.draws[:, :limit].split(sizes, 2), strict=True):
            h = layer.drawn(h if layer is self.first else self._activate(h), noise)
        return h.transpose(1, 2)
