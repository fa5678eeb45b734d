"""Variational inference: steps on the evidence lower bound of a module with a posterior."""

from __future__ import annotations

import torch

from sk_deltauq._skorch.net import StackedNet
from sk_deltauq._skorch.rows import Batches, TrainingRows
from sk_deltauq._torch.bayesian import normal_noise


class VariationalNet(StackedNet):
    """A `StackedNet` whose loss is minus the evidence lower bound of a training row.

    The loss is a mean over rows, and over targets where there are several; the module's
    `kl_divergence()` counts once for all of them, so its share in the loss is one over their
    number, times the module's `kl_weight`. Rows of earlier calls count too: in a stream of rows
    the prior is worth less and less.
    """

    def initialize(self):
        super().initialize()
        self.n_rows_ = 0
        return self

    def train(self, rows: TrainingRows, **settings):
        self.n_rows_ += rows.train.shape[1]
        return super().train(rows, **settings)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X=X, training=training)
        n_targets = y_true[0].shape[1]  # (member, target, sample)
        share = self.module_.kl_weight / (self.n_rows_ * n_targets)
        return loss + share * self.module_.kl_divergence()


class NoisyBatches(Batches):
    """One epoch a pass: `((x, noise), (y, weights))`, each sample with noise of its own.

    The noise is normal, `(member, unit, sample)`, for `n_units` units.
    """

    def __init__(self, rows: TrainingRows, batch_size: int, *, n_units: int):
        self._n_units = n_units
        super().__init__(rows, batch_size)

    def _input_width(self):
        return self.rows.x.shape[1] + self._n_units

    def _further_inputs(self, drawn, start, stop):
        # Batch by batch: how many batches are gathered at a time depends on the number of
        # members, and the numbers that torch draws in a call on how many they are.
        sizes = [last - first for first, last in self._bounds if start <= first < stop]
        draws = [normal_noise(size, self._n_units, self.rows.generators) for size in sizes]
        return (torch.cat(draws, dim=2).to(self.rows.x.device),)
