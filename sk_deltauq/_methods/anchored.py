"""Delta-UQ: networks on anchored inputs, averaged over anchors.

Thiagarajan, Anirudh, Narayanaswamy, Bremer, "Single Model Uncertainty Estimation via Stochastic
Data Centering", NeurIPS 2022. A row `x` enters the network with a training row `c`, the anchor, as
`[c, x - c]`. In training the anchors are random. At prediction each row meets all kept anchors:
their mean and spread are the prediction and its epistemic uncertainty (eq. 6).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._networks.mlp import MLP, AnchoredLinear, Network, NetworkSpec
from sk_deltauq._networks.user_modules import UserModules
from sk_deltauq._novelty import DistanceInflation, ReferenceRows
from sk_deltauq._training.method import DrawContext, Method, backpropagate_batch
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows
from sk_deltauq._validation import FitData


class AnchoredNetwork(Network):
    """Networks on pairs of a row and an anchor; the components are pairs of member and anchor."""

    anchors: torch.Tensor

    def set_anchors(self, anchors: torch.Tensor) -> None:
        """Keep scaled training rows `(anchor, feature)` for prediction."""
        self.register_buffer("anchors", anchors)

    @property
    def n_components(self) -> int:
        return self.core.n_members * len(self.anchors)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        anchors = self.anchors[:limit].T  # (feature, anchor)
        return self.pair_all(
            x.expand(self.core.n_members, -1, -1), anchors.expand(self.core.n_members, -1, -1)
        )

    @abstractmethod
    def pair_all(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """Pair each sample with every anchor.

        `(member, feature, sample)`, `(member, feature, anchor)` to
        `(member, output, anchor, sample)`.
        """


class AnchoredMLP(AnchoredNetwork):
    """Multilayer perceptrons on anchored inputs; the core starts with an `AnchoredLinear`."""

    core: MLP

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        return self.core(x, c)

    def pair_all(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        core = self.core
        # Without later layers the sums are the result, so their memory must not be reused. The
        # number of parts depends on the number of samples, so an exported graph has one part.
        in_parts = bool(core.rest) and torch.is_inference_mode_enabled()
        parts = core.first.pair_all(core.embedding(x), core.embedding(c), in_parts=in_parts)
        # Anchors and samples share one axis in the later layers, which serve both entrances.
        outputs = [core.finish(h.flatten(2)).unflatten(2, (h.shape[2], -1)) for h in parts]
        return torch.cat(outputs, dim=2)


class AnchoredModules(AnchoredNetwork):
    """Copies of a user's own module on the rows `[c, x - c]` (paper, eq. 6)."""

    core: UserModules

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        x, c = self.core.embedding(x), self.core.embedding(c)
        return self.core.map_inputs(torch.cat([c, x - c], dim=1))

    def pair_all(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        n_anchors, n_samples = c.shape[2], x.shape[2]
        tiled = x.unsqueeze(2).expand(-1, -1, n_anchors, -1).flatten(2)
        repeated = c.unsqueeze(3).expand(-1, -1, -1, n_samples).flatten(2)
        return self(tiled, repeated).unflatten(2, (n_anchors, -1))


@dataclass(frozen=True)
class Anchored(Method):
    """The method of Delta-UQ.

    `inflation` is the strength of the distance-based inflation of the standard deviation. It is
    None for estimators without standard deviations: they need no reference rows.
    """

    n_anchors: int
    module: Callable[..., nn.Module] | None = None
    inflation: float | None = None

    ddof: ClassVar[int] = 1
    fixed_parameters: ClassVar[tuple[str, ...]] = ("anchors",)

    def network(self, spec: NetworkSpec) -> AnchoredNetwork:
        if self.module is None:
            return AnchoredMLP(MLP(spec, first_layer=AnchoredLinear))
        return AnchoredModules(UserModules(spec, self.module, n_inputs=2))

    def draw(self, network: Network, context: DrawContext):
        """Draw the anchors and the reference rows: random samples of all rows so far."""
        assert isinstance(network, AnchoredNetwork)
        data, earlier = context.data, context.earlier
        new_keys = draw_anchor_keys(context.seed, data, context.call)
        keys, X, x = new_keys, data.X, data.x
        if earlier:
            keys = np.concatenate([earlier["_anchor_keys_"], keys])
            X = np.concatenate([earlier["anchors_"], X])
            x = torch.cat([network.anchors.cpu(), x])
        chosen = np.argsort(-keys, kind="stable")[: self.n_anchors]
        network.set_anchors(x[chosen].to(context.settings.device))
        kept: dict[str, Any] = {"anchors_": X[chosen], "_anchor_keys_": keys[chosen]}
        if self.inflation is not None:
            kept |= pick_references(context, new_keys, self.inflation)
        return kept

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, c), (y, weights))`: a random anchor for each sample.

        The paper shuffles the mini-batch for its anchors. Drawing from all rows of the member
        costs the same here, and the anchors are independent of the batch.
        """
        extra = ExtraInputs(
            rows.x.shape[1],
            lambda order: rows.draw_partners(),
            follow=lambda inputs, change: (inputs[1] + change,),
            are_anchors=True,
        )
        return Batches(rows, batch_size, extra)

    def finish(self, network: Network) -> None:
        """Do nothing: the network is always ready."""

    def step(self, network, head, batch):
        return backpropagate_batch(network, head, batch)


def pick_references(
    context: DrawContext, keys: np.ndarray, inflation: float, effects: np.ndarray | None = None
) -> dict[str, Any]:
    """Pick the reference rows by random keys.

    `inflation` is the strength of the inflation, and `effects` are the effects of the features;
    None to measure them after training.
    """
    data, earlier = context.data, context.earlier
    # Also for an inflation of 0, which may change between calls of `partial_fit`.
    earlier_rows = earlier["_references_"] if earlier else None
    chosen = slice(None)
    if data.groups is not None:  # the reach is then the distance between groups
        _, chosen = np.unique(data.groups, return_index=True)
    references = ReferenceRows.pick(data.x[chosen], keys[chosen], earlier_rows)
    made = DistanceInflation(references, inflation, effects) if inflation else None
    return {"_references_": references, "_inflation_": made}


def draw_anchor_keys(seed: int, data: FitData, call: int) -> np.ndarray:
    """Draw a random key per row; the rows with the largest keys are a sample of any size.

    The sample is without replacement, in proportion to the weights (Efraimidis and Spirakis,
    2006). Keys of later rows can be compared with keys of earlier rows.
    """
    return draw_weighted_keys(numpy_rng(seed, Stream.ANCHORS, call), data)


def draw_weighted_keys(rng: np.random.Generator, data: FitData) -> np.ndarray:
    """Draw the keys of `draw_anchor_keys` with another generator."""
    return np.log1p(-rng.random(len(data.x))) / data.weights.double().numpy()
