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
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import kmeans_plusplus
from torch import nn

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._networks.mlp import MLP, AnchoredLinear, Network, NetworkSpec
from sk_deltauq._networks.user_modules import UserModules
from sk_deltauq._training.method import DrawContext, Method
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows
from sk_deltauq._validation import FitData

# So few that the search for the nearest one costs less than the network.
_N_LANDMARKS = 64

# Landmarks are picked among this many rows: enough for the spread, few enough for the time.
_N_CANDIDATES = 4096

# The fraction of the training rows that counts as inside.
_INSIDE = 0.9


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
        # Without later layers the sums are the result, so their memory must not be reused.
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

    `inflation` is the strength of the distance-based inflation of the standard deviation. It is
    None for estimators without standard deviations: they need no landmarks.
    """

    n_anchors: int
    module: Callable[..., nn.Module] | None = None
    inflation: float | None = None

    ddof: ClassVar[int] = 1

    def network(self, spec: NetworkSpec) -> AnchoredNetwork:
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
        network.set_anchors(x[chosen].to(context.settings.device))
        kept: dict[str, Any] = {"anchors_": X[chosen], "_anchor_keys_": keys[chosen]}
        if self.inflation is not None:
            # Also for an inflation of 0, which may change between calls of `partial_fit`.
            rng = numpy_rng(context.seed, Stream.LANDMARKS, context.call)
            landmarks = Landmarks.pick(data.x, rng, earlier["_landmarks_"] if earlier else None)
            inflation = DistanceInflation(landmarks, self.inflation) if self.inflation else None
            kept |= {"_landmarks_": landmarks, "_inflation_": inflation}
        return kept

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, c), (y, weights))`: a random anchor for each sample.

        The paper shuffles the mini-batch for its anchors. Drawing from all rows of the member
        costs the same here, and the anchors are independent of the batch.
        """
        extra = ExtraInputs(rows.x.shape[1], rows.draw_partners)
        return Batches(rows, batch_size, extra)

    def step(self, network, head, batch):
        inputs, target = batch
        outputs = network(*inputs)
        return head.backpropagate(outputs, target), outputs


def draw_anchor_keys(seed: int, data: FitData, call: int) -> np.ndarray:
    """Draw a random key per row; the rows with the largest keys are a sample of any size.

    The sample is without replacement, in proportion to the weights (Efraimidis and Spirakis,
    2006). Keys of later rows can be compared with keys of earlier rows.
    """
    rng = numpy_rng(seed, Stream.ANCHORS, call)
    return np.log1p(-rng.random(len(data.X))) / data.weights.double().numpy()


@dataclass(frozen=True)
class Landmarks:
    """A few training rows that are spread over all training rows.

    The reach is the 90 % quantile of the distance of training rows from their nearest landmark,
    and at least half of the median distance between neighbouring landmarks.
    """

    rows: np.ndarray  # (landmark, feature), scaled
    reach: float

    @classmethod
    def pick(cls, x: torch.Tensor, rng: np.random.Generator, earlier: Landmarks | None = None):
        """Pick landmarks among scaled rows `(row, feature)` and earlier landmarks.

        They are the seeds of k-means++ (Arthur and Vassilvitskii, 2007): each is random, and more
        likely the farther it is from the seeds that are picked already.
        """
        table = x.numpy()
        candidates = table
        if len(table) > _N_CANDIDATES:
            candidates = table[rng.choice(len(table), _N_CANDIDATES, replace=False)]
        if earlier is not None:
            candidates = np.concatenate([earlier.rows, candidates])
        # At most a quarter of the rows, so that most rows are no landmarks.
        n_landmarks = min(_N_LANDMARKS, -(-len(candidates) // 4))
        rows, _ = kmeans_plusplus(
            candidates, n_landmarks, random_state=int(rng.integers(np.iinfo(np.int32).max))
        )
        nearest = _measure_nearest(torch.from_numpy(candidates), torch.from_numpy(rows)).numpy()
        # If few distinct rows occur, all of them are landmarks at distance 0 from the rows.
        reach = max(float(np.quantile(nearest, _INSIDE)), _measure_spacing(rows) / 2)
        # The rows behind earlier landmarks are gone; the earlier reach stands for them.
        return cls(rows, max(reach, 0.0 if earlier is None else earlier.reach))


class DistanceInflation(nn.Module):
    """Factor of the total standard deviation far from the training rows.

    The factor is `1 + strength * excess`, where the excess is the distance beyond the reach of
    the nearest landmark, and 0 inside. Its unit is the reach plus half a standard deviation of a
    feature. With few features and many rows the reach alone is so small that a row just outside
    would count as far away.
    """

    rows: torch.Tensor
    reach: torch.Tensor
    strength: torch.Tensor

    def __init__(self, landmarks: Landmarks, strength: float):
        super().__init__()
        self.register_buffer("rows", torch.tensor(landmarks.rows))
        self.register_buffer("reach", torch.tensor(landmarks.reach, dtype=torch.float64))
        self.register_buffer("strength", torch.tensor(strength, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled rows `(row, feature)` to `(row,)`."""
        rows, reach, strength = (b.to(x.device) for b in (self.rows, self.reach, self.strength))
        excess = (_measure_nearest(x, rows) - reach).clamp(min=0) / (reach + 0.5)
        return 1 + strength * excess


def _measure_spacing(rows):
    """Return the median distance of distinct rows from their nearest neighbour; 0 for one row."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) == 1:
        return 0.0
    distances = squareform(pdist(distinct))
    np.fill_diagonal(distances, np.inf)
    return float(np.median(distances.min(axis=1)))


def _measure_nearest(x, rows):
    """Return the distance of each row of a tensor from the nearest of `rows`.

    Computed as |x|^2 - 2 x r + |r|^2, which takes half the time of `torch.cdist`.
    """
    squares = torch.addmm(rows.square().sum(dim=1), x, rows.T, alpha=-2).amin(dim=1)
    # Rounding may leave less than 0, and the root has no gradient at 0.
    return (squares + x.square().sum(dim=1)).clamp(min=1e-12).sqrt()
