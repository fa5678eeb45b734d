"""Stacked networks: their contract, input features, linear layers, and multilayer perceptrons.

A leading axis holds the members, which train side by side in one product. Adam and weight decay
act on each element alone, so members trained as a stack equal members trained one by one; only
the number of calls is smaller.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn

# Number of floats in 1 MB, the size of a core's fast cache.
_CACHE_FLOATS = 2**18

# Passed to each draw, because torch's defaults are the user's to change.
CPU_FLOAT = {"dtype": torch.float32, "device": "cpu"}

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "logistic": torch.sigmoid,
    "silu": nn.functional.silu,
    "gelu": nn.functional.gelu,
    "identity": lambda x: x,
}

# A fourth octave did not improve predictions between training rows, and hurt extrapolation.
N_OCTAVES = 3

N_FREQUENCIES = 4
PERIODIC_SCALE = 0.3

N_DIRECTIONS = 32
# Standard deviation of the random frequencies, in cycles over the width of a uniform feature. Of
# 0.25, 0.5, 1 and 2 cycles, 0.5 was the best or close to it in searches with 2 to 6 features, and
# 0.25 with 8.
_CYCLES, _CYCLES_OF_MANY, _MANY_FEATURES = 0.5, 0.25, 8


def draw_uniform(shape, bound: float, generators) -> torch.Tensor:
    """Draw `(member, *shape)` from U(-bound, bound), each member from its own generator."""
    draws = [torch.rand(shape, generator=g, **CPU_FLOAT) for g in generators]
    return (2 * torch.stack(draws) - 1) * bound


class StackedLinear(nn.Module):
    """One linear layer per member: `(member, in, sample)` to `(member, out, sample)`.

    Initial weights are drawn as in `torch.nn.Linear`, from U(-1/sqrt(in), 1/sqrt(in)).
    """

    def __init__(self, in_features: int, out_features: int, generators):
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.weight = nn.Parameter(draw_uniform((out_features, in_features), bound, generators))
        self.bias = nn.Parameter(draw_uniform((out_features, 1), bound, generators))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.baddbmm(self.bias, self.weight, x)

    def map_parts(self, x: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        """Map the first inputs, `(member, in, sample)`, with each of several sets of the others.

        The sets are `(member, other in, set, sample)`. The first inputs are multiplied once.
        """
        of_rows, of_extra = self.weight.split([x.shape[1], extra.shape[1]], dim=2)
        rows = torch.baddbmm(self.bias, of_rows, x).unsqueeze(2)
        return torch.bmm(of_extra, extra.flatten(2)).unflatten(2, extra.shape[2:]).add_(rows)


class AnchoredLinear(nn.Module):
    """The first layer of an anchored network, without the concatenation.

    The paper feeds `[c, x - c]` to a linear layer with weights `[A, W]`. Since
    `A c + W (x - c) = W x + (A - W) c`, the layer is `W x + V c` with `V = A - W`; `W` and `V` are
    trained. The layer computes the same functions as the paper's layer and starts from the same
    distribution (`V` starts as the difference of two draws). Adam fits `W` and `V` better than
    `W` and `A` if the noise is low. Prediction needs `W x` once per row and `V c` once per anchor.
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

    def pair_all(self, x: torch.Tensor, c: torch.Tensor, *, in_parts: bool = False):
        """Pair each sample with every anchor: yields `(member, out, anchor, sample)`.

        With `in_parts`, a part on a CPU has so few anchors that the sums stay in the cache. All
        sums go into one piece of memory, because fresh pages would take longer than the
        arithmetic: a part is valid until the next one is asked for, and has no gradient.
        """
        rows = torch.baddbmm(self.bias, self.weight, x).unsqueeze(2)  # (member, out, 1, sample)
        anchors = torch.bmm(self.anchor_weight, c).unsqueeze(3)  # (member, out, anchor, 1)
        if not in_parts:
            yield rows + anchors
            return
        fitting = _CACHE_FLOATS // rows.numel() if x.device.type == "cpu" else anchors.shape[2]
        sums = None
        for part in anchors.split(max(fitting, 1), dim=2):
            if sums is not None and sums.shape[2] == part.shape[2]:
                torch.add(rows, part, out=sums)
            else:
                sums = rows + part
            yield sums


