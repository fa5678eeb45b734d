"""The contract of a method: all that training asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._training.rows import Batches, TrainingRows
from sk_deltauq._training.settings import TrainingSettings
from sk_deltauq._validation import FitData


@dataclass(frozen=True)
class DrawContext:
    """What a method may use to draw the values that it keeps."""

    data: FitData  # all training rows of this call
    rows: TrainingRows  # the same rows, and which of them each member trains on
    seed: int
    # Number of the `partial_fit` call; 0 in `fit`, so that `fit` on the same rows draws the same
    # values with and without `warm_start`.
    call: int
    settings: TrainingSettings
    previous: dict[str, Any] | None  # the values kept by the fit that this one continues
    earlier: dict[str, Any] | None  # the same if earlier calls of `partial_fit` saw other rows


def backpropagate_batch(network: Network, head: Head, batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the gradients of the head's loss on a mini-batch: the `step` of most methods."""
    inputs, target = batch
    outputs = network(*inputs)
    return head.backpropagate(outputs, target), outputs


class Method(ABC):
    """A way to train and average networks."""

    # Parameters of the estimator that cannot change while training continues.
    fixed_parameters: ClassVar[tuple[str, ...]] = ()

    # Subtracted from the number of components in the variance of their means: 1 in eq. 6 of the
    # Delta-UQ paper, 0 for the variance of the mixture, as in the papers of other methods.
    ddof: ClassVar[int] = 0

    # Whether all members start from the initial weights of the first one.
    shares_initial_weights: ClassVar[bool] = False

    # With several variants, each member trains once with each of them, and the variant with the
    # best held-out scores stays. In one stack four small networks take little longer than one.
    variants: Sequence[Method] = ()

    @abstractmethod
    def network(self, spec: NetworkSpec) -> Network:
        """Make the networks of a stack, with their initial weights."""

    @abstractmethod
    def draw(self, network: Network, context: DrawContext) -> dict[str, Any]:
        """Draw what the components are made of, and put it into the network.

        Returns what is kept, by the name of the fitted attribute.
        """

    @abstractmethod
    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Return the mini-batches `(inputs, (y, weights))` of an epoch."""

    @abstractmethod
    def finish(self, network: Network) -> None:
        """Make a trained or loaded network ready to predict: no row is held out any more."""

    @abstractmethod
    def step(self, network: Network, head: Head, batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the gradients of a mini-batch; return its loss, detached, and the outputs."""
