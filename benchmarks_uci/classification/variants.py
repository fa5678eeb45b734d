"""Parts of Delta-UQ alone, the paper's tempering, and networks of the user's own.

They use only public names of the package, attributes of the fitted net, and `module`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import log_softmax
from torch import nn

from benchmarks_uci.regression.variants import drop_anchors
from sk_deltauq import DeltaUQClassifier


class Naive(DeltaUQClassifier):
    """Train with anchors, and predict without them: the input `[0, x]` (the paper's "naive").

    The features are standardised, so 0 is the mean row.
    """

    def fit(self, X, y, sample_weight=None, **hold_out):
        super().fit(X, y, sample_weight, **hold_out)
        return drop_anchors(self)


class MeanOnly(DeltaUQClassifier):
    """The softmax of the mean logits over the anchors (the paper's "mu")."""

    def predict_log_proba(self, X):
        return log_softmax(self.predict_dist(X).logits.mean(axis=0), axis=1)


class BatchTempered(DeltaUQClassifier):
    """The paper's tempering: mean logits times 1 - s (section 4b).

    `s` is the spread of the logits over the anchors, scaled to [0, 1) by its range in the batch
    that is predicted. So the probabilities of a row depend on the other rows.
    """

    def predict_log_proba(self, X):
        logits = self.predict_dist(X).logits  # (component, row, class)
        spread = logits.std(axis=0, ddof=1).mean(axis=1)
        width = max(np.ptp(spread), np.finfo(float).tiny)
        scaled = np.minimum((spread - spread.min()) / width, 1 - 1e-3)
        return log_softmax(logits.mean(axis=0) * (1 - scaled)[:, None], axis=1)


@dataclass(frozen=True)
class LastLayerDropout:
    """A factory of networks with dropout before the last layer only.

    In prediction, the logits are the logarithms of the mean probabilities over `n_masks` masks,
    which are drawn once and kept.
    """

    hidden_layer_sizes: tuple[int, ...] = (50, 50)
    dropout: float = 0.05
    n_masks: int = 50

    def __call__(self, in_features: int, out_features: int) -> nn.Module:
        """Return a new network with these widths."""
        return LastLayerDropoutMLP(in_features, out_features, self)


class LastLayerDropoutMLP(nn.Module):
    """See `LastLayerDropout`."""

    masks: torch.Tensor

    def __init__(self, in_features: int, out_features: int, spec: LastLayerDropout):
        super().__init__()
        layers: list[nn.Module] = []
        for width in spec.hidden_layer_sizes:
            layers += [nn.Linear(in_features, width), nn.ReLU()]
            in_features = width
        self.hidden, self.last = nn.Sequential(*layers), nn.Linear(in_features, out_features)
        self.drop = nn.Dropout(spec.dropout)
        kept = (torch.rand(spec.n_masks, in_features) >= spec.dropout).float()
        self.register_buffer("masks", kept / (1 - spec.dropout))

    def forward(self, inputs):
        """Rows `(sample, feature)` to logits `(sample, output)`."""
        hidden = self.hidden(inputs)
        if self.training:
            return self.last(self.drop(hidden))
        logits = self.last(hidden * self.masks[:, None])  # (mask, sample, output)
        return logits.log_softmax(dim=2).logsumexp(dim=0) - np.log(len(self.masks))


@dataclass(frozen=True)
class ConvNet:
    """A factory of small convolutional networks for square images of one channel.

    Anchors are a second channel.
    """

    widths: tuple[int, int] = (16, 32)

    def __call__(self, in_features: int, out_features: int) -> nn.Module:
        """Return a new network for rows of this width."""
        n_channels = 1 if math.isqrt(in_features) ** 2 == in_features else 2
        side = math.isqrt(in_features // n_channels)
        if n_channels * side**2 != in_features:
            raise ValueError(
                f"A row must be a square image, or one with its anchor; it has {in_features} "
                "values."
            )
        first, second = self.widths
        return nn.Sequential(
            nn.Unflatten(1, (n_channels, side, side)),
            nn.Conv2d(n_channels, first, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(second * (side // 4) ** 2, out_features),
        )
