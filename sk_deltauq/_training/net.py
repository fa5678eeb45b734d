"""The one skorch net: skorch's loop, optimizer and callbacks; our rows, batches and stopping."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from skorch import NeuralNet
from skorch.callbacks import EarlyStopping, LRScheduler
from torch.optim.lr_scheduler import LambdaLR

from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import Network
from sk_deltauq._training.arrays import to_tensors
from sk_deltauq._training.budget import Budget
from sk_deltauq._training.rows import TrainingRows
from sk_deltauq._training.settings import TrainingSettings

# The number of epochs after which the step size has fallen to 1 / sqrt(2).
_EPOCHS_BEFORE_DECAY = 50

# Names that `net_params` must not hold, and the reason. Parameters of a part, such as
# `criterion__nll_beta`, count as the part.
_RESERVED = {
    "module": "set by the parameter module",
    "criterion": "set by the parameter noise, or by the classes",
    "device": "set by the parameter device",
    "batch_size": "set by the parameter batch_size",
    "verbose": "set by the parameter verbose",
    "max_epochs": "set by the parameter max_iter",
    "lr": "set by the parameter learning_rate_init",
    "optimizer__lr": "set by the parameter learning_rate_init",
    "optimizer__param_groups": "set by the parameter alpha",
    "optimizer__weight_decay": "set by the parameter alpha",
    "warm_start": "set by the parameter warm_start",
    "iterator_train": "set by the method, which makes the mini-batches",
    "train_split": "set by early_stopping and validation_fraction",
}


def scale_step_size(epoch: int) -> float:
    """Return the step size of an epoch, counted from 0, relative to the first one.

    Averages over the iterates need steps that fall more slowly than 1 / epoch (Polyak and
    Juditsky, 1992). Unlike a cosine this needs no horizon: training may stop at any epoch.
    """
    return (1 + epoch / _EPOCHS_BEFORE_DECAY) ** -0.5


class WeightAverage:
    """Exponential moving average of all values that training changes, one value per epoch.

    Large steps find flatter minima than small ones, and leave the weights scattered around them.
    The average is the centre of the scatter and better than its points (Polyak and Juditsky,
    1992; Izmailov et al., UAI 2018), so the steps need not shrink first. Weights after single
    steps are too alike to improve the mean. In the first epochs it is a plain mean, later the
    last value has the weight 1 / `n_epochs`. Buffers of a user's module are averaged too.
    """

    def __init__(self, net: StackedNet, n_epochs: int):
        # Not the buffers of the network itself, such as masks: they are large, and constant.
        modules = net.module_.core, net.criterion_
        tensors = [t for module in modules for t in module.state_dict().values()]
        # Each tensor once, because a user's module may share weights between layers, and the
        # largest tensor of each address.
        by_size = sorted((t for t in tensors if t.is_floating_point()), key=torch.numel)
        self._live = list({t.data_ptr(): t for t in by_size}.values())
        self._mean = [t.clone() for t in self._live]
        self._n_epochs, self._n_seen = n_epochs, 0

    @torch.no_grad()
    def update(self) -> None:
        """Add the current weights of the net to the average."""
        self._n_seen += 1
        share = 1 / min(self._n_seen, self._n_epochs)
        for mean, live in zip(self._mean, self._live, strict=True):
            mean.lerp_(live, share)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the average and the weights of the net."""
        for mean, live in zip(self._mean, self._live, strict=True):
            value = live.clone()
            live.copy_(mean)
            mean.copy_(value)

    @contextlib.contextmanager
    def in_place(self):
        """A context in which the net has the average as its weights."""
        self.swap()
        try:
            yield
        finally:
            self.swap()


class _StopTraining(Exception):
    """Leaves skorch's epoch loop early."""


