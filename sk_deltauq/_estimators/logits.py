"""What a classifier does with logits: means, spread, and what held-out rows say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet
from sk_deltauq._validation import FitData

# The prior of the mixing weight is Beta(1/2, 2), times the likelihood of six rows whose label has
# half the probability that the class frequencies give it. The density is infinite at zero, so that
# a few dozen good rows make the weight small. The six rows keep the log loss of 4 to 20 rows near
# the log loss of the class frequencies.
_PRIOR_ROWS = 6


def mean_logit_std(logits: torch.Tensor) -> torch.Tensor:
    """Std of the logits over components (eq. 6), averaged over classes: `(row,)`."""
    return logits.std(dim=0, correction=1 if len(logits) > 1 else 0).mean(dim=1)


def mean_log_proba(logits: torch.Tensor) -> torch.Tensor:
    """Log of the mean of the components' probabilities, `(row, class)`."""
    return logits.double().log_softmax(dim=2).logsumexp(dim=0) - np.log(len(logits))


def calibrate_temper(net: StackedNet, hold_out: HoldOut | None, *, tempers: bool | None):
    """Return the fitted attribute `temper_range_`, if the estimator has a parameter `temper`.

    The range is the smallest and largest mean logit std on the held-out rows; None for
    `temper=False`.
    """
    if tempers is None:
        return {}
    if not tempers or hold_out is None:
        return {"temper_range_": None}

    def measure(member, raw, y):
        return mean_logit_std(*net.criterion_.components(raw))

    std, _ = hold_out.ask_all_members(net, measure)
    return {"temper_range_": (float(std.min()), float(std.max()))}


@dataclass(frozen=True)
class FrequencyMixing:
    """Mix the predicted probabilities with the class frequencies.

    Networks on few rows are too sure of themselves. The weight of the frequencies is the posterior
    mean under the likelihood of the held-out rows. It falls towards zero as rows are added.
    """

    weight: float
    frequencies: np.ndarray  # (class,)

    @classmethod
    def estimate(cls, net: StackedNet, hold_out: HoldOut, data: FitData, n_classes: int):
        """Estimate the weight from the probabilities that networks give to rows they held out."""
        assert data.labels is not None
        counts = np.bincount(data.labels, data.weights / data.weights.mean(), n_classes)
        frequencies = (counts + 1) / (counts + 1).sum()

        def ask_own_network(member, raw, y):
            (logits,) = net.criterion_.components(raw)
            n_per_network = len(logits) // net.module_.core.n_members
            own = logits[member * n_per_network : (member + 1) * n_per_network]
            log_proba = mean_log_proba(own).T  # (class, row)
            return torch.cat([log_proba.gather(0, y.long()), y])

        values, row_weights = hold_out.ask_all_members(net, ask_own_network)
        own, labels = values.cpu().numpy()
        row_weights = row_weights.cpu().numpy()
        # Networks that hold out the same rows say nothing new.
        row_weights = row_weights * hold_out.n_units / row_weights.sum()
        weight = _average_weight(np.exp(own), frequencies[labels.astype(int)], row_weights)
        return cls(weight, frequencies)


class LogitAdjustment(nn.Module):
    """Apply what held-out rows said: soften uncertain rows, mix with the class frequencies.

    `temper_range` is the range of the mean logit std, or None (see `temper_logits`).
    """

    temper_range: torch.Tensor | None
    log_own: torch.Tensor | None
    log_base: torch.Tensor | None

    def __init__(self, temper_range: tuple[float, float] | None, mixing: FrequencyMixing | None):
        super().__init__()
        values = {"temper_range": temper_range, "log_own": None, "log_base": None}
        if mixing is not None:
            values["log_own"] = np.log1p(-mixing.weight)
            values["log_base"] = np.log(mixing.frequencies) + np.log(mixing.weight)  # (class,)
        for name, value in values.items():
            if value is not None:
                value = torch.tensor(value, dtype=torch.float64, device="cpu")
            self.register_buffer(name, value)

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        """Adjust every component; logits `(component, row, class)`."""
        if self.temper_range is not None:  # paper, section 4
            logits = temper_logits(logits, self.temper_range)
        if self.log_own is None or self.log_base is None:
            return logits
        return torch.logaddexp(logits.double().log_softmax(dim=2) + self.log_own, self.log_base)


class LogitSummary(NamedTuple):
    """What a classifier says of each row: tensors, or arrays."""

    log_proba: Any  # (row, class), of the mean over the components
    proba: Any  # (row, class)
    epistemic: Any  # (row,), std of the logits over the components
    aleatoric: Any  # (row,), mean entropy of the components
    total: Any  # (row,), entropy of `proba`


def summarise_logits(logits: torch.Tensor, adjusted: torch.Tensor) -> LogitSummary:
    """Summarise logits `(component, row, class)`, before and after the adjustment, in float64."""
    of_components = adjusted.double().log_softmax(dim=2)
    log_proba = of_components.logsumexp(dim=0) - np.log(len(adjusted))
    proba = log_proba.exp()
    proba = proba / proba.sum(dim=1, keepdim=True)
    return LogitSummary(
        log_proba,
        proba,
        epistemic=mean_logit_std(logits.double()),
        aleatoric=_entropy(of_components).mean(dim=0),
        total=_entropy(log_proba),
    )


def _entropy(log_proba: torch.Tensor) -> torch.Tensor:
    """Entropy in nats, over the last axis; logarithms are finite where a probability is zero."""
    return -(log_proba.exp() * log_proba).sum(dim=-1)


def _average_weight(own: np.ndarray, base: np.ndarray, row_weights: np.ndarray) -> float:
    """Posterior mean of w for probabilities `(1 - w) * own + w * base` of the observed labels."""
    root = (np.arange(1000) + 0.5) / 1000
    w = root**2  # the prior of the root is proportional to 1 - w
    log_density = np.log(np.outer(1 - w, own) + np.outer(w, base)) @ row_weights
    log_density += np.log1p(-w) + _PRIOR_ROWS * np.log1p(w)
    density = np.exp(log_density - log_density.max())
    return float(density @ w / density.sum())


def temper_logits(logits: torch.Tensor, temper_range: torch.Tensor) -> torch.Tensor:
    """Multiply logits by 1 minus their std, scaled to [0, 1) by the range of held-out rows."""
    low, high = temper_range.unbind()
    smallest = torch.finfo(torch.float32).tiny
    scaled = (mean_logit_std(logits) - low) / (high - low).clamp(min=smallest)
    # The paper scales to [0, 1): at 1 the answer would not depend on the logits at all.
    return logits * (1 - scaled.clamp(0, 1 - 1e-3))[:, np.newaxis]
