"""The story of training: from parameters and rows to a trained net."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from sk_deltauq._host import Stream, numpy_rng, one_thread, torch_generators, torch_seeded
from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import EMBEDDINGS, NetworkSpec
from sk_deltauq._predictor import NetworkComponents, Predictor
from sk_deltauq._training.method import DrawContext, Method, Stack
from sk_deltauq._training.net import StackedNet, make_net, update_net
from sk_deltauq._training.rows import assign_rows, count_folds
from sk_deltauq._training.settings import FitData, FitPlan, TrainingSettings
from sk_deltauq._training.stopping import HeldOutMonitor, HoldOut, TrainingLossMonitor

# In the largest matrix product of a step: about five milliseconds on one core.
_FLOPS_WORTH_THREADS = 2e8

# Parameters that cannot change while training continues from the weights of the last fit.
_FIXED_PARAMETERS = (
    *("hidden_layer_sizes", "activation", "embedding", "n_members", "alpha", "net_params"),
    *("module", "noise"),
)


@dataclass(frozen=True)
class TrainedNet:
    """What a fit leaves behind.

    Attributes
    ----------
    net : StackedNet
    method : Method
    kept : dict
        What the method drew and keeps, by the name of the fitted attribute.
    n_calls : int
        Number of calls of `fit` and `partial_fit` that trained this net.
    fixed : dict
        Values of the parameters that cannot change while training continues.
    monitor : HeldOutMonitor or TrainingLossMonitor or None
        With the scores of the epochs of this call. None in the copy that an estimator keeps.
    hold_out : HoldOut or None
        The held-out rows, likewise; None without hold-out.
    """

    net: StackedNet
    method: Method
    kept: dict[str, Any]
    n_calls: int
    fixed: dict[str, Any]
    monitor: HeldOutMonitor | TrainingLossMonitor | None
    hold_out: HoldOut | None

    def fitted_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of an estimator, by name."""
        assert self.monitor is not None
        return {
            "net_": self.net,
            "n_components_": self.net.module_.n_components,
            "n_iter_": len(self.net.history),
            "loss_curve_": self.net.history[:, "train_loss"],
            "validation_scores_": _one_or_all_members(self.monitor.scores),
            "best_validation_score_": _one_or_all_members(self.monitor.best_scores),
            **self.kept,
            # Without the training rows, which a pickle would hold.
            "_trained_": replace(self, monitor=None, hold_out=None),
        }

    def predictor(self, x_scaler, y_scaler, std_factor: np.ndarray | None = None) -> Predictor:
        """Return what prediction needs."""
        network, head = self.net.module_, self.net.criterion_
        return Predictor(
            module=NetworkComponents(network, head),
            n_components=network.n_components,
            width=network.core.width,
            # Not the parameter `device`: skorch moves a model from a GPU to the CPU if it is
            # unpickled on a machine without GPU.
            device=self.net.device,
            x_scaler=x_scaler,
            y_scaler=y_scaler,
            ddof=self.method.ddof,
            std_factor=np.ones(1) if std_factor is None else std_factor,
            landmarks=self.kept.get("_landmarks_"),
            inflation=self.kept.get("_inflation_", 0.0),
        )


@dataclass(frozen=True)
class NetworkFit:
    """A fit that is ready to run: all parameters are checked, and the net is there.

    Attributes
    ----------
    method : Method
    settings : TrainingSettings
    data : FitData
    plan : FitPlan
    stack : Stack
    net : StackedNet
        With initial weights, or a copy of the net of the last fit.
    previous : TrainedNet or None
        The fit that this one continues.
    fixed : dict
        See `TrainedNet`.
    """

    method: Method
    settings: TrainingSettings
    data: FitData
    plan: FitPlan
    stack: Stack
    net: StackedNet
    previous: TrainedNet | None
    fixed: dict[str, Any]