class StackedNet(NeuralNet):
    """A `skorch.NeuralNet` that trains on `TrainingRows`.

    Three habits of skorch are switched off: it holds out a fifth of the rows, it swallows Ctrl-C,
    and it goes on training when the loss is NaN. The history keeps one record per epoch. Records
    of the mini-batches, which grow with the data, are dropped when the next epoch begins.
    """

    module_: Network
    criterion_: Head
    _step: Any
    _budget: Any  # a `Budget`, while training
    _optimizer_state: Any = None  # of a stored net, until its optimizer is made

    def __init__(self, *args, train_split: Any = None, **kwargs):
        super().__init__(*args, train_split=train_split, **kwargs)

    @property
    def _default_callbacks(self):
        return []

    def initialize(self):
        super().initialize()
        # skorch holds the module twice, as given and as trained. It is one object, until a
        # pickle writes both.
        self.module, self.criterion = type(self.module_), type(self.criterion_)
        return self

    def initialize_optimizer(self, *args, **kwargs):
        if not self._optimizer_state:
            return super().initialize_optimizer(*args, **kwargs)
        # The first optimizer of a process takes seconds to import, and a stored net may only
        # predict. What assigning the optimizer does in skorch:
        self._register_attribute("optimizer_", None)
        return self

    def __getattr__(self, name):
        if name != "optimizer_" or not self._optimizer_state:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        state, self._optimizer_state = self._optimizer_state, None
        super().initialize_optimizer()
        self.optimizer_.load_state_dict(to_tensors(state))
        return self.optimizer_

    def train(
        self,
        rows: TrainingRows,
        *,
        batches: Iterable,
        step: Callable,
        n_epochs: int,
        decay: bool = False,
        averaged_epochs: int = 1,
        monitor: Callable[[StackedNet], bool] | None = None,
        progress=None,
        budget: Budget | None = None,
    ) -> bool:
        """Run at most `n_epochs` epochs; return whether the monitor stopped training.

        `batches` yields the mini-batches of an epoch each time it is iterated, for `Method.step`.
        With `decay` the step size falls by `scale_step_size`; the epochs in the history count.
        The monitor gets the net, with the weights averaged over `averaged_epochs`, after each
        epoch. The net ends with the average; training itself continues from the last weights.
        The budget may end training early. What the unfinished epoch changed is then undone.

        Raises
        ------
        ValueError
            If the loss is no longer finite.
        """
        self._budget = budget = budget or Budget(enabled=False)
        n_records_before = len(self.history) - budget.n_epochs
        self._batches, self._step = batches, step
        self._monitor, self._progress, self._stop = monitor, progress, False
        # Also for one epoch: a copy of the weights before an epoch that is left unfinished.
        self._average = WeightAverage(self, averaged_epochs) if n_epochs > 1 else None
        self._schedule = self._make_schedule() if decay else None
        self.notify("on_train_begin", X=rows, y=None)
        try:
            with budget.watch():
                self.fit_loop(rows, epochs=n_epochs)
        except _StopTraining:
            pass
        except KeyboardInterrupt:
            if not budget.absorbs():
                raise
            del self.history[n_records_before + budget.n_epochs :]
        finally:
            average, self._average = self._average, None
            self._batches = self._step = self._monitor = self._progress = self._schedule = None
            self._budget = None
            if decay:  # training may continue later
                for group in self.optimizer_.param_groups:
                    group["lr"] = group.pop("initial_lr")
        if average is not None:
            average.swap()
        self.notify("on_train_end", X=rows, y=None)
        self._drop_batch_history()
        self.module_.eval()
        return self._stop

    def _make_schedule(self):
        n_epochs_so_far = len(self.history)
        return LambdaLR(self.optimizer_, lambda epoch: scale_step_size(n_epochs_so_far + epoch))

    def keep_members(self, members: slice) -> None:
        """Drop all other members of the module, and what the optimizer knows about them."""
        for parameter in [*self.module_.parameters(), *self.criterion_.parameters()]:
            state, n_members = self.optimizer_.state.get(parameter, {}), len(parameter)
            parameter.data = parameter.data[members].clone()
            parameter.grad = None
            for name, value in state.items():
                # Also factors of a moment, as Adafactor has them; a count of steps has no axes.
                if torch.is_tensor(value) and value.ndim and len(value) == n_members:
                    state[name] = value[members].clone()
        self.module_.core.n_members = len(range(self.module_.core.n_members)[members])

    def record_best(self, name: str) -> None:
        """Record, as skorch's own scoring does, whether the last value is the lowest so far."""
        values = self.history[:, name]
        self.history.record(name + "_best", values[-1] <= min(values))

    # Methods that skorch calls

    def get_dataset(self, X, y=None):
        return X

    def get_iterator(self, dataset, training=False):
        return self._batches

    def train_step_single(self, batch, **fit_params):
        self._budget.check()
        self._set_training(True)
        loss, outputs = self._step(self.module_, self.criterion_, batch)
        return {"loss": loss, "y_pred": outputs}

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
                # skorch's EarlyStopping asks for the end this way; elsewhere it is a Ctrl-C.
                if not isinstance(callback, EarlyStopping):
                    raise
                self._stop = True
        if self._stop or self._budget.reason:
            raise _StopTraining

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        if iterator is None:
            return
        if self.callbacks_:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
            losses = torch.tensor(self.history[-1, "batches", :, prefix + "_loss"])
        else:
            # Without callbacks nobody reads records of mini-batches, a fifth of the time.
            losses = torch.stack([step_fn(batch)["loss"].detach() for batch in iterator])
        loss = float(losses.mean()) / self.module_.core.n_members
        self.history.record(prefix + "_loss", loss)
        self.record_best(prefix + "_loss")

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        self._drop_batch_history()
        super().on_epoch_begin(net, dataset_train, dataset_valid, **kwargs)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        loss: Any = self.history[-1, "train_loss"]
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
        self._budget.end_epoch()

    def _drop_batch_history(self):
        if len(self.history):
            last: Any = self.history[-1]
            last["batches"] = []


