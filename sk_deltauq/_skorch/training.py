"""From rows and settings to a trained net: hold-out, optimizer, stopping rule, progress."""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import LRScheduler
from tqdm.auto import tqdm

from sk_deltauq._folds import deal_folds
from sk_deltauq._random import Stream, numpy_rng, torch_generators
from sk_deltauq._skorch.monitors import HeldOutMonitor, TrainingLossMonitor
from sk_deltauq._skorch.net import StackedNet
from sk_deltauq._skorch.rows import AnchoredBatches, TrainingRows
from sk_deltauq._threads import one_thread

# What `net_params` must leave alone, and what it is set by.
_OURS = {
    "module": "set by the parameter module",
    "criterion": "set by the parameter noise, or by the classes",
    "device": "set by the parameter device",
    "batch_size": "set by the parameter batch_size",
    "verbose": "set by the parameter verbose",
    "max_epochs": "set by the parameter max_iter",
    "warm_start": "set by the parameter warm_start",
    "iterator_train": "what makes the mini-batches",
    "train_split": "set by early_stopping and validation_fraction",
}

# In the largest matrix product of a step: some five milliseconds on one core.
_FLOPS_WORTH_THREADS = 2e8


def batch_rows(batch_size, n_rows: int) -> int:
    """Rows in a mini-batch; "auto" is the power of two nearest the root of n, from 32 to 1024.

    Small sets need many noisy steps, large ones have steps enough and are bound by their number.
    """
    if batch_size == "auto":
        batch_size = min(max(2 ** round(math.log2(math.sqrt(n_rows))), 32), 1024)
    return min(batch_size, n_rows)


def _sets_step_size(net_params) -> bool:
    """Whether one of the callbacks, alone or with its name, is a schedule of the step size."""
    callbacks = net_params.get("callbacks") or []
    if not isinstance(callbacks, list | tuple):
        return False  # skorch's words for "none"
    bare = [callback[-1] if isinstance(callback, tuple) else callback for callback in callbacks]
    return any(c is LRScheduler or isinstance(c, LRScheduler) for c in bare)


