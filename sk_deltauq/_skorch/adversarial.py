"""Adversarial training: steps that also see each sample moved to where its loss is larger."""

from __future__ import annotations

from sk_deltauq._skorch.net import StackedNet


class AdversarialNet(StackedNet):
    """A `StackedNet` that trains on samples and on their adversarial examples, by the sum of both.

    The module says how far an example is from its sample, `adversarial_step`, `(feature, 1)`; with
    None the steps are those of a `StackedNet`.
    """

    def train_step_single(self, batch, **fit_params):
        step_size = self.module_.adversarial_step
        if step_size is None:
            return super().train_step_single(batch, **fit_params)
        (x,), target = batch
        x = x.detach().requires_grad_()
        # One backward pass gives the gradients of the weights and of the inputs. Neither the
        # weight of a sample nor the mean over the batch changes the sign of the latter.
        step = super().train_step_single(((x,), target), **fit_params)
        moved = x.detach() + step_size * x.grad.sign()  # fast gradient sign
        adversarial = super().train_step_single(((moved,), target), **fit_params)
        return {**step, "loss": step["loss"].detach() + adversarial["loss"].detach()}
