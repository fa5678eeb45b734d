"""Heads: the meaning of a network's outputs, and the loss that trains them.

A head is the criterion of the skorch net. It reads raw outputs with the samples last, and returns
components in the axis order of the package, `(component, sample, output)`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, log_softmax, softplus

# In units of the variance of y. Small enough for targets that are nearly free of noise (a floor
# of 1e-4 costs half a nat on the naval set), large enough to keep 1 / variance in float32.
VARIANCE_FLOOR = 1e-7


def _weighted_mean(loss: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Mean over samples, summed over members, so that the gradients of members do not mix."""
    return (loss * weights).mean(dim=-1).sum()


def _as_components(x: torch.Tensor) -> torch.Tensor:
    """`(member, output, component, sample)` to `(component, sample, output)`."""
    return x.permute(0, 2, 3, 1).flatten(0, 1)


class Head(nn.Module, ABC):
    """The contract of all heads."""

    n_network_outputs: int

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Arguments that make such a head for any number of members."""

    def backpropagate(self, outputs: torch.Tensor, target) -> torch.Tensor:
        """Add the gradients of the loss of a mini-batch, and return the loss."""
        loss = self(outputs, target)
        loss.backward()
        return loss.detach()

    @abstractmethod
    def forward(self, raw: torch.Tensor, target) -> torch.Tensor:
        """Return the training loss of raw outputs `(member, output, sample)`.

        `target` is `(y, weights)`: `(member, target, sample)` and `(member, sample)`.
        """

    @abstractmethod
    def components(self, raw: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the parameters of all components, each `(component, sample, output)`.

        `raw` is `(member, output, component, sample)`.
        """

    @abstractmethod
    def score(self, raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the score of held-out rows, `(member, sample)`; higher is better.

        `raw` is `(member, output, component, sample)` and `y` is `(member, target, sample)`.
        """

    @abstractmethod
    def adopt(self, head: Head) -> None:
        """Take the settings of another head that may change while training goes on."""


class GaussianHead(Head):
    """A normal density per output: mean and, unless `noise` is None, variance.

    "heteroscedastic" noise comes from the network, "homoscedastic" noise is one learnt variance
    per target and member, and None means the squared error. The negative log-likelihood of each
    sample is multiplied by its variance to the power `nll_beta`, held constant (Seitzer et al.,
    ICLR 2022, eq. 5).
    """

    def __init__(self, n_targets: int, noise: str | None, nll_beta: float, n_members: int):
        super().__init__()
        self.n_targets, self.noise, self.nll_beta = n_targets, noise, nll_beta
        self.n_network_outputs = n_targets * (2 if noise == "heteroscedastic" else 1)
        if noise == "homoscedastic":
            start = torch.zeros((n_members, n_targets, 1), dtype=torch.float32, device="cpu")
            self.raw_noise = nn.Parameter(start)

    @property
    def arguments(self) -> dict[str, Any]:
        return {"n_targets": self.n_targets, "noise": self.noise, "nll_beta": self.nll_beta}

    def mean_and_variance(self, raw: torch.Tensor):
        """Split raw `(member, output, ..., sample)`; the variance is None without noise model."""
        if self.noise is None:
            return raw, None
        if self.noise == "heteroscedastic":
            mean, raw_noise = raw.split(self.n_targets, dim=1)
        else:
            mean = raw
            extra_axes = (1,) * (raw.ndim - 3)
            raw_noise = self.raw_noise.view(-1, self.n_targets, *extra_axes, 1).expand_as(raw)
        return mean, softplus(raw_noise) + VARIANCE_FLOOR

    def take_means(self, refined: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
        """Return raw outputs `(member, output, ..., sample)` with the means of `refined`."""
        return torch.cat([refined[:, : self.n_targets], raw[:, self.n_targets :]], dim=1)

    def forward(self, raw: torch.Tensor, target) -> torch.Tensor:
        """Training loss of `(member, output, sample)` against `(y, weights)`."""
        y, weights = target  # (member, target, sample), (member, sample)
        mean, variance = self.mean_and_variance(raw)
        squared_error = (y - mean) ** 2
        if variance is None:
            loss = 0.5 * squared_error
        else:
            loss = 0.5 * (variance.log() + squared_error / variance)
            if self.nll_beta:
                loss = loss * variance.detach() ** self.nll_beta
        return _weighted_mean(loss.mean(dim=1), weights)

    def components(self, raw: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return means and standard deviations `(component, sample, target)`."""
        mean, variance = self.mean_and_variance(raw)
        std = torch.zeros_like(mean) if variance is None else variance.sqrt()
        return _as_components(mean), _as_components(std)

    def score(self, raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the log density of the mixture over a member's components.

        Without a noise model there is no density: the score is minus the squared error of the
        mean over the components.
        """
        mean, variance = self.mean_and_variance(raw)  # (member, target, component, sample)
        if variance is None:
            return -self.squared_error(raw, y)
        y = y.unsqueeze(2)
        log_density = -0.5 * (variance.log() + (y - mean) ** 2 / variance + math.log(2 * math.pi))
        n_components = mean.shape[2]
        return (log_density.logsumexp(dim=2) - math.log(n_components)).mean(dim=1)

    def squared_error(self, raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the squared error of the mean over a member's components, `(member, sample)`.

        `raw` and `y` are as in `score`.
        """
        mean, _ = self.mean_and_variance(raw)
        return ((y - mean.mean(dim=2)) ** 2).mean(dim=1)

    def adopt(self, head: Head) -> None:
        assert isinstance(head, GaussianHead)
        self.nll_beta = head.nll_beta

    def noise_std(self) -> torch.Tensor:
        """Return the homoscedastic standard deviation `(target,)`, averaged over the members."""
        return (softplus(self.raw_noise) + VARIANCE_FLOOR).mean(dim=0).squeeze(1).sqrt()


class CategoricalHead(Head):
    """Logits of `n_classes` classes; the target is the class index."""

    def __init__(self, n_classes: int, n_members: int = 1):
        super().__init__()  # members need nothing of their own here
        self.n_network_outputs = n_classes

    @property
    def arguments(self) -> dict[str, Any]:
        return {"n_classes": self.n_network_outputs}

    def forward(self, raw: torch.Tensor, target) -> torch.Tensor:
        """Cross-entropy of `(member, class, sample)` against `(y, weights)`."""
        y, weights = target  # (member, 1, sample), (member, sample)
        return _weighted_mean(cross_entropy(raw, y.squeeze(1).long(), reduction="none"), weights)

    def components(self, raw: torch.Tensor) -> tuple[torch.Tensor]:
        """Return logits `(component, sample, class)`."""
        return (_as_components(raw),)

    def score(self, raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the log-likelihood of the mean over a member's components."""
        n_components = raw.shape[2]
        log_proba = log_softmax(raw, dim=1).logsumexp(dim=2) - math.log(n_components)
        return log_proba.gather(1, y.long()).squeeze(1)

    def adopt(self, head: Head) -> None:
        """Do nothing: a categorical head has no settings."""
