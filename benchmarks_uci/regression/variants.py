"""Delta-UQ with one part removed or replaced, for the ablations.

They use public names of the package and the user's own module, except that `drop_anchors` changes
the network of a fitted model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from sk_deltauq import DeltaUQRegressor, NormalMixture


class Naive(DeltaUQRegressor):
    """Train with anchors, and predict without them: the input `[0, x]` (the paper's "naive").

    The features are standardised, so 0 is the mean row.
    """

    def fit(self, X, y, sample_weight=None, **hold_out):
        super().fit(X, y, sample_weight, **hold_out)
        return drop_anchors(self)


def drop_anchors(model):
    """Replace the anchors of a fitted model by the mean row, and return the model."""
    model.net_.module_.set_anchors(torch.zeros(1, model.n_features_in_))
    return model


class MeanOnly(DeltaUQRegressor):
    """The mean over the anchors, with the noise as the only uncertainty (the paper's "mu")."""

    def predict(self, X, return_std=False):  # pyright: ignore[reportIncompatibleMethodOverride]
        mean = super().predict(X)
        return (mean, self.predict_uncertainty(X)["aleatoric"]) if return_std else mean

    def predict_dist(self, X):
        dist = super().predict_dist(X)
        return NormalMixture(dist.mean[np.newaxis], dist.aleatoric[np.newaxis])


@dataclass(frozen=True)
class Concatenated:
    """A factory of the paper's own network, whose first layer sees `[c, x - c]` concatenated."""

    hidden_layer_sizes: tuple[int, ...]
    # Whether the anchors of a mini-batch are its own rows in another order, as in the paper.
    # Otherwise they are rows of the whole training set.
    shuffled: bool = False

    def __call__(self, in_features: int, out_features: int) -> nn.Sequential:
        """Return a new network with these widths."""
        layers: list[nn.Module] = [ShuffledAnchors()] if self.shuffled else []
        for width in self.hidden_layer_sizes:
            layers += [nn.Linear(in_features, width), nn.ReLU()]
            in_features = width
        return nn.Sequential(*layers, nn.Linear(in_features, out_features))


class ShuffledAnchors(nn.Module):
    """In training, replace the anchors by other rows of the mini-batch."""

    def forward(self, inputs):
        """Return `[c, x - c]` with another `c`; input and output are `(sample, 2 feature)`."""
        if not self.training:
            return inputs
        anchors, differences = inputs.chunk(2, dim=1)
        rows = anchors + differences
        anchors = rows[torch.randperm(len(rows), device=rows.device)]
        return torch.cat([anchors, rows - anchors], dim=1)