@dataclass(frozen=True)
class Training:
    """How to train, read once from an estimator's parameters.

    Attributes
    ----------
    n_members : int
        Each has its own random numbers and, with early stopping, its own fold.
    copies : int
        How many networks are trained for each member. They have its random numbers and fold in
        common, so that a member can be trained in several ways to see which is best: in one
        stack, for four small networks take little longer than one. `keep_members` of the net and
        of the monitor drops the others.
    n_folds : int
        Each member leaves out one of so many folds, and stops early by it; 0 for no hold-out.
    max_iter : int
        Most epochs.
    warn : bool
        Whether running into `max_iter` is worth a warning.
    net_class : type
        The net, or a subclass with another training step.
    batches : callable
        `batches(rows, batch_size)` iterates over the mini-batches of an epoch.
    """

    n_members: int
    seed: int
    n_folds: int
    max_iter: int
    warn: bool
    batch_size: int | str
    learning_rate: str
    learning_rate_init: float
    averaging: int
    alpha: float
    tol: float
    n_iter_no_change: int
    device: str
    net_params: dict
    verbose: bool
    name: str
    net_class: type[StackedNet] = StackedNet
    batches: Callable = AnchoredBatches
    copies: int = 1

    @property
    def members(self) -> list[int]:
        """Which member each network of the stack is."""
        return [member for member in range(self.n_members) for _ in range(self.copies)]

    def rows(self, x, y, weights, *, labels=None, call: int = 0) -> TrainingRows:
        """Put the data on the device and deal out the rows.

        `call` gives each call another order of the rows; who holds out which stays the same.
        """
        n_rows = len(x)
        if self.n_folds:
            rng = numpy_rng(self.seed, Stream.FOLDS)
            train, held_out = deal_folds(rng, n_rows, self.n_folds, self.n_members, labels)
        else:
            train = np.tile(np.arange(n_rows), (self.n_members, 1))
            held_out = np.empty((self.n_members, 0), dtype=np.int64)
        return TrainingRows(
            x=x.to(self.device),
            y=y.to(self.device),
            weights=(weights / weights.mean()).to(self.device),
            train=torch.from_numpy(train[self.members]).to(self.device),
            held_out=torch.from_numpy(held_out[self.members]).to(self.device),
            generators=torch_generators(self.seed, Stream.BATCHES, self.members, call),
        )

    def new_net(self, module, head, n_rows: int) -> StackedNet:
        """A net ready to train: fused Adam unless `net_params` names another optimizer."""
        batch_size = batch_rows(self.batch_size, n_rows)
        params = {
            "optimizer": torch.optim.Adam,
            "optimizer__fused": True,
            "lr": self.learning_rate_init,
            "max_epochs": self.max_iter,
            "batch_size": batch_size,
            "iterator_train": self.batches,
            "device": self.device,
            "verbose": 0,
        }
        if self.alpha > 0:
            # As in MLPRegressor the penalty is alpha / 2 a mini-batch, on weights, not on biases.
            params["optimizer__weight_decay"] = self.alpha / batch_size
            params["optimizer__param_groups"] = [
                (pattern, {"weight_decay": 0.0}) for pattern in ("*bias", "*noise", "*frequencies")
            ]
        if "optimizer" in self.net_params:
            del params["optimizer__fused"]  # not every optimizer has it
        taken = sorted(_OURS.keys() & self.net_params)
        if taken:
            raise ValueError(
                f"net_params must not hold {', '.join(taken)}: "
                + " ".join(f"{name!r} is {_OURS[name]}." for name in taken)
            )
        if self.learning_rate != "constant" and _sets_step_size(self.net_params):
            raise ValueError(
                "net_params holds a schedule of the step size, and so does learning_rate="
                f"{self.learning_rate!r}. Set learning_rate='constant' to have yours alone."
            )
        # skorch keeps the callbacks that it is given, and they keep state: copies, not the user's.
        params.update(copy.deepcopy(self.net_params))
        try:
            return self.net_class(module, head, **params).initialize()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"skorch or the optimizer refuses net_params={self.net_params!r} with alpha="
                f"{self.alpha} (which sets the optimizer's weight_decay where it is not zero): "
                f"{error}"
            ) from error

    def update(self, net: StackedNet, n_rows: int) -> StackedNet:
        """Let a net that goes on take today's batch size and, if it changed, step size."""
        net.batch_size = batch_rows(self.batch_size, n_rows)
        if "lr" not in self.net_params and net.lr != self.learning_rate_init:
            net.set_params(lr=self.learning_rate_init)  # of the optimizer too
        return net

    def run(self, net: StackedNet, rows: TrainingRows, *, resumed: bool = False):
        """Train the net; best weights restored. Returns the monitor, with its scores.

        A net that goes on from a fit does not end with weights worse than those it came with.
        """
        stopping = {"patience": self.n_iter_no_change, "tol": self.tol}
        if self.n_folds:
            monitor = HeldOutMonitor(rows, **stopping)
        else:
            monitor = TrainingLossMonitor(**stopping)
        bar = tqdm(total=self.max_iter, desc=self.name, unit="epoch", disable=not self.verbose)
        flops = 2 * len(self.members) * net.batch_size * net.module_.width**2
        with bar, one_thread() if flops < _FLOPS_WORTH_THREADS else contextlib.nullcontext():
            if resumed:
                monitor.start_from(net)
            stopped = net.train(
                rows,
                n_epochs=self.max_iter,
                decay=self.learning_rate == "invscaling",
                averaged_epochs=self.averaging,
                monitor=monitor,
                progress=bar,
            )
        monitor.restore(net)
        if self.warn and not stopped:
            warnings.warn(
                f"{self.name} reached max_iter={self.max_iter} before its "
                f"{'held-out score' if self.n_folds else 'training loss'} stopped improving. "
                "Increase max_iter, or raise tol or lower n_iter_no_change.",
                ConvergenceWarning,
                stacklevel=7,
            )
        return monitor
