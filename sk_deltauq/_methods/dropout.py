"""MC dropout: one network, averaged over many dropout masks.

Gal, Ghahramani, "Dropout as a Bayesian Approximation", ICML 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from sk_deltauq._host import Stream, torch_generators
from sk_deltauq._networks.mlp import CPU_FLOAT, MLP, Network, NetworkSpec
from sk_deltauq._training.method import DrawContext, Method, backpropagate_batch
from sk_deltauq._training.rows import Batches, ExtraInputs, TrainingRows

# The choices of "auto": the grid of the paper's own experiments on the UCI sets.
RATES = (0.005, 0.01, 0.05, 0.1)


def draw_masks(n_masks: int, n_units: int, rates, generators) -> torch.Tensor:
    """Draw masks `(member, unit, mask)`.

    A factor is zero with probability p = `rates[member]`, and 1 / (1 - p) otherwise. A single
    rate is for all members. Masks are drawn one by one, so a longer series begins with the
    shorter one.
    """
    draws = [torch.rand((n_masks, n_units), generator=g, **CPU_FLOAT) for g in generators]
    rates = torch.tensor(rates, dtype=torch.float64, device="cpu")[:, None, None]
    kept = torch.stack(draws) >= rates.float()
    return (kept.float() / (1 - rates).float()).transpose(1, 2)


class DropoutMLP(Network):
    """Multilayer perceptrons whose hidden units are multiplied by dropout masks.

    A mask has one factor per hidden unit, layer after layer. In `forward(x, masks)` each sample
    has its own mask; `components` takes the masks that the network keeps.
    """

    core: MLP
    masks: torch.Tensor

    @property
    def n_units(self) -> int:
        """Number of hidden units, in all layers."""
        return sum(self.core.widths[:-1])

    @property
    def n_components(self) -> int:
        return self.core.n_members * self.masks.shape[2]

    def set_masks(self, masks: torch.Tensor) -> None:
        """Keep masks `(member, unit, mask)` for prediction."""
        # A stored model has no other order in memory, and other orders round differently.
        self.register_buffer("masks", masks.contiguous())

    def forward(self, x: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """`(member, feature, sample)`, `(member, unit, sample)` to `(member, output, sample)`."""
        return self._apply_masks(x, masks.unsqueeze(2)).squeeze(2)

    def components(self, x: torch.Tensor, limit: int | None = None) -> torch.Tensor:
        masks = self.masks[:, :, :limit].unsqueeze(3)  # (member, unit, mask, 1)
        return self._apply_masks(x.expand(self.core.n_members, -1, -1), masks)

    def _apply_masks(self, x: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Masks `(member, unit, mask or 1, sample or 1)` to `(member, output, mask, sample)`."""
        core = self.core
        h = core.first(core.embedding(x)).unsqueeze(2)  # the same before all masks
        for layer, mask in zip(core.rest, masks.split(core.widths[:-1], dim=1), strict=True):
            h = core.activate(h) * mask  # (member, unit, mask, sample)
            h = layer(h.flatten(2)).unflatten(2, (mask.shape[2], -1))
        return h


@dataclass(frozen=True)
class Dropout(Method):
    """Train with a new dropout mask for every sample; predict with `n_masks` kept masks.

    Each member trains once with each of the `rates`; held-out rows select the best rate.
    """

    rates: tuple[float, ...]
    n_masks: int

    fixed_parameters: ClassVar[tuple[str, ...]] = ("dropout",)

    @property
    def variants(self):
        return [Dropout((rate,), self.n_masks) for rate in self.rates]

    def network(self, spec: NetworkSpec) -> DropoutMLP:
        if not spec.hidden_layer_sizes:
            raise ValueError(
                "hidden_layer_sizes must name at least one hidden layer, since dropout acts on "
                "hidden units, got (). Give it a size, such as (50,)."
            )
        return DropoutMLP(MLP(spec))

    def draw(self, network: Network, context: DrawContext):
        """Draw the masks to predict with; they stay the same whenever training continues."""
        assert isinstance(network, DropoutMLP)
        n_rates, settings = len(self.rates), context.settings
        if n_rates > 1 and not context.rows.held_out.numel():
            reason = (
                "in a first call of partial_fit"
                if settings.partial
                else f"with early_stopping={settings.early_stopping!r} and "
                f"n_samples={len(context.data.x)}"
            )
            raise ValueError(
                "dropout='auto' needs held-out rows to choose the rate by, and there are none "
                f"{reason}. Set dropout to a number, such as 0.05, or call fit with "
                "early_stopping=True."
            )
        members = [network_number // n_rates for network_number in range(network.core.n_members)]
        generators = torch_generators(context.seed, Stream.MASKS, members)
        masks = draw_masks(self.n_masks, network.n_units, self._repeat_rates(network), generators)
        network.set_masks(masks.to(settings.device))
        masks_as_flags = masks.transpose(1, 2).numpy() > 0  # (member, mask, unit)
        return {"dropout_": self.rates[0], "masks_": masks_as_flags}

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        """Make mini-batches `((x, masks), (y, weights))`, with a mask for each sample."""
        assert isinstance(network, DropoutMLP)
        n_units, rates = network.n_units, self._repeat_rates(network)

        def draw_sample_masks(bounds):
            n_samples = bounds[-1][1] - bounds[0][0]
            masks = draw_masks(n_samples, n_units, rates, rows.generators)
            return masks.to(rows.x.device)

        return Batches(rows, batch_size, ExtraInputs(n_units, lambda order: draw_sample_masks))

    def finish(self, network: Network) -> None:
        """Do nothing: the network is always ready."""

    def step(self, network, head, batch):
        return backpropagate_batch(network, head, batch)

    def _repeat_rates(self, network: Network) -> list[float]:
        """The rate of each network of the stack."""
        return list(self.rates) * (network.core.n_members // len(self.rates))
