"""Deep ensembles: networks from different initial weights.

Lakshminarayanan, Pritzel, Blundell, "Simple and Scalable Predictive Uncertainty Estimation using
Deep Ensembles", NeurIPS 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from sk_deltauq._networks.mlp import MLP, Network, NetworkSpec, PlainNetwork
from sk_deltauq._networks.user_modules import UserModules
from sk_deltauq._training.method import DrawContext, Method
from sk_deltauq._training.rows import Batches, TrainingRows


@dataclass(frozen=True)
class Ensemble(Method):
    """Members with different initial weights; each member is one component.

    `adversarial_epsilon` is the size of the step to adversarial examples, as a fraction of the
    range of each feature; 0 for none (section 2.3 of the paper).
    """

    adversarial_epsilon: float = 0.0
    module: Callable[..., nn.Module] | None = None

    def network(self, spec: NetworkSpec) -> PlainNetwork:
        return PlainNetwork(make_core(spec, self.module))

    def draw(self, network: Network, context: DrawContext):
        """Set the adversarial step from the range of each feature in all rows so far.

        The rows are standardised, so the units of X do not matter.
        """
        x, earlier = context.data.x, context.earlier
        low, high = x.amin(dim=0), x.amax(dim=0)
        if earlier:
            earlier_low, earlier_high = map(torch.from_numpy, earlier["_x_range_"])
            low, high = torch.minimum(low, earlier_low), torch.maximum(high, earlier_high)
        step = None
        if self.adversarial_epsilon:
            step = (self.adversarial_epsilon * (high - low))[:, None].to(context.settings.device)
        network.register_buffer("adversarial_step", step)  # (feature, 1)
        return {"_x_range_": torch.stack([low, high]).numpy()}

    def batches(self, network: Network, rows: TrainingRows, batch_size: int) -> Batches:
        return Batches(rows, batch_size)

    def finish(self, network: Network) -> None:
        """Do nothing: the network is always ready."""

    def step(self, network, head, batch):
        """Train on the samples and, with adversarial training, on adversarial examples."""
        (x,), target = batch
        step_size = network.adversarial_step
        if step_size is not None:
            x = x.detach().requires_grad_()
        # One backward pass gives the gradients of the weights and of the inputs. Neither the
        # weight of a sample nor the mean over the batch changes the sign of the latter.
        outputs = network(x)
        loss = head.backpropagate(outputs, target)
        if step_size is not None:
            adversarial = x.detach() + step_size * x.grad.sign()  # fast gradient sign
            loss = loss + head.backpropagate(network(adversarial), target)
        return loss, outputs


def make_core(spec: NetworkSpec, module: Callable[..., nn.Module] | None) -> MLP | UserModules:
    """Make the layers of a network without anchors: an MLP, or copies of a user's module."""
    return MLP(spec) if module is None else UserModules(spec, module)
