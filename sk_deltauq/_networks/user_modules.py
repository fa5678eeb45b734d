"""Copies of a torch module that the user brings."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from sk_deltauq._host import seed_torch
from sk_deltauq._networks.mlp import CPU_FLOAT, Core, NetworkSpec


class UserModules(Core):
    """M copies of a user's own module on embedded rows, `n_inputs` of them side by side.

    `n_extra` inputs follow the rows.

    The factory is called once per member as `factory(in_features, out_features)`. The hidden layer
    sizes and the activation are not used.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        factory: Callable[..., nn.Module],
        n_inputs: int = 1,
        n_extra: int = 0,
    ):
        super().__init__()
        if isinstance(factory, nn.Module):
            raise ValueError(
                "module must be a factory, called as module(in_features, out_features), got an "
                f"instance of {type(factory).__name__}. Pass a class or a function."
            )
        self.embedding = spec.make_embedding()
        self.n_outputs = spec.n_outputs
        self.n_members = len(spec.generators)
        self.in_features = n_inputs * self.embedding.n_outputs + n_extra
        self.members = nn.ModuleList()
        for generator in spec.generators:
            # A user's module draws its weights from torch's global state.
            with seed_torch(generator.initial_seed()):
                self.members.append(_call(factory, self.in_features, spec.n_outputs).float())
        # A guess at the user's widest layer, from the largest side of the parameters
        sides = [max(p.shape) for p in self.members[0].parameters() if p.ndim]
        self.width = max([self.in_features, *sides])
        self._try_out()

    @torch.no_grad()
    def _try_out(self):
        """Let a module of the wrong shape fail here, before any training."""
        self.eval().map_inputs(torch.zeros((self.n_members, self.in_features, 2), **CPU_FLOAT))
        self.train()

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all values that training changes in one member, buffers included."""
        stacked = [p.detach()[member] for p in self.embedding.parameters()]
        return [*stacked, *self.members[member].state_dict().values()]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)` to `(member, output, sample)`."""
        return self.map_inputs(self.embedding(x))

    def map_extra(self, x: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        rows = x.unsqueeze(2).expand(-1, -1, extra.shape[2], -1)
        inputs = torch.cat([rows, extra], dim=1)
        return self.map_inputs(inputs.flatten(2)).unflatten(2, inputs.shape[2:])

    def map_inputs(self, inputs: torch.Tensor) -> torch.Tensor:
        inputs = inputs.transpose(1, 2)  # (member, sample, input), as a user's module has it
        outputs = [module(rows) for module, rows in zip(self.members, inputs, strict=True)]
        for out in outputs:
            expected = (inputs.shape[1], self.n_outputs)
            got = tuple(out.shape) if torch.is_tensor(out) else f"a {type(out).__name__}"
            if got != expected:
                raise ValueError(
                    f"module must map rows of width {inputs.shape[2]} to {self.n_outputs} outputs:"
                    f" expected a tensor of shape {expected}, got {got}. Use both arguments of "
                    "the factory, module(in_features, out_features)."
                )
        return torch.stack(outputs).transpose(1, 2)


def _call(factory: Callable[..., nn.Module], in_features: int, out_features: int) -> nn.Module:
    """Make one module; raise an error if the factory returns something else."""
    made = factory(in_features, out_features)
    if not isinstance(made, nn.Module):
        raise ValueError(
            "module must be a factory that returns a torch.nn.Module, but module(in_features, "
            f"out_features) returned a {type(made).__name__}."
        )
    return made
