"""Bayes by Backprop: a normal posterior for each weight, learnt by variational inference.

Blundell, Cornebise, Kavukcuoglu, Wierstra, "Weight Uncertainty in Neural Networks", ICML 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from sk_deltauq._host import Stream, torch_generators
from sk_deltauq._networks.mlp import CPU_FLOAT, MLP, Network, NetworkSpec, StackedLinear
from sk_deltauq._training.method import DrawContext, Method
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows

# Initial standard deviation of the posterior, relative to the bound of the initial means. With the
# prior's standard deviation the noise of the weights drowns the data, and the weights are pruned.
_INITIAL_STD = 0.05


def draw_normal_noise(n_samples: int, n_units: int, generators) -> torch.Tensor:
    """Draw `(member, unit, sample)` from N(0, 1), each member from its own generator."""
    draws = [torch.randn((n_samples, n_units), generator=g, **CPU_FLOAT) for g in generators]
    return torch.stack(draws).transpose(1, 2)


def draw_weight_noise(n_draws: int, n_weights: int, generators) -> torch.Tensor:
    """Draw `(member, draw, weight)` from N(0, 1); a longer series begins with the shorter one."""
    # One call per draw: the last numbers of a call depend on the length of the call.
    draws = [draw_normal_noise(1, n_weights, generators) for _ in range(n_draws)]
    return torch.cat(draws, dim=2).transpose(1, 2)


class BayesianLinear(nn.Module):
    """One linear layer per member, with a normal posterior for each weight and bias.

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

    def apply_draws(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Map each sample with every draw of the weights.

        `(member, draw or 1, in, sample)`, `(member, draw, weight)` to
        `(member, draw, out, sample)`.
        """
        noise = noise.unflatten(2, self.mean.shape[1:])  # (member, draw, out, in + 1)
        weights = self.mean.unsqueeze(1) + self.log_std.exp().unsqueeze(1) * noise
        return weights[..., :-1] @ x + weights[..., -1:]

    def kl_divergence(self, prior_std: float) -> torch.Tensor:
        """Return the divergence of the posterior from N(0, prior_std^2), summed over weights."""
        second_moment = (2 * self.log_std).exp() + self.mean.square()
        constant = self.mean.numel() * (math.log(prior_std) - 0.5)
        return second_moment.sum() / (2 * prior_std**2) - self.log_std.sum() + constant


class BayesianMLP(Network):
    """Multilayer perceptrons with a normal posterior for each weight.

    `forward(x, noise)` draws the outputs of each layer anew for each sample. `components` takes
    the draws of the weights that the network keeps. The weight of the divergence in the loss,
    `kl_weight`, may change between calls. `n_rows` counts the training rows, with the rows
    of earlier calls of `partial_fit`, `n_earlier_rows`.
    """

    core: MLP
    draws: torch.Tensor

    def __init__(self, core: MLP, prior_std: float):
        super().__init__(core)
        self.prior_std = prior_std
        self.kl_weight, self.n_rows, self.n_earlier_rows = 1.0, 0, 0

    @property
    def layers(self) -> list[Any]:
        """The layers, from the first to the last."""
        return [self.core.first, *self.core.rest]

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of a member, in all layers."""
        return sum(layer.n_weights for layer in self.layers)

    @property
    def n_components(self) -> int:
        return self.core.n_members * self.draws.shape[1]

    def set_draws(self, draws: torch.Tensor) -> None:
        """Keep noise `(member, draw, weight)`, the draws of the weights to predict with."""
        # A stored model has no other order in memory, and other orders round differently.
        self.register_buffer("draws", draws.contiguous())

    def kl_divergence(self) -> torch.Tensor:
        """Return the divergence of the posterior from the prior, summed over all weights."""
        return torch.stack([layer.kl_divergence(self.prior_std) for layer in self.layers]).sum()

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)`, `(member, unit, sample)` to `(member, output, sample)`.

        The units of all layers have noise, outputs included.
        """
        core = self.core
        h = core.embedding(x)
        parts = noise.split(core.widths, dim=1)
        for layer, layer_noise in zip(self.layers, parts, strict=True):
            h = layer(h if layer is core.first else core.activate(h), layer_noise)
        return h

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        core = self.core
        sizes = [layer.n_weights for layer in self.layers]
        h = core.embedding(x.expand(self.core.n_members, -1, -1)).unsqueeze(1)
        for layer, noise in zip(self.layers, self.draws[:, :limit].split(sizes, 2), strict=True):
            h = layer.apply_draws(h if layer is core.first else core.activate(h), noise)
        return h.transpose(1, 2)  # (member, output, draw, sample)


@dataclass(frozen=True)
class Variational(Method):
    """Train a posterior of the weights; predict with draws of the weights that are kept.

    `kl_weight` is the weight of the divergence from the prior; 1 is the evidence lower bound.
    """

    prior_std: float
    kl_weight: float
    n_draws: int

    fixed_parameters: ClassVar[tuple[str, ...]] = ("prior_std",)

    def network(self, spec: NetworkSpec) -> BayesianMLP:
        return BayesianMLP(MLP(spec, BayesianLinear, BayesianLinear), self.prior_std)

    def draw(self, network: Network, context: DrawContext):
        """Draw the noise to predict with; it stays the same whenever training continues."""
        assert isinstance(network, BayesianMLP)
        generators = torch_generators(context.seed, Stream.DRAWS, range(network.core.n_members))
        draws = draw_weight_noise(self.n_draws, network.n_weights, generators)
        network.set_draws(draws.to(context.settings.device))
        network.kl_weight = self.kl_weight
        # Rows of earlier calls count: in a stream of rows the prior loses weight.
        network.n_earlier_rows = 0 if context.earlier is None else context.earlier["_n_rows_"]
        return {"_n_rows_": network.n_earlier_rows + context.rows.train.shape[1]}

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, noise), (y, weights))`, with noise for each sample.

        The noise is normal, `(member, unit, sample)`, for the units of all layers.
        """
        assert isinstance(network, BayesianMLP)
        # Here, because training may go on with the held-out rows.
        network.n_rows = network.n_earlier_rows + rows.train.shape[1]
        n_units = sum(network.core.widths)

        def draw_sample_noise(bounds):
            # One call per mini-batch: torch's numbers depend on the length of a call, and the
            # length of `bounds` on the number of members.
            sizes = [last - first for first, last in bounds]
            draws = [draw_normal_noise(size, n_units, rows.generators) for size in sizes]
            return torch.cat(draws, dim=2).to(rows.x.device)

        return Batches(rows, batch_size, ExtraInputs(n_units, lambda order: draw_sample_noise))

    def finish(self, network: Network) -> None:
        """Do nothing: the network is always ready."""

    def step(self, network, head, batch):
        """Take a step on minus the evidence lower bound of a training row.

        The loss is a mean over rows, and over targets where there are several. The divergence
        counts once for all of them, so its share is one over their number.
        """
        assert isinstance(network, BayesianMLP)
        inputs, target = batch
        outputs = network(*inputs)
        n_targets = target[0].shape[1]  # (member, target, sample)
        share = network.kl_weight / (network.n_rows * n_targets)
        loss = head(outputs, target) + share * network.kl_divergence()
        loss.backward()
        return loss.detach(), outputs