def make_net(
    network: Network,
    head: Head,
    settings: TrainingSettings,
    batch_size: int,
    previous: StackedNet | None = None,
    optimizer_state: dict[str, Any] | None = None,
) -> StackedNet:
    """Make a net that is ready to train: fused Adam unless `net_params` names an optimizer.

    `previous` is a net with the same network that continues. `partial_fit` keeps its optimizer;
    `fit` keeps its weights only. `optimizer_state` is the state of the optimizer of a stored net.
    """
    if previous is not None and settings.partial:
        previous.criterion_.adopt(head)
        previous.batch_size = batch_size
        if previous.lr != settings.learning_rate_init:
            previous.set_params(lr=settings.learning_rate_init)  # also changes the optimizer
        return previous
    if previous is not None:
        head.load_state_dict(previous.criterion_.state_dict())
    params = {
        "optimizer": torch.optim.Adam,
        "optimizer__fused": True,
        "lr": settings.learning_rate_init,
        "max_epochs": settings.max_iter,
        "batch_size": batch_size,
        "device": settings.device,
        "verbose": 0,
    }
    if settings.alpha > 0:
        # As in MLPRegressor the penalty is alpha / 2 per mini-batch, on weights, not on biases.
        params["optimizer__weight_decay"] = settings.alpha / batch_size
        params["optimizer__param_groups"] = [
            (pattern, {"weight_decay": 0.0}) for pattern in ("*bias", "*noise", "*frequencies")
        ]
    if "optimizer" in settings.net_params:
        del params["optimizer__fused"]  # not every optimizer has it
    _check_net_params(settings)
    # skorch keeps the callbacks that it gets, and they keep state: copies, not the user's.
    params.update(copy.deepcopy(settings.net_params))
    try:
        net = StackedNet(network, head, **params)
        net._optimizer_state = optimizer_state
        return net.initialize()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"skorch or the optimizer refuses net_params={settings.net_params!r} with alpha="
            f"{settings.alpha} (which sets the optimizer's weight_decay if it is not zero): "
            f"{error}"
        ) from error


def _check_net_params(settings: TrainingSettings) -> None:
    """Raise an error if `net_params` sets what other parameters set."""
    # Without a penalty the user may pass one to the optimizer.
    free = () if settings.alpha > 0 else ("optimizer__param_groups", "optimizer__weight_decay")
    taken = {}
    for name in sorted(set(settings.net_params) - {*free}):
        for reserved in (name, name.partition("__")[0]):
            if reserved in _RESERVED:
                taken[name] = _RESERVED[reserved]
    if taken:
        raise ValueError(
            f"net_params must not hold {', '.join(taken)}: "
            + " ".join(f"{name!r} is {reason}." for name, reason in taken.items())
        )
    callbacks = settings.net_params.get("callbacks") or []
    if not isinstance(callbacks, list | tuple):
        return  # skorch's words for "none"
    bare = [callback[-1] if isinstance(callback, tuple) else callback for callback in callbacks]
    has_schedule = any(c is LRScheduler or isinstance(c, LRScheduler) for c in bare)
    if has_schedule and settings.learning_rate != "constant":
        raise ValueError(
            "net_params holds a schedule of the step size, and so does learning_rate="
            f"{settings.learning_rate!r}. Set learning_rate='constant' to use your schedule alone."
        )
