"""Anchor ensembles: networks from the same initial weights, each on shifted rows.

Section 3.1 of Thiagarajan et al., "Single Model Uncertainty Estimation via Stochastic Data
Centering", NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from sk_deltauq._methods.anchored import draw_anchor_keys
from sk_deltauq._methods.ensemble import make_core
from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._training.method import DrawContext, Method, backpropagate_batch
from sk_deltauq._training.rows import Batches, TrainingRows


class ShiftedNetwork(Network):
    """Networks on rows that are shifted by the anchor of the member, then embedded."""

    anchors: torch.Tensor

    def set_anchors(self, anchors: torch.Tensor) -> None:
        """Keep the scaled training row `(member, feature)` that shifts the rows of each member.

        It holds in training and prediction: a member meets shifted rows only.
        """
        self.register_buffer("anchors", anchors.unsqueeze(2))  # (member, feature, 1)

    @property
    def n_components(self) -> int:
        return self.core.n_members

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return self.core(x - self.anchors)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        return self(x.expand(self.core.n_members, -1, -1)).unsqueeze(2)


@dataclass(frozen=True)
class Shifted(Method):
    """Members with the same initial weights on `x - c_m`; each member is one component."""

    module: Callable[..., nn.Module] | None = None

    shares_initial_weights: ClassVar[bool] = True

    def network(self, spec: NetworkSpec) -> ShiftedNetwork:
        return ShiftedNetwork(make_core(spec, self.module))

    def draw(self, network: Network, context: DrawContext):
        """Draw the anchors in the first call; later calls keep them with the weights."""
        assert isinstance(network, ShiftedNetwork)
        if context.previous:
            return context.previous
        data = context.data
        order = np.argsort(-draw_anchor_keys(context.seed, data, context.call), kind="stable")
        chosen = np.resize(order, network.core.n_members)
        network.set_anchors(data.x[chosen].to(context.settings.device))
        return {"anchors_": data.X[chosen]}

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        return Batches(rows, batch_size)

    def finish(self, network: Network) -> None:
        """Do nothing: the network is always ready."""

    def step(self, network, head, batch):
        return backpropagate_batch(network, head, batch)
