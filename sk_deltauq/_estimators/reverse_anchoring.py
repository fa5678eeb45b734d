"""Reverse anchoring: a new row is the anchor of training rows, whose targets are known.

An anchored network predicts a row `x_r` from `[c, x_r - c]`. With a training row as `x_r`, the
error of the prediction is known for any anchor `c`. A large error says that the network has not
learnt to predict the training rows from `c`. It is the score "Score1" of Thiagarajan et al.,
"PAGER: Accurate Failure Characterization in Deep Regression Models", ICML 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._methods.anchored import AnchoredNetwork, draw_weighted_keys
from sk_deltauq._networks.mlp import Network
from sk_deltauq._predictor import NetworkComponents, Predictor
from sk_deltauq._training.method import DrawContext

# Training rows that each new row is paired with: a score costs as much as 100 anchors.
_N_ROWS = 100


@dataclass(frozen=True)
class LabelledRows:
    """A random sample of the training rows so far, with targets, in proportion to the weights."""

    rows: np.ndarray  # (row, feature), scaled, float32
    targets: np.ndarray  # (row, target), scaled targets or class numbers, float32
    keys: np.ndarray  # (row,), decreasing: the rows with the largest keys are the sample

    @classmethod
    def pick(
        cls, network: Network, context: DrawContext, earlier: LabelledRows | None
    ) -> LabelledRows | None:
        """Pick rows of this call, and of the earlier calls of `partial_fit`.

        Returns None for a network whose anchors are no single rows.
        """
        if not isinstance(network, AnchoredNetwork):
            return None
        data = context.data
        keys = draw_weighted_keys(
            numpy_rng(context.seed, Stream.CALIBRATION, context.call, 2), data
        )
        rows, targets = data.x.cpu().numpy(), data.y.cpu().numpy()
        if earlier is not None:
            rows = np.concatenate([earlier.rows, rows])
            targets = np.concatenate([earlier.targets, targets])
            keys = np.concatenate([earlier.keys, keys])
        order = np.argsort(-keys, kind="stable")[:_N_ROWS]
        return cls(rows[order], targets[order], keys[order])


def score_reversed(
    predictor: Predictor,
    labelled: LabelledRows | None,
    X: np.ndarray,
    measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> np.ndarray:
    """Score rows `(row, feature)` by what the network says of training rows with them as anchors.

    `measure(raw, targets)` gets raw outputs `(member, output, new row, training row)` and the
    targets `(target, training row)`. It returns a score for each new row.

    Raises
    ------
    ValueError
        If the anchors of the method are no single rows, or the model has no training targets.
    """
    network = _check(predictor, labelled)
    assert labelled is not None
    n_members, device = network.core.n_members, predictor.device
    x, targets = (
        torch.from_numpy(values).to(device).T for values in (labelled.rows, labelled.targets)
    )
    x = x.expand(n_members, -1, -1)  # (member, feature, training row)
    # As many floats at a time as in a prediction.
    n_chunk_components = predictor.count_chunk_rows() * predictor.n_components
    step = max(n_chunk_components // (n_members * x.shape[2]), 1)

    def score(rows: torch.Tensor) -> tuple[torch.Tensor]:
        parts = [part.T.expand(n_members, -1, -1) for part in rows.split(step)]
        return (torch.cat([measure(network.pair_all(x, c).double(), targets) for c in parts]),)

    return predictor.map_rows(X, score)[0]


def _check(predictor: Predictor, labelled: LabelledRows | None) -> AnchoredNetwork:
    """Return the network that predicts the means or logits, or raise an error."""
    module = predictor.module
    assert isinstance(module, NetworkComponents)
    network = module.network if module.refined is None else module.refined
    if not isinstance(network, AnchoredNetwork):
        raise ValueError(
            "kind='reverse_anchoring' makes a row the anchor of training rows. It needs anchors "
            "that are single rows: DeltaUQRegressor or DeltaUQClassifier with anchors='random'. "
            "Use kind='combined' or kind='distance' with this model."
        )
    if labelled is None:
        raise ValueError(
            "kind='reverse_anchoring' needs training targets, and this model was stored by a "
            "version of sk_deltauq that kept none. Fit the model again."
        )
    return network


def measure_largest_error(raw: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the largest error of the mean over the training rows, `(new row,)`.

    The error of a row is the mean absolute error of its outputs, in units of the scaled targets.
    """
    means = raw[:, : len(targets)].mean(dim=0)  # (target, new row, training row)
    return (means - targets[:, None]).abs().mean(dim=0).amax(dim=1)


def measure_label_loss(raw: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean over the training rows of `-log p` of their labels, `(new row,)`."""
    log_proba = raw.log_softmax(dim=1).logsumexp(dim=0) - np.log(len(raw))
    labels = targets.long().expand(1, log_proba.shape[1], -1)  # (1, new row, training row)
    return -log_proba.gather(0, labels)[0].mean(dim=1)
