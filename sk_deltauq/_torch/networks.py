"""Networks: stacked MLPs, and wrappers for a user's own torch module, plain and anchored.

Every network of the package has two ways in: `forward`, which takes what a mini-batch holds, and
`components`, which takes rows alone and answers for every component. Of an anchored network,
`forward(x, c)` pairs each sample with its own anchor, and `components(x)` with every anchor that
the network keeps; of a plain one, the members are the components.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from sk_deltauq._random import torch_seeded
from sk_deltauq._torch.layers import CPU_FLOAT, AnchoredLinear, StackedLinear

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


class _Plain(nn.Module):
    """What both networks without anchors share: the members are the components."""

    def set_adversarial_step(self, step: torch.Tensor | None) -> None:
        """Keep how far adversarial examples are from their samples, `(feature, 1)`, or None."""
        self.register_buffer("adversarial_step", step)

    @property
    def n_components(self) -> int:
        """Number of components: one a member."""
        return self.n_members

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        """Each sample through its member: `(member, output, 1, sample)`.

        `x` is `(feature, sample)`, or `(member, feature, sample)` where each member has samples
        of its own; a member is one component, so there is nothing to `limit`.
        """
        return self(x.expand(self.n_members, -1, -1)).unsqueeze(2)


class _Shifted:
    """What networks of an anchor ensemble add to plain ones: a member sees `x - c`, embedded."""

    def set_anchors(self, anchors: torch.Tensor) -> None:
        """Keep the scaled training row `(member, feature)` that each member's rows are shifted by.

        It holds for training and prediction: a member never meets a row that is not shifted.
        """
        self.register_buffer("anchors", anchors.unsqueeze(2))  # (member, feature, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return super().forward(x - self.anchors)


class _MLP(nn.Module):
    """M multilayer perceptrons as one module.

    Parameters
    ----------
    embedding : nn.Module
        One of `EMBEDDINGS`; anchoring happens after the embedding.
    n_outputs : int
        Width of the network's output (parameters of the head).
    hidden_layer_sizes : sequence of int
    activation : str
        A key of `ACTIVATIONS`.
    generators : list of torch.Generator
        One a member: they draw the initial weights.
    """

    first_layer = later_layer = StackedLinear

    def __init__(self, embedding, n_outputs, *, hidden_layer_sizes, activation, generators):
        super().__init__()
        self.activation = activation
        self.n_members = len(generators)
        self.embedding = embedding
        widths = [self.embedding.n_outputs, *hidden_layer_sizes, n_outputs]
        self.first = self.first_layer(widths[0], widths[1], generators)
        self.rest = nn.ModuleList(
            self.later_layer(n_in, n_out, generators) for n_in, n_out in pairwise(widths[1:])
        )

    @property
    def width(self) -> int:
        """The widest layer: what prediction needs memory for, per sample and component."""
        return max(layer.bias.shape[1] for layer in [self.first, *self.rest])

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all that training changes in one member."""
        return [p.detach()[member] for p in self.parameters()]

    def _activate(self, h: torch.Tensor) -> torch.Tensor:
        activation = ACTIVATIONS[self.activation]
        if activation is torch.relu and torch.is_inference_mode_enabled():
            activation = torch.relu_  # no gradient needs what it overwrites
        return activation(h)

    def _after_first(self, h: torch.Tensor) -> torch.Tensor:
        for layer in self.rest:
            h = layer(self._activate(h))
        return h


