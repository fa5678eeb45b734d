"""Anchored networks: our stacked MLP, and a wrapper for a user's own torch module.

Every network of the package has two ways in: `forward`, which takes what a mini-batch holds, and
`components`, which takes rows alone and answers for every component. Here `forward(x, c)` pairs
each sample with its own anchor, and `components(x)` with every anchor that the network keeps.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from sk_deltauq._random import torch_seeded
from sk_deltauq._torch.embeddings import EMBEDDINGS
from sk_deltauq._torch.layers import AnchoredLinear, StackedLinear

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "logistic": torch.sigmoid,
    "silu": nn.functional.silu,
    "gelu": nn.functional.gelu,
    "identity": lambda x: x,
}


class _Anchored(nn.Module):
    """What both networks share: the anchors, and rows for all members at once."""

    def set_anchors(self, anchors: torch.Tensor) -> None:
        """Keep scaled training rows `(anchor, feature)` to predict with."""
        self.register_buffer("anchors", anchors)

    @property
    def n_components(self) -> int:
        """Number of components: pairs of a member and an anchor."""
        return self.n_members * len(self.anchors)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        """Each sample with every anchor: `(member, output, anchor, sample)`.

        `x` is `(feature, sample)`, or `(member, feature, sample)` where each member has samples
        of its own; `limit` keeps only so many anchors.
        """
        anchors = self.anchors[:limit].T
        return self._all_pairs(
            x.expand(self.n_members, -1, -1), anchors.expand(self.n_members, -1, -1)
        )


class AnchoredMLP(_Anchored):
    """M multilayer perceptrons on anchored inputs, as one module.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of the input rows, and of the network's output (parameters of the head).
    hidden_layer_sizes : sequence of int
    activation : str
        A key of `ACTIVATIONS`.
    embedding : str or None
        A key of `EMBEDDINGS`; anchoring happens after the embedding.
    generators : list of torch.Generator
        One a member: they draw the initial weights.
    """

    def __init__(
        self, n_features, n_outputs, *, hidden_layer_sizes, activation, embedding, generators
    ):
        super().__init__()
        self.activation = activation
        self.n_members = len(generators)
        self.embedding = EMBEDDINGS[embedding](n_features, generators)
        widths = [self.embedding.n_outputs, *hidden_layer_sizes, n_outputs]
        self.first = AnchoredLinear(widths[0], widths[1], generators)
        self.rest = nn.ModuleList(
            StackedLinear(n_in, n_out, generators) for n_in, n_out in pairwise(widths[1:])
        )

    @property
    def width(self) -> int:
        """The widest layer: what prediction needs memory for, per sample and component."""
        return max(layer.bias.shape[1] for layer in [self.first, *self.rest])

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all that training changes in one member."""
        return [p.detach()[member] for p in self.parameters()]

    def _after_first(self, h: torch.Tensor) -> torch.Tensor:
        activation = ACTIVATIONS[self.activation]
        if activation is torch.relu and torch.is_inference_mode_enabled():
            activation = torch.relu_  # no gradient needs what it overwrites
        for layer in self.rest:
            h = layer(activation(h))
        return h

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        return self._after_first(self.first(self.embedding(x), self.embedding(c)))

    def _all_pairs(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        h = self.first.all_pairs(self.embedding(x), self.embedding(c))
        # Anchors and samples share one axis from here on, so one set of layers serves both ways.
        out = self._after_first(h.flatten(2))
        return out.view(self.n_members, -1, *h.shape[2:])


class AnchoredModules(_Anchored):
    """M copies of a user's own module, each fed `[c, x - c]` as rows (paper, eq. 6).

    `factory(in_features, out_features)` is called once a member with the doubled input width.
    """

    def __init__(self, n_features, n_outputs, *, factory, embedding, generators):
        super().__init__()
        self.embedding = EMBEDDINGS[embedding](n_features, generators)
        self.n_members, self.n_outputs = len(generators), n_outputs
        width = 2 * self.embedding.n_outputs
        self.members = nn.ModuleList()
        for generator in generators:
            # A user's module draws its weights from torch's global state.
            with torch_seeded(generator.initial_seed()):
                self.members.append(factory(width, n_outputs).float())
        self._try_out(n_features)

    @torch.no_grad()
    def _try_out(self, n_features):
        """Let a module of the wrong shape fail here, before anything is trained."""
        rows = torch.zeros((self.n_members, n_features, 2), dtype=torch.float32, device="cpu")
        self.eval()(rows, rows)
        self.train()

    @property
    def width(self) -> int:
        """A guess at the user's widest layer, from the largest of its parameters' sides."""
        sides = [max(p.shape) for p in self.members[0].parameters() if p.ndim]
        return max([2 * self.embedding.n_outputs, *sides])

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all that training changes in one member, buffers included."""
        embedding = [p.detach()[member] for p in self.embedding.parameters()]
        return [*embedding, *self.members[member].state_dict().values()]

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        x, c = self.embedding(x), self.embedding(c)
        inputs = torch.cat([c, x - c], dim=1).transpose(1, 2)  # (member, sample, 2 feature)
        outputs = [module(rows) for module, rows in zip(self.members, inputs, strict=True)]
        for out in outputs:
            expected = (inputs.shape[1], self.n_outputs)
            if out.shape != expected:
                raise ValueError(
                    f"module must map rows of width {inputs.shape[2]} to {self.n_outputs} outputs:"
                    f" expected an output of shape {expected}, got {tuple(out.shape)}. Use both "
                    "arguments of the factory, module(in_features, out_features)."
                )
        return torch.stack(outputs).transpose(1, 2)

    def _all_pairs(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        n_anchors, n_samples = c.shape[2], x.shape[2]
        tiled = x.unsqueeze(2).expand(-1, -1, n_anchors, -1).flatten(2)
        repeated = c.unsqueeze(3).expand(-1, -1, -1, n_samples).flatten(2)
        return self(tiled, repeated).unflatten(2, (n_anchors, n_samples))