def prepare_fit(
    params: Mapping[str, Any],
    method: Method,
    head: Head,
    settings: TrainingSettings,
    data: FitData,
    plan: FitPlan,
    previous: TrainedNet | None,
    embedding: str | None,
) -> NetworkFit:
    """Make the net to train. Every mistake in a parameter raises an error here.

    Parameters
    ----------
    params : mapping
        The parameters of the estimator.
    method, head, settings, data, plan
    previous : TrainedNet or None
        The fit to continue; it is not changed.
    embedding : str or None
        The key of `EMBEDDINGS` that the parameter `embedding` stands for.
    """
    n_rows = len(data.x)
    stack = method.stack(settings, n_rows, previous.kept if previous else None)
    if len(stack.variants) == 1:
        method = stack.variants[0]
    fixed = _read_fixed_parameters(params, method)
    if previous is None:
        generators = torch_generators(settings.seed, Stream.WEIGHTS, stack.weight_streams)
        spec = NetworkSpec(
            embedding=EMBEDDINGS[embedding](data.x.shape[1], generators, stack.members),
            n_outputs=head.n_network_outputs,
            hidden_layer_sizes=fixed["hidden_layer_sizes"],
            activation=params["activation"],
            generators=generators,
        )
        net = make_net(method.network(spec), head, settings, n_rows)
    else:
        _check_fixed_parameters(fixed, previous, settings, plan)
        net = _copy_net(previous.net, head, settings, n_rows, new_optimizer=not plan.partial)
    return NetworkFit(method, settings, data, plan, stack, net, previous, fixed)


def run_fit(fit: NetworkFit) -> TrainedNet:
    """Train the net, and put the best weights of each member back into it."""
    method, settings, net, stack = fit.method, fit.settings, fit.net, fit.stack
    call = fit.previous.n_calls if fit.previous else 0
    previous = fit.previous.kept if fit.previous else None

    rows = assign_rows(fit.data, settings, stack.members, call)
    context = DrawContext(
        data=fit.data,
        seed=settings.seed,
        call=call if fit.plan.partial else 0,
        n_train=rows.train.shape[1],
        device=settings.device,
        previous=previous,
        earlier=previous if fit.plan.partial else None,
    )
    kept = method.draw(net.module_, context)

    stopping = {"patience": settings.n_iter_no_change, "tol": settings.tol}
    hold_out = HoldOut(rows) if settings.n_folds else None
    if hold_out is None:
        monitor = TrainingLossMonitor(**stopping)
    else:
        monitor = HeldOutMonitor(hold_out, len(stack.members), **stopping)
    with _seeds_for_user_code(fit, call), _progress_bar(settings) as bar:
        stopped = _train(fit, rows, monitor, bar)
    if isinstance(monitor, HeldOutMonitor):
        monitor.restore(net)

    if len(stack.variants) > 1:
        method = stack.variants[_keep_best_variant(fit, monitor, hold_out)]
        kept = method.draw(net.module_, context)
    if settings.warn and not stopped:
        _warn_about_max_iter(settings)
    return TrainedNet(net, method, kept, call + 1, fit.fixed, monitor, hold_out)


def _train(fit: NetworkFit, rows, monitor, bar) -> bool:
    """Run the epochs; return whether training stopped before `max_iter`."""
    settings, net = fit.settings, fit.net
    flops = 2 * len(fit.stack.members) * net.batch_size * net.module_.core.width**2
    with one_thread() if flops < _FLOPS_WORTH_THREADS else contextlib.nullcontext():
        if fit.previous is not None and isinstance(monitor, HeldOutMonitor):
            # Training must not end with weights worse than those that it started from.
            monitor.start_from(net)
        return net.train(
            rows,
            batches=fit.method.batches(net.module_, rows, net.batch_size),
            step=fit.method.step,
            n_epochs=settings.max_iter,
            decay=settings.learning_rate == "invscaling",
            averaged_epochs=settings.averaging,
            monitor=monitor,
            progress=bar,
        )


def _keep_best_variant(fit: NetworkFit, monitor, hold_out) -> int:
    """Keep the networks of the variant with the best held-out scores, averaged over members."""
    n_variants = len(fit.stack.variants)
    best = int(monitor.best_scores.reshape(-1, n_variants).mean(axis=0).argmax())
    kept = slice(best, None, n_variants)
    for keeper in (fit.net, monitor, hold_out):
        keeper.keep_members(kept)
    return best


def _copy_net(net: StackedNet, head: Head, settings, n_rows: int, *, new_optimizer: bool):
    """Copy a fitted net to train on, so that an error does not harm the original."""
    net = copy.deepcopy(net)
    if new_optimizer:
        # A head with the current parameters, and the weights that it had.
        head.load_state_dict(net.criterion_.state_dict())
        return make_net(net.module_, head, settings, n_rows)
    net.criterion_.adopt(head)
    update_net(net, settings, n_rows)
    return net