class PlainMLP(_MLP, _Plain):
    """M multilayer perceptrons, as one module; the parameters are those of `_MLP`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return self._after_first(self.first(self.embedding(x)))


class ShiftedMLP(_Shifted, PlainMLP):
    """M multilayer perceptrons, each on rows shifted by its own anchor."""


class DropoutMLP(_MLP):
    """M multilayer perceptrons whose hidden units are multiplied by dropout masks.

    A mask has one factor for each hidden unit, layer after layer. `forward(x, masks)` gives each
    sample a mask of its own, and `components(x)` every mask that the network keeps. The
    parameters are those of `_MLP`.
    """

    @property
    def n_units(self) -> int:
        """Number of hidden units, in all layers."""
        return sum(self._hidden_widths())

    @property
    def n_components(self) -> int:
        """Number of components: pairs of a member and a mask."""
        return self.n_members * self.masks.shape[2]

    def set_masks(self, masks: torch.Tensor) -> None:
        """Keep masks `(member, unit, mask)` to predict with."""
        self.register_buffer("masks", masks)

    def forward(self, x: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)`, `(member, unit, sample)` to `(member, output, sample)`."""
        return self._masked(x, masks.unsqueeze(2)).squeeze(2)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        """Each sample with every mask: `(member, output, mask, sample)`.

        `x` is `(feature, sample)`, or `(member, feature, sample)` where each member has samples
        of its own; `limit` keeps only so many masks.
        """
        masks = self.masks[:, :, :limit].unsqueeze(3)
        return self._masked(x.expand(self.n_members, -1, -1), masks)

    def _hidden_widths(self) -> list[int]:
        return [layer.weight.shape[2] for layer in self.rest]

    def _masked(self, x: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Masks `(member, unit, mask or 1, sample or 1)` to `(member, output, mask, sample)`."""
        h = self.first(self.embedding(x)).unsqueeze(2)  # the same before all masks
        for layer, mask in zip(self.rest, masks.split(self._hidden_widths(), dim=1), strict=True):
            h = self._activate(h) * mask  # (member, unit, mask, sample)
            h = layer(h.flatten(2)).unflatten(2, h.shape[2:])
        return h


class AnchoredMLP(_MLP, _Anchored):
    """M multilayer perceptrons on anchored inputs; the parameters are those of `_MLP`."""

    first_layer = AnchoredLinear

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        return self._after_first(self.first(self.embedding(x), self.embedding(c)))

    def _all_pairs(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        # Anchors and samples share one axis after it, so one set of layers serves both ways.
        # A later layer copies what it is given; without one the sums are the answer.
        reuse = bool(self.rest) and not torch.is_grad_enabled()
        pairs = self.first.all_pairs(self.embedding(x), self.embedding(c), reuse=reuse)
        outputs = [self._after_first(h.flatten(2)).unflatten(2, h.shape[2:]) for h in pairs]
        return torch.cat(outputs, dim=2)


class _Modules(nn.Module):
    """M copies of a user's own module.

    `factory(in_features, out_features)` is called once a member; the input width is that of the
    embedding, times the number of inputs that a subclass puts side by side.
    """

    n_inputs = 1

    def __init__(self, embedding, n_outputs, *, factory, generators):
        super().__init__()
        self.embedding = embedding
        self.n_members, self.n_outputs = len(generators), n_outputs
        self.in_features = self.n_inputs * self.embedding.n_outputs
        self.members = nn.ModuleList()
        for generator in generators:
            # A user's module draws its weights from torch's global state.
            with torch_seeded(generator.initial_seed()):
                self.members.append(factory(self.in_features, n_outputs).float())
        self._try_out()

    @torch.no_grad()
    def _try_out(self):
        """Let a module of the wrong shape fail here, before anything is trained."""
        self.eval()._outputs(torch.zeros((self.n_members, self.in_features, 2), **CPU_FLOAT))
        self.train()

    @property
    def width(self) -> int:
        """A guess at the user's widest layer, from the largest of its parameters' sides."""
        sides = [max(p.shape) for p in self.members[0].parameters() if p.ndim]
        return max([self.in_features, *sides])

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all that training changes in one member, buffers included."""
        embedding = [p.detach()[member] for p in self.embedding.parameters()]
        return [*embedding, *self.members[member].state_dict().values()]

    def _outputs(self, inputs: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        inputs = inputs.transpose(1, 2)  # (member, sample, feature), as a user's module has it
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


class PlainModules(_Modules, _Plain):
    """M copies of a user's own module, each fed the embedded rows as they are."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return self._outputs(self.embedding(x))


class ShiftedModules(_Shifted, PlainModules):
    """M copies of a user's own module, each fed rows shifted by its own anchor, embedded."""


class AnchoredModules(_Modules, _Anchored):
    """M copies of a user's own module, each fed `[c, x - c]` as rows (paper, eq. 6)."""

    n_inputs = 2

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` twice to `(member, output, sample)`."""
        x, c = self.embedding(x), self.embedding(c)
        return self._outputs(torch.cat([c, x - c], dim=1))

    def _all_pairs(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        n_anchors, n_samples = c.shape[2], x.shape[2]
        tiled = x.unsqueeze(2).expand(-1, -1, n_anchors, -1).flatten(2)
        repeated = c.unsqueeze(3).expand(-1, -1, -1, n_samples).flatten(2)
        return self(tiled, repeated).unflatten(2, (n_anchors, n_samples))
