"""The one skorch net: its loop, optimizer and callbacks; our rows, batches and stopping rule."""

from __future__ import annotations

import contextlib
import math

import torch
from skorch import NeuralNet
from skorch.callbacks import EarlyStopping
from torch.optim.lr_scheduler import LambdaLR

from sk_deltauq._skorch.averaging import WeightAverage
from sk_deltauq._skorch.rows import AnchoredBatches, TrainingRows

# Epochs after which the step size is down to 1 / sqrt(2) of what it was.
_EPOCHS_BEFORE_DECAY = 50


def inverse_scaling(epoch: int) -> float:
    """Step size of an epoch, counted from 0, relative to the first one's.

    Averages over the iterates want steps that fall more slowly than one over the epoch (Polyak and
    Juditsky, 1992), and unlike a cosine this needs no horizon: a patience may end it at any time.
    """
    return (1 + epoch / _EPOCHS_BEFORE_DECAY) ** -0.5


class _StopTraining(Exception):
    """Leaves skorch's epoch loop early."""


class StackedNet(NeuralNet):
    """A `skorch.NeuralNet` that trains on `TrainingRows`.

    Three of skorch's habits are switched off: it holds out a fifth of the rows, it swallows
    Ctrl-C, and it trains on when the loss is NaN. The history keeps one record an epoch; those of
    the mini-batches, which grow with the data, go when the next epoch begins.
    """

    def __init__(self, *args, iterator_train=AnchoredBatches, train_split=None, **kwargs):
        super().__init__(*args, iterator_train=iterator_train, train_split=train_split, **kwargs)

    @property
    def _default_callbacks(self):
        return []

    def initialize(self):
        super().initialize()
        # skorch holds the module twice, as it was given and as it trains it: one object until a
        # pickle writes both.
        self.module, self.criterion = type(self.module_), type(self.criterion_)
        return self

    def train(
        self,
        rows: TrainingRows,
        *,
        n_epochs: int,
        decay: bool = False,
        averaged_epochs: int = 1,
        monitor=None,
        progress=None,
    ):
        """Run at most `n_epochs` epochs.

        Parameters
        ----------
        rows : TrainingRows
        n_epochs : int
        decay : bool, default=False
            Whether the step size falls from epoch to epoch, by `inverse_scaling`; the epochs in
            the history count.
        averaged_epochs : int, default=1
            Over how many epochs the weights are averaged: what the monitor sees after an epoch,
            and what the net ends with. Training itself goes on from the last weights.
        monitor : callable, optional
            Called with the net after each epoch; training stops when it answers True.
        progress : tqdm.tqdm, optional
            A progress bar to move on by one each epoch.

        Returns
        -------
        bool
            Whether training stopped by itself, not at `n_epochs`.

        Raises
        ------
        ValueError
            If the loss is no longer finite.
        """
        self._monitor, self._progress, self._stop = monitor, progress, False
        self._average = WeightAverage(self, averaged_epochs) if averaged_epochs > 1 else None
        self._schedule = self._decay() if decay else None
        self.notify("on_train_begin", X=rows, y=None)
        try:
            self.fit_loop(rows, epochs=n_epochs)
        except _StopTraining:
            pass
        finally:
            average, self._average = self._average, None
            self._monitor = self._progress = self._schedule = None
            if decay:  # training may go on some day
                for group in self.optimizer_.param_groups:
                    group["lr"] = group.pop("initial_lr")
        if average is not None:
            average.swap()
        self.notify("on_train_end", X=rows, y=None)
        self._drop_batch_history()
        self.module_.eval()
        return self._stop

    def _decay(self):
        n_epochs_so_far = len(self.history)
        return LambdaLR(self.optimizer_, lambda epoch: inverse_scaling(n_epochs_so_far + epoch))

    def member_tensors(self, member: int) -> list[torch.Tensor]:
        """Views of all that training changes in one member, of the module and of the head."""
        return [*self.module_.member_tensors(member), *self.criterion_.member_tensors(member)]

    def keep_members(self, members: slice) -> None:
        """Drop all other members of the module, with what the optimizer knows about them."""
        for parameter in [*self.module_.parameters(), *self.criterion_.parameters()]:
            state, n_members = self.optimizer_.state.get(parameter, {}), len(parameter)
            parameter.data = parameter.data[members].clone()
            parameter.grad = None
            for name, value in state.items():
                # Also factors of a moment, as Adafactor has them; a count of steps has no axes.
                if torch.is_tensor(value) and value.ndim and len(value) == n_members:
                    state[name] = value[members].clone()
        self.module_.n_members = len(range(self.module_.n_members)[members])

    def record_best(self, name: str) -> None:
        """Note, as skorch's own scoring does, whether this epoch's value is the lowest so far."""
        values = self.history[:, name]
        self.history.record(name + "_best", values[-1] <= min(values))

    # skorch's seams

    def get_dataset(self, X, y=None):
        return X

    def infer(self, x, **fit_params):
        return self.module_(*x)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        return self.criterion_(y_pred, y_true)

    def _set_training(self, training=True):
        # Walking through all submodules costs a twentieth of a step: only when the mode changes.
        if self.module_.training != training or self.criterion_.training != training:
            super()._set_training(training)

    def notify(self, method_name, **cb_kwargs):
        if method_name != "on_epoch_end":
            super().notify(method_name, **cb_kwargs)
            return
        self.on_epoch_end(self, **cb_kwargs)
        for _, callback in self.callbacks_:
            try:
                callback.on_epoch_end(self, **cb_kwargs)
            except KeyboardInterrupt:
                # This is how skorch's EarlyStopping asks for the end; elsewhere it is a Ctrl-C.
                if not isinstance(callback, EarlyStopping):
                    raise
                self._stop = True
        if self._stop:
            raise _StopTraining

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        if iterator is None:
            return
        if self.callbacks_:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
            losses = torch.tensor(self.history[-1, "batches", :, prefix + "_loss"])
        else:
            # Nobody listens to the mini-batches: no notes of each, which cost a fifth of the time.
            losses = torch.stack([step_fn(batch)["loss"].detach() for batch in iterator])
        loss = float(losses.mean()) / self.module_.n_members
        self.history.record(prefix + "_loss", loss)
        self.record_best(prefix + "_loss")

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        self._drop_batch_history()
        super().on_epoch_begin(net, dataset_train, dataset_valid, **kwargs)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        loss = self.history[-1, "train_loss"]
        if not math.isfinite(loss):
            raise ValueError(
                f"Training diverged: the loss is {loss} in epoch {len(self.history)}, with "
                f"learning_rate_init={self.lr}. Lower learning_rate_init, or look for extreme "
                "values in X, y or sample_weight."
            )
        if self._average is not None:
            self._average.update()
        if self._schedule is not None:
            self._schedule.step()
        if self._monitor is not None:
            averaged = (
                contextlib.nullcontext() if self._average is None else self._average.in_place()
            )
            with averaged:
                self._stop = self._monitor(self)
        if self._progress is not None:
            self._progress.set_postfix(loss=f"{loss:.4g}", refresh=False)
            self._progress.update()

    def _drop_batch_history(self):
        if len(self.history):
            self.history[-1]["batches"] = []
