"""Delta-UQ with anchors that know their target: the nearest training rows.

The anchor of the paper is a random training row without its target, so that a network has to
unlearn it. Here an anchor is a random half of the nearest training rows, blended by their
similarity, and the network predicts the difference from their targets::

    mean = y_c + g(x, x - c, y_c, ...)

A classifier adds the logarithm of the shares of the classes among the neighbours to its logits.

As in the paper, anchors are random in training, and at prediction the mean and the spread over
several anchors are the prediction and its epistemic uncertainty (eq. 6).

The metric of the similarity is learnt first and does not change while the networks train. So what
a network sees of the neighbours of a training row is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn.functional import one_hot

from sk_deltauq._host import Stream, numpy_rng, one_thread, torch_generators
from sk_deltauq._methods.anchored import draw_anchor_keys, pick_references
from sk_deltauq._methods.halves import TrainingHalves, draw_halves, mark_trained
from sk_deltauq._methods.metric import Metric, count_neighbors, learn_metric
from sk_deltauq._methods.neighbour_network import NeighbourNetwork
from sk_deltauq._methods.pool import PoolRows
from sk_deltauq._methods.search import load_faiss
from sk_deltauq._networks.mlp import MLP, Core, Network, NetworkSpec
from sk_deltauq._networks.selection import count_outputs
from sk_deltauq._networks.user_modules import UserModules
from sk_deltauq._training.method import DrawContext, Method, backpropagate_batch
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning

# Floats per member that may be computed in advance.
_MOST_FLOATS = 2**24


@dataclass(frozen=True)
class NearestAnchors(Method):
    """Delta-UQ with random halves of the nearest training rows as anchors.

    `pool_size` is the number of training rows that may be neighbours, None for all. `inflation` is
    the strength of the distance-based inflation of the standard deviation, None for estimators
    without standard deviations. `n_classes` is the number of classes of a classifier, whose
    targets are class numbers; None for a regressor. `approximate` searches need faiss.
    """

    n_anchors: int
    n_neighbors: int
    pool_size: int | None = None
    module: Callable[..., nn.Module] | None = None
    inflation: float | None = None
    n_classes: int | None = None
    approximate: bool = False

    ddof: ClassVar[int] = 1
    fixed_parameters: ClassVar[tuple[str, ...]] = ("anchors", "n_neighbors", "neighbor_search")

    def network(self, spec: NetworkSpec) -> NeighbourNetwork:
        n_targets = spec.n_targets if self.n_classes is None else self.n_classes
        n_extra = count_outputs(spec.n_features, n_targets)
        if self.module is None:
            core: Core = MLP(spec, n_extra=n_extra)
        else:
            core = UserModules(spec, self.module, n_extra=n_extra)
        has_classes = self.n_classes is not None
        return NeighbourNetwork(core, has_classes=has_classes, approximate=self.approximate)

    def draw(self, network: Network, context: DrawContext):
        """Draw the pool, the subsets of neighbours, and the reference rows; learn the metric."""
        assert isinstance(network, NeighbourNetwork)
        if self.approximate:
            load_faiss()  # also if there are too few rows to use it, and before any work
        data, earlier, device = context.data, context.earlier, context.settings.device
        new_keys = draw_anchor_keys(context.seed, data, context.call)
        groups = None if data.groups is None else torch.from_numpy(data.groups).to(data.x)
        rows = PoolRows(data.x, self._make_targets(data.y), data.weights, groups, self.approximate)
        X, keys, numbers = data.X, new_keys, np.arange(len(data.X))
        if earlier:
            rows = network.pool_rows.to("cpu").append(rows)
            # Several passes over the same rows must not fill the pool with copies.
            rows, kept_rows, place = rows.merge_copies()
            X = np.concatenate([earlier["anchors_"], X])[kept_rows]
            numbers = np.concatenate([np.full(len(earlier["anchors_"]), -1), numbers])[kept_rows]
            keys_before = np.concatenate([earlier["_anchor_keys_"], keys])
            keys = np.full(len(X), -np.inf)
            np.maximum.at(keys, place, keys_before)
        if self.pool_size is not None and self.pool_size < len(X):
            chosen = np.sort(np.argsort(-keys, kind="stable")[: self.pool_size])
            rows, X, keys, numbers = rows.take(chosen), X[chosen], keys[chosen], numbers[chosen]
        rows = rows.to(device)
        network.row_numbers, network.row_groups = torch.from_numpy(numbers), groups
        if context.previous:  # the trained weights belong to this metric
            metric = network.metric
        else:
            metric = self._learn_metric(rows, network.row_numbers, context)
        n_neighbors = count_neighbors(rows, self.n_neighbors)
        if n_neighbors == 1 and network.core.n_members == 1:
            warn_caller(
                "Each row has one neighbour, so all anchors are equal and the epistemic standard "
                "deviation is zero. Use n_neighbors of 2 or more, more rows, or more members "
                "(n_members).",
                UncertaintyWarning,
            )
        rng = numpy_rng(context.seed, Stream.MASKS)
        network.set_pool(rows, metric, draw_halves(rng, self.n_anchors, n_neighbors).to(device))
        kept: dict[str, Any] = {"anchors_": X, "_anchor_keys_": keys}
        if self.inflation is not None:
            # Derivatives at the training rows say little about the effect of a feature: around
            # a row, the weights of its neighbours hardly change.
            kept |= pick_references(context, new_keys, self.inflation, metric.measure_effects())
        return kept

    def _make_targets(self, y: torch.Tensor) -> torch.Tensor:
        """Return the targets that neighbours show: indicators of the classes, for labels."""
        if self.n_classes is None:
            return y
        return one_hot(y.squeeze(1).long(), self.n_classes).to(y)

    def _learn_metric(self, rows: PoolRows, numbers: torch.Tensor, context: DrawContext) -> Metric:
        (generator,) = torch_generators(context.seed, Stream.METRIC, [0])
        with one_thread():
            return learn_metric(rows, mark_trained(context.rows, numbers), generator)

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, features, level), (y, weights))`.

        The features and the level describe a random half of the neighbours of each sample. A
        member sees the targets of its own training rows only.
        """
        assert isinstance(network, NeighbourNetwork)
        found = TrainingHalves.find(network, rows)
        halves = found.describe_all() if found.n_floats <= _MOST_FLOATS else found
        extra = ExtraInputs(halves.width, halves.begin_epoch, follow=found.describe_changed)
        return Batches(rows, batch_size, extra)

    def finish(self, network: Network) -> None:
        """Let all members see the targets of all rows."""
        assert isinstance(network, NeighbourNetwork)
        network.collect_pool()

    def step(self, network, head, batch):
        return backpropagate_batch(network, head, batch)