def _read_fixed_parameters(params: Mapping[str, Any], method: Method) -> dict[str, Any]:
    names = [n for n in (*_FIXED_PARAMETERS, *method.fixed_parameters) if n in params]
    return {
        name: layer_sizes(params[name]) if name == "hidden_layer_sizes" else params[name]
        for name in names
    }


def _check_fixed_parameters(now: dict, previous: TrainedNet, settings, plan: FitPlan) -> None:
    """Raise an error if training cannot continue with the current parameters."""
    then = previous.fixed
    if not plan.partial:  # a new optimizer takes the current values
        then = {**then, **{name: now[name] for name in ("alpha", "net_params") if name in now}}
    changed = [name for name in now if now[name] is not then[name] and now[name] != then[name]]
    if changed:
        raise ValueError(
            f"Training cannot continue from the last fit with another {', '.join(changed)}. Set "
            "it back, or start afresh: fit with warm_start=False."
        )
    if plan.partial and settings.device != previous.net.device:
        raise ValueError(
            f"partial_fit cannot move to device={settings.device!r}: the net is on "
            f"{previous.net.device!r}. Set device back, or start afresh with fit."
        )


def read_settings(
    params: Mapping[str, Any], name: str, seed: int, data: FitData, plan: FitPlan
) -> TrainingSettings:
    """Read the training settings from the parameters of an estimator."""
    n_folds = count_folds(
        params["early_stopping"],
        len(data.X),
        params["n_members"],
        params["validation_fraction"],
        n_classes=0 if data.labels is None else len(np.unique(data.labels)),
        partial=plan.partial,
    )
    copied = ("n_members", "batch_size", "learning_rate", "learning_rate_init", "tol")
    copied += ("n_iter_no_change", "early_stopping")
    return TrainingSettings(
        **{key: params[key] for key in copied},
        seed=seed,
        n_folds=n_folds,
        max_iter=1 if plan.partial else params["max_iter"],
        warn=not plan.partial,
        averaging=1 if plan.partial else params["averaging"],
        # A variational network has a prior in place of a penalty.
        alpha=params.get("alpha", 0.0),
        device=_check_device(params["device"]),
        net_params=dict(params["net_params"] or {}),
        verbose=bool(params["verbose"]),
        name=name,
    )


def _one_or_all_members(scores):
    """Return scores with the members last; without that axis for one member."""
    if scores is None:
        return None
    scores = np.asarray(scores)
    if scores.shape[-1] > 1:
        return scores
    return scores[..., 0] if scores.ndim > 1 else float(scores[0])


def layer_sizes(sizes) -> tuple[int, ...]:
    """Return `hidden_layer_sizes` as a tuple of positive ints."""
    sizes = np.atleast_1d(np.asarray(sizes))
    if sizes.ndim != 1 or (len(sizes) and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise ValueError(
            "hidden_layer_sizes must be a positive int or a sequence of them, got "
            f"{sizes.tolist()}."
        )
    return tuple(int(size) for size in sizes)


def _check_device(device: str) -> str:
    """Raise an error for a device that torch does not know, or that this machine lacks."""
    try:
        torch.zeros(1, device=device, dtype=torch.float64).item()  # moments are summed in float64
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must name a device that torch can use here, such as 'cpu' or 'cuda', got "
            f"{device!r}: {error}"
        ) from error
    return device


def _seeds_for_user_code(fit: NetworkFit, call: int):
    """Seed torch's global generators if code of the user runs in training; ours never uses them."""
    if fit.fixed.get("module") is None and "callbacks" not in fit.settings.net_params:
        return contextlib.nullcontext()
    seed = int(numpy_rng(fit.settings.seed, Stream.MODULE, call).integers(2**63))
    return torch_seeded(seed, fit.settings.device)


def _progress_bar(settings: TrainingSettings):
    return tqdm(
        total=settings.max_iter, desc=settings.name, unit="epoch", disable=not settings.verbose
    )


def _warn_about_max_iter(settings: TrainingSettings) -> None:
    criterion = "held-out score" if settings.n_folds else "training loss"
    warnings.warn(
        f"{settings.name} reached max_iter={settings.max_iter} before its {criterion} stopped "
        "improving. Increase max_iter, or raise tol or lower n_iter_no_change.",
        ConvergenceWarning,
        stacklevel=8,
    )
