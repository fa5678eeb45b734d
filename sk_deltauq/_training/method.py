"""The contract of a method: all that training asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._training.rows import TrainingRows
from sk_deltauq._training.settings import FitData, TrainingSettings


@dataclass(frozen=True)
class Stack:
    """The networks that train side by side, in their order in the stack.

    Attributes
    ----------
    members : sequence of int
        The member of each network: networks of one member share its fold and row order.
    weight_streams : sequence of int
        The random stream that draws the initial weights of each network.
    variants : sequence of Method
        One method per network of a member. With several, each member trains once with each of
        them, and the variant with the best held-out scores stays. In one stack four small
        networks take little longer than one.
    """

    members: Sequence[int]
    weight_streams: Sequence[int]
    variants: Sequence[Method]


@dataclass(frozen=True)
class DrawContext:
    """What a method may use to draw the values that it keeps.

    Attributes
    ----------
    data : FitData
        All training rows of this call.
    seed : int
        Seed of the estimator.
    call : int
        Number of the `partial_fit` call; 0 in `fit`, so that `fit` on the same rows draws the
        same values with and without `warm_start`.
    n_train : int
        Number of rows that each member trains on.
    device : str
        Device of the network.
    previous : dict or None
        What the method kept in the fit that this one continues.
    earlier : dict or None
        The same if the earlier calls saw other rows, in `partial_fit`; else None.
    """

    data: FitData
    seed: int
    call: int
    n_train: int
    device: str
    previous: dict[str, Any] | None
    earlier: dict[str, Any] | None


class Method(ABC):
    """A way to train and average networks."""

    # Parameters of the estimator that cannot change while training continues.
    fixed_parameters: ClassVar[tuple[str, ...]] = ()

    # Subtracted from the number of components in the variance of their means: 1 in eq. 6 of the
    # Delta-UQ paper, 0 for the variance of the mixture, as in the papers of other methods.
    ddof: ClassVar[int] = 0

    @abstractmethod
    def stack(self, settings: TrainingSettings, n_rows: int, previous: dict | None) -> Stack:
        """List the networks to train.

        `previous` is what the method kept in the fit that this one continues, or None.
        """

    @abstractmethod
    def network(self, spec: NetworkSpec) -> Network:
        """Make the network with its initial weights."""

    @abstractmethod
    def draw(self, network: Network, context: DrawContext) -> dict[str, Any]:
        """Draw what the components are made of, and put it into the network.

        The names are those of fitted attributes; a leading underscore makes them private.
        """

    @abstractmethod
    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Iterable:
        """Return an iterable over the mini-batches `(inputs, (y, weights))` of an epoch."""

    @abstractmethod
    def step(self, network: Network, head: Head, batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the gradients of a mini-batch; return its loss and the outputs of the network."""
