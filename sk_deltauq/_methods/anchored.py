"""Delta-UQ: networks on anchored inputs, averaged over anchors.

Thiagarajan, Anirudh, Narayanaswamy, Bremer, "Single Model Uncertainty Estimation via Stochastic
Data Centering", NeurIPS 2022. A row `x` enters the network with a training row `c`, the anchor, as
`[c, x - c]`. In training the anchors are random. At prediction each row meets all kept anchors:
their mean and spread are the prediction and its epistemic uncertainty (eq. 6).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._networks.mlp import MLP, Network, NetworkSpec, draw_uniform
from sk_deltauq._networks.user_modules import UserModules, check_factory
from sk_deltauq._novelty import Landmarks
from sk_deltauq._training.method import DrawContext, Method, Stack
from sk_deltauq._training.rows import Batches, TrainingRows
from sk_deltauq._training.settings import FitData

# In 1 MB, the size of a core's fast cache.
_CACHE_FLOATS = 2**18


class AnchoredLinear(nn.Module):
    """The first layer of an anchored network, without the concatenation.

    The paper feeds `[c, x - c]` to a linear layer with weights `[A, W]`. Since
    `A c + W (x - c) = W x + (A - W) c`, the layer is `W x + V c` with `V = A - W`; `W` and `V` are
    trained. The functions and the starting function are the paper's (`V` starts as the difference
    of two draws), the coordinates are not. Adam does better in these where the noise is low, and
    prediction needs `W x` once per row and `V c` once per anchor.
    """

    def __init__(self, in_features: int, out_features: int, generators):
        super().__init__()
        bound = 1 / math.sqrt(2 * in_features)
        shape = (out_features, in_features)
        anchor_column, difference_column = (
            draw_uniform(shape, bound, generators) for _ in range(2)
        )
        self.weight = nn.Parameter(difference_column)
        self.anchor_weight = nn.Parameter(anchor_column - difference_column)
        self.bias = nn.Parameter(draw_uniform((out_features, 1), bound, generators))

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """Pair each sample with its own anchor: both are `(member, in, sample)`."""
        return torch.baddbmm(torch.baddbmm(self.bias, self.weight, x), self.anchor_weight, c)

    def pair_all(self, x: torch.Tensor, c: torch.Tensor, *, reuse: bool = False):
        """Pair each sample with every anchor: yields `(member, out, anchor, sample)` in parts.

        On a CPU a part has so few anchors that the sums stay in the cache. With `reuse` all sums
        go into one piece of memory, because fresh pages would take longer than the arithmetic: a
        part is valid until the next one is asked for, and has no gradient.
        """
        rows = torch.baddbmm(self.bias, self.weight, x).unsqueeze(2)  # (member, out, 1, sample)
        anchors = torch.bmm(self.anchor_weight, c).unsqueeze(3)  # (member, out, anchor, 1)
        fitting = _CACHE_FLOATS // rows.numel() if x.device.type == "cpu" else anchors.shape[2]
        sums = None
        for part in anchors.split(max(fitting, 1), dim=2):
            if reuse and sums is not None and sums.shape[2] == part.shape[2]:
                torch.add(rows, part, out=sums)
            else:
                sums = rows + part
            yield sums


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
        # A later layer copies its input. Without one the sums are the result.
        reuse = bool(core.rest) and not torch.is_grad_enabled()
        parts = core.first.pair_all(core.embedding(x), core.embedding(c), reuse=reuse)
        # Anchors and samples share one axis in the later layers, which serve both entrances.
        outputs = [core.finish(h.flatten(2)).unflatten(2, h.shape[2:]) for h in parts]
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
        return self(tiled, repeated).unflatten(2, (n_anchors, n_samples))


@dataclass(frozen=True)
class Anchored(Method):
    """The method of Delta-UQ.

    Attributes
    ----------
    n_anchors : int
        Number of anchors to predict with.
    module : callable or None
        Factory of a user's own module, in place of the multilayer perceptron.
    inflation : float or None
        Strength of the distance-based inflation of the standard deviation, see `Predictor`. None
        for estimators without standard deviations: they need no landmarks.
    """

    n_anchors: int
    module: Callable[..., nn.Module] | None = None
    inflation: float | None = None

    ddof: ClassVar[int] = 1

    def stack(self, settings, n_rows, previous):
        members = range(settings.n_members)
        return Stack(members, members, [self])

    def network(self, spec: NetworkSpec) -> AnchoredNetwork:
        check_factory(self.module)
        if self.module is None:
            return AnchoredMLP(MLP(spec, first_layer=AnchoredLinear))
        return AnchoredModules(UserModules(spec, self.module, n_inputs=2))

    def draw(self, network: Network, context: DrawContext):
        """Draw the anchors, and the landmarks: a random sample of all rows so far."""
        assert isinstance(network, AnchoredNetwork)
        data, earlier = context.data, context.earlier
        keys, X, x = draw_anchor_keys(context.seed, data, context.call), data.X, data.x
        if earlier:
            keys = np.concatenate([earlier["_anchor_keys_"], keys])
            X = np.concatenate([earlier["anchors_"], X])
            x = torch.cat([network.anchors.cpu(), x])
        chosen = np.argsort(-keys, kind="stable")[: self.n_anchors]
        network.set_anchors(x[chosen].to(context.device))
        kept = {"anchors_": X[chosen], "_anchor_keys_": keys[chosen]}
        if self.inflation is not None:
            # Also for an inflation of 0, which may change between calls of `partial_fit`.
            rng = numpy_rng(context.seed, Stream.LANDMARKS, context.call)
            before = earlier["_landmarks_"] if earlier else None
            kept["_landmarks_"] = Landmarks.pick(data.x, rng, before)
            kept["_inflation_"] = self.inflation
        return kept

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        return make_anchored_batches(rows, batch_size)

    def step(self, network, head, batch):
        return head.backpropagate(network, batch)


def draw_anchor_keys(seed: int, data: FitData, call: int) -> np.ndarray:
    """Draw a random key per row; the rows with the largest keys are a sample of any size.

    The sample is without replacement, in proportion to the weights (Efraimidis and Spirakis,
    2006). Keys of later rows can be compared with keys of earlier rows.
    """
    rng = numpy_rng(seed, Stream.ANCHORS, call)
    return np.log1p(-rng.random(len(data.X))) / data.weights.double().numpy()


def make_anchored_batches(rows: TrainingRows, batch_size: int) -> Batches:
    """Make mini-batches `((x, c), (y, weights))`, with a random anchor for each sample.

    The anchors of an epoch are another permutation of the member's training rows. The paper
    shuffles the mini-batch instead. Drawing from all rows costs the same here, and the anchors
    are independent of the batch. Weighted rows are anchors in proportion to their weights.
    """
    is_uniform = bool((rows.weights == rows.weights[0]).all())

    def draw_epoch():
        places = rows.draw_permutations() if is_uniform else _draw_weighted_places(rows)
        anchors = rows.pick(places)

        def take_anchors(bounds):
            return (rows.x[anchors[:, bounds[0][0] : bounds[-1][1]]].transpose(1, 2),)

        return take_anchors

    return Batches(rows, batch_size, draw_epoch, extra_width=rows.x.shape[1])


def _draw_weighted_places(rows: TrainingRows) -> list[torch.Tensor]:
    """Draw as many places as training rows per member, in proportion to the weights."""
    drawn = []
    for train, generator in zip(rows.train, rows.generators, strict=True):
        cumulative = rows.weights[train].cpu().double().cumsum(0)
        draws = torch.rand(len(train), generator=generator, dtype=torch.float64, device="cpu")
        places = torch.searchsorted(cumulative, draws * cumulative[-1])
        drawn.append(places.clamp_(max=len(train) - 1).to(train.device))
    return drawn