class Embedding(nn.Module, ABC):
    """Maps features `(member, feature, sample)` to `(member, n_outputs, sample)`."""

    n_outputs: int

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Embed the features."""


class Identity(Embedding):
    """No embedding: the features as they are."""

    def __init__(self, n_features: int):
        super().__init__()
        self.n_outputs = n_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class FourierFeatures(Embedding):
    """`[x, sin(w x), cos(w x)]` with angular frequencies `w`.

    The raw feature stays, so that a trend need not be built from sinusoidal features. Frequencies
    are fixed, `(frequency, 1)`, or a parameter `(member, feature, frequency, 1)` that is learnt.
    `amplitude` is a factor of the sinusoidal features of each member, `(member, 1, 1)`.
    """

    def __init__(self, n_features: int, frequencies: torch.Tensor, amplitude=None):
        super().__init__()
        self.n_outputs = n_features * (1 + 2 * frequencies.shape[-2])
        if isinstance(frequencies, nn.Parameter):
            self.frequencies = frequencies
        else:
            self.register_buffer("frequencies", frequencies)
        self.amplitude = amplitude

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angles = x.unsqueeze(2) * self.frequencies  # (member, feature, frequency, sample)
        parts = [angles.sin().flatten(1, 2), angles.cos().flatten(1, 2)]
        if self.amplitude is not None:
            parts = [part * self.amplitude for part in parts]
        return torch.cat([x, *parts], dim=1)


def _octaves() -> torch.Tensor:
    """Angular frequencies pi/4 * 2^j for j = 0, 1, 2, `(frequency, 1)`.

    A standardised feature spans about four units. The slowest sinusoid has twice this period, so
    no two usual values share an embedding.
    """
    return (math.pi / 4 * 2.0 ** torch.arange(N_OCTAVES, **CPU_FLOAT))[:, None]


def make_sinusoidal(n_features: int, generators, members) -> FourierFeatures:
    """Fixed octaves, the sinusoidal embedding that the Delta-UQ paper puts before its networks."""
    return FourierFeatures(n_features, _octaves())


def make_alternating(n_features: int, generators, members) -> FourierFeatures:
    """Fixed octaves for members 0, 2, 4, ...; the others see zeros in their place.

    Networks with sinusoidal features are more accurate between the training rows, networks
    without them are more accurate out of distribution. Together they are nearly as good as the
    better kind in both places, and the two kinds disagree where neither can be trusted.
    """
    is_even = torch.tensor([member % 2 == 0 for member in members], **CPU_FLOAT)
    # A parameter, so that it stays with its member; it is not learnt.
    amplitude = nn.Parameter(is_even[:, None, None], requires_grad=False)
    return FourierFeatures(n_features, _octaves(), amplitude)


def make_periodic(n_features: int, generators, members) -> FourierFeatures:
    """Learnt frequencies, a set per feature and member (Gorishniy et al., NeurIPS 2022)."""
    shape = (n_features, N_FREQUENCIES, 1)
    draws = [torch.randn(shape, generator=g, **CPU_FLOAT) for g in generators]
    frequencies = nn.Parameter(2 * math.pi * PERIODIC_SCALE * torch.stack(draws))
    return FourierFeatures(n_features, frequencies)


class RandomFourierFeatures(Embedding):
    """`[x, sin(B x), cos(B x)]` with random directions `B` that mix the features.

    `directions`, `(member, direction, feature)`, is a parameter so that it stays with its member;
    it is not learnt.
    """

    def __init__(self, n_features: int, directions: torch.Tensor):
        super().__init__()
        self.n_outputs = n_features + 2 * directions.shape[1]
        self.directions = nn.Parameter(directions, requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angles = self.directions @ x  # (member, direction, sample)
        return torch.cat([x, angles.sin(), angles.cos()], dim=1)


def make_fourier(n_features: int, generators, members) -> RandomFourierFeatures:
    """Random Fourier features (Tancik et al., NeurIPS 2020), other directions for each member.

    A standardised uniform feature is sqrt(12) units wide, so a bandwidth in cycles over this width
    is a standard deviation of angular frequencies.
    """
    cycles = _CYCLES if n_features < _MANY_FEATURES else _CYCLES_OF_MANY
    shape = (N_DIRECTIONS, n_features)
    draws = [torch.randn(shape, generator=g, **CPU_FLOAT) for g in generators]
    return RandomFourierFeatures(n_features, 2 * math.pi * cycles / 12**0.5 * torch.stack(draws))


# Each entry is called as `make(n_features, generators, members)`.
EMBEDDINGS: dict[str | None, Callable[..., Embedding]] = {
    None: lambda n_features, generators, members: Identity(n_features),
    "alternating": make_alternating,
    "sinusoidal": make_sinusoidal,
    "periodic": make_periodic,
    "fourier": make_fourier,
}


@dataclass(frozen=True)
class NetworkSpec:
    """What a method needs to know to make its networks."""

    n_features: int
    n_outputs: int  # of the network: the parameters of the head
    hidden_layer_sizes: tuple[int, ...]
    activation: str  # a key of `ACTIVATIONS`
    embedding: str | None  # a key of `EMBEDDINGS`
    members: Sequence[int]  # the member of each network of the stack
    generators: list[torch.Generator]  # one per network; they draw the initial weights
    n_targets: int = 1  # columns of the scaled targets

    def make_embedding(self) -> Embedding:
        """Make the embedding; its weights are drawn before the weights of the layers."""
        return EMBEDDINGS[self.embedding](self.n_features, self.generators, self.members)


class Core(nn.Module, ABC):
    """The layers of M networks as one module: an `MLP`, or copies of a user's module."""

    embedding: Embedding
    n_members: int
    width: int  # units of the widest layer: the memory per sample and component

    @abstractmethod
    def map_inputs(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map inputs of the layers, `(member, input, sample)`, to `(member, output, sample)`."""

    @abstractmethod
    def map_extra(self, x: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        """Map rows with several sets of extra inputs each to `(member, output, set, sample)`.

        The rows are embedded, `(member, input, sample)`; `extra` is `(member, extra input, set,
        sample)`.
        """

    @abstractmethod
    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all values that training changes in one member."""


class Network(nn.Module, ABC):
    """M networks as one module, with two entrances.

    `forward` takes the inputs of a mini-batch. `components` takes rows alone and answers for all
    components, the functions that a method averages over: pairs of a member and an anchor, a
    dropout mask, or a draw of the weights. The core has the layers with the weights.
    """

    core: Core

    def __init__(self, core: Core):
        super().__init__()
        self.core = core

    @property
    @abstractmethod
    def n_components(self) -> int:
        """Number of components, of all members together."""

    @abstractmethod
    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Map the inputs of a mini-batch to `(member, output, sample)`.

        The first input is the rows, `(member, feature, sample)`. A method may draw others.
        """

    @abstractmethod
    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        """Map rows to the outputs of all components, `(member, output, component, sample)`.

        `x` is `(feature, sample)`, or `(member, feature, sample)` if each member has samples of
        its own. `limit` bounds the number of components per member.
        """


class MLP(Core):
    """M multilayer perceptrons as one module.

    `first_layer` and `later_layer` make a stacked layer of `(in_features, out_features,
    generators)`. `widths` has the number of units of each layer, outputs included. The first layer
    has `n_extra` inputs beside the embedded features.
    """

    first: Any

    def __init__(
        self,
        spec: NetworkSpec,
        first_layer: Callable[..., nn.Module] = StackedLinear,
        later_layer: Callable[..., nn.Module] = StackedLinear,
        n_extra: int = 0,
    ):
        super().__init__()
        self.activation = spec.activation
        self.embedding = spec.make_embedding()
        self.n_members = len(spec.generators)
        self.widths = [*spec.hidden_layer_sizes, spec.n_outputs]
        self.width = max(self.widths)
        n_inputs = self.embedding.n_outputs + n_extra
        self.first = first_layer(n_inputs, self.widths[0], spec.generators)
        self.rest = nn.ModuleList(
            later_layer(n_in, n_out, spec.generators) for n_in, n_out in pairwise(self.widths)
        )

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        return [p.detach()[member] for p in self.parameters()]

    def activate(self, h: torch.Tensor) -> torch.Tensor:
        """Apply the activation function."""
        activation = ACTIVATIONS[self.activation]
        if activation is torch.relu and torch.is_inference_mode_enabled():
            activation = torch.relu_  # no gradient needs the values that it overwrites
        return activation(h)

    def finish(self, h: torch.Tensor) -> torch.Tensor:
        """Map outputs of the first layer to outputs of the network, samples on the last axis."""
        for layer in self.rest:
            h = layer(self.activate(h))
        return h

    def map_inputs(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.finish(self.first(inputs))

    def map_extra(self, x: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        h = self.first.map_parts(x, extra)  # (member, out, set, sample)
        return self.finish(h.flatten(2)).unflatten(2, h.shape[2:])

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Map inputs of the first layer, each `(member, feature, sample)`, to the outputs."""
        return self.finish(self.first(*(self.embedding(x) for x in inputs)))


class PlainNetwork(Network):
    """Networks on the rows as they are: each member is one component."""

    @property
    def n_components(self) -> int:
        return self.core.n_members

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return self.core(x)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        return self(x.expand(self.core.n_members, -1, -1)).unsqueeze(2)
