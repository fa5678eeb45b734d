"""The story of training: from parameters and rows to a trained net."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from sk_deltauq._host import (
    Stream,
    draw_seed,
    numpy_rng,
    one_thread,
    seed_torch,
    torch_generators,
)
from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._predictor import NetworkComponents
from sk_deltauq._training.budget import Budget
from sk_deltauq._training.corruption import corrupt_batches
from sk_deltauq._training.folds import (
    identify_hold_out,
    plan_hold_out,
    warn_about_hold_out,
    warn_about_resuming,
)
from sk_deltauq._training.held_out import HoldOut, make_monitor
from sk_deltauq._training.method import DrawContext, Method
from sk_deltauq._training.net import StackedNet, make_net
from sk_deltauq._training.rows import (
    TrainingRows,
    assign_rows,
    resolve_batch_size,
)
from sk_deltauq._training.second_phase import (
    ERROR_LIMIT,
    refine_means,
    take_all_rows,
    train_on_all_rows,
)
from sk_deltauq._training.settings import TrainingSettings, find_device, read_settings
from sk_deltauq._training.trained_net import TrainedNet
from sk_deltauq._validation import FitData, FitPlan
from sk_deltauq._warnings import warn_caller

# Operations in the largest matrix product of a step: about five milliseconds on one core.
_FLOPS_WORTH_THREADS = 2e8

# Parameters that cannot change while training continues from the weights of the last fit.
_FIXED_PARAMETERS = (
    *("hidden_layer_sizes", "activation", "embedding", "n_members", "alpha", "net_params"),
    *("module", "noise"),
)
# Their values in files that were written before the parameter was there.
_FIXED_BEFORE = {"anchors": "random", "neighbor_search": "exact"}


Calibration = Callable[[StackedNet, HoldOut | None, bool], dict[str, Any]]


@dataclass(frozen=True)
class NetworkFit:
    """A fit that is ready to run: all parameters are checked, and the net is there."""

    settings: TrainingSettings
    rows: TrainingRows
    batches: Iterable  # yields the mini-batches of an epoch each time it is iterated
    context: DrawContext
    start: TrainedNet  # with initial weights, or the weights of the last fit


def prepare_fit(
    params: Mapping[str, Any],
    name: str,
    method: Method,
    make_head: Callable[[int], Head],
    embedding: str | None,
    data: FitData,
    plan: FitPlan,
    previous: TrainedNet | None,
) -> NetworkFit:
    """Assign the rows, and make the net to train. Every mistake in a parameter fails here.

    `params` and `name` are the parameters and the name of the estimator. `make_head(n_networks)`
    makes the head, and `embedding` is a key of `EMBEDDINGS`. `previous` is the fit to continue; it
    is not changed.
    """
    fixed = _read_fixed(params, method, previous, plan)
    settings = read_settings(params, name, plan)
    seed = previous.seed if previous else draw_seed(params["random_state"])
    call, kept = (previous.n_calls, previous.kept) if previous else (0, None)
    hold_out = _plan_hold_out(settings, data, previous)
    members = [m for m in range(hold_out.n_networks) for _ in method.variants or [method]]
    head = make_head(len(members))

    rng = numpy_rng(seed, Stream.FOLDS)
    generators = torch_generators(seed, Stream.BATCHES, members, call)
    rows = assign_rows(data, settings, hold_out, members, rng, generators)
    held_out = identify_hold_out(data, rows.n_units)
    _warn_about_rows(settings, plan, data, rows.n_units, previous, held_out)
    batch_size = resolve_batch_size(settings.batch_size, len(data.x))
    context = DrawContext(
        data=data,
        rows=rows,
        seed=seed,
        call=call if plan.partial else 0,
        settings=settings,
        previous=kept,
        earlier=kept if plan.partial else None,
    )
    if previous is not None:  # a copy: an error during training must not harm the fitted net
        net, spec = copy.deepcopy(previous.net), previous.spec
        network = net.module_
    else:
        spec = NetworkSpec(
            n_features=data.x.shape[1],
            n_outputs=head.n_network_outputs,
            hidden_layer_sizes=fixed["hidden_layer_sizes"],
            activation=params["activation"],
            embedding=embedding,
            members=members,
            generators=[],
            n_targets=data.y.shape[1],
        )
        net, network = None, _make_network(method, spec, seed)
    kept = method.draw(network, context)
    batches = corrupt_batches(method.batches(network, rows, batch_size), params)
    net = make_net(network, head, settings, batch_size, previous=net)
    start = TrainedNet(net, method, kept, seed, call, fixed, spec, settings, held_out=held_out)
    return NetworkFit(settings, rows, batches, context, start)


def _warn_about_rows(
    settings: TrainingSettings,
    plan: FitPlan,
    data: FitData,
    n_units: int,
    previous: TrainedNet | None,
    held_out: str | None,
) -> None:
    """Warn if the hold-out has too few rows or groups, or rows that trained before."""
    if previous is not None:
        ended_on_all_rows = previous.settings.ends_on_all_rows
        warn_about_resuming(settings.name, plan, previous.held_out, held_out, ended_on_all_rows)
    if previous is None or not plan.partial:
        warn_about_hold_out(
            settings.name, n_units, data, settings.early_stopping, partial=plan.partial
        )


def _make_network(method: Method, spec: NetworkSpec, seed: int) -> Network:
    """Make the network of a method with random initial weights."""
    members = list(spec.members)
    streams = [0] * len(members) if method.shares_initial_weights else members
    return method.network(
        replace(spec, generators=torch_generators(seed, Stream.WEIGHTS, streams))
    )


def _plan_hold_out(settings: TrainingSettings, data: FitData, previous: TrainedNet | None):
    """Plan folds and networks; a fit that continues keeps its networks."""
    hold_out = plan_hold_out(
        settings.early_stopping,
        data,
        settings.n_members,
        settings.validation_fraction,
        partial=settings.partial,
    )
    if previous:
        hold_out = replace(hold_out, n_networks=previous.net.module_.core.n_members)
    return hold_out


def run_fit(fit: NetworkFit, calibrate: Calibration) -> dict[str, Any]:
    """Train the net, put the best weights of each member back, and calibrate.

    `calibrate(net, hold_out, trains_on)` returns further fitted attributes. `hold_out` is None
    without hold-out. If `trains_on`, the networks train on the held-out rows afterwards. All
    fitted attributes are returned, by name.
    """
    settings, start, net = fit.settings, fit.start, fit.start.net
    hold_out, monitor = make_monitor(fit.rows, settings)
    budget = Budget(settings.max_time, enabled=not settings.partial)
    stopped, rise = _train_to_the_best(fit, hold_out, monitor, budget)
    method, kept = start.method, start.kept
    if len(method.variants) > 1:
        method, kept_members = _keep_best_variant(net, method, monitor, hold_out)
        kept = method.draw(net.module_, fit.context)
        rise = None if rise is None else rise[:, kept_members]
    # Before calibration: conformity scores need the inflation that predictions have.
    _weigh_inflation(net, fit, kept)
    trains_on = settings.ends_on_all_rows and fit.context.data.validation is None
    trains_on = trains_on and hold_out is not None and not budget.reason
    with _host_of_training(fit):
        found = {**monitor.summarise(), **calibrate(net, hold_out, trains_on)}
    rows = take_all_rows(fit.rows, len(fit.context.data.x), net.module_.core.n_members)
    if trains_on:
        with _host_of_training(fit):
            train_on_all_rows(net, rows, method, settings, budget)
        _weigh_inflation(net, fit, kept)
    method.finish(net.module_)
    refined = None
    # The means overfit if their errors rose too much between the best epoch and the last one.
    if rise is not None and rise[1].mean() <= ERROR_LIMIT * rise[0].mean():
        scores = found["validation_scores_"].reshape(-1, net.module_.core.n_members)
        with _host_of_training(fit):
            refined = refine_means(net, rows, method, settings, budget, scores)
    _warn_if_unfinished(
        settings, budget, stopped, "held-out score" if hold_out else "training loss"
    )
    trained = replace(start, method=method, kept=kept, n_calls=start.n_calls + 1, refined=refined)
    return {
        "seed_": start.seed,
        "n_networks_": net.module_.core.n_members,
        "n_components_": net.module_.n_components,
        "n_iter_": len(net.history),
        "loss_curve_": net.history[:, "train_loss"],
        **found,
        **kept,
        "_trained_": trained,
    }


def _train_to_the_best(
    fit: NetworkFit, hold_out: HoldOut | None, monitor, budget: Budget
) -> tuple[bool, np.ndarray | None]:
    """Train the net, and put the best weights of each member back.

    Returns whether the monitor stopped training, and what `_restore_best_weights` returns.
    """
    settings, net = fit.settings, fit.start.net
    bar = tqdm(
        total=settings.max_iter, desc=settings.name, unit="epoch", disable=not settings.verbose
    )
    with bar, _host_of_training(fit):
        if fit.start.n_calls:
            # Training must not end with weights worse than those that it started from.
            monitor.start_from(net)
        stopped = net.train(
            fit.rows,
            batches=fit.batches,
            step=fit.start.method.step,
            n_epochs=settings.max_iter,
            decay=settings.learning_rate == "invscaling",
            averaged_epochs=settings.averaging,
            monitor=monitor,
            progress=bar,
            budget=budget,
        )
    with _host_of_training(fit):
        return stopped, _restore_best_weights(net, hold_out, monitor, settings, budget)


def _restore_best_weights(
    net, hold_out: HoldOut | None, monitor, settings, budget
) -> np.ndarray | None:
    """Put the best weights back.

    If the means are to be refined, return their held-out errors at the best and at the last epoch,
    `(2, member)`.
    """
    if hold_out is None or not settings.refines_mean or budget.reason:
        monitor.restore(net)
        return None
    last = hold_out.measure_errors(net)
    monitor.restore(net)
    return np.stack([hold_out.measure_errors(net), last])


def _weigh_inflation(net: StackedNet, fit: NetworkFit, kept: dict[str, Any]) -> None:
    """Set the feature weights of the distance from their effects on the predicted mean."""
    inflation = kept.get("_inflation_")
    if inflation is not None and inflation.awaits_effects:
        network = net.module_.eval()
        components = NetworkComponents(network, net.criterion_)
        floats_per_row = network.n_components * network.core.width
        with _host_of_training(fit):
            inflation.measure_effects(components, floats_per_row, fit.settings.device)


def _warn_if_unfinished(
    settings: TrainingSettings, budget: Budget, stopped: bool, criterion: str
) -> None:
    """Warn if training ended before it converged."""
    if budget.reason:
        warn_caller(budget.explain(settings.name), ConvergenceWarning)
    elif not stopped and not settings.partial:
        warn_caller(
            f"{settings.name} reached max_iter={settings.max_iter} before its {criterion} "
            "stopped improving. Increase max_iter, or raise tol or lower n_iter_no_change.",
            ConvergenceWarning,
        )


def _keep_best_variant(net: StackedNet, method: Method, monitor, hold_out) -> tuple[Method, slice]:
    """Keep the networks of the variant with the best held-out scores, averaged over members.

    Returns the variant, and which members it has.
    """
    n_variants = len(method.variants)
    best = int(monitor.best_scores.reshape(-1, n_variants).mean(axis=0).argmax())
    members = slice(best, None, n_variants)
    for keeper in (net, monitor, hold_out):
        keeper.keep_members(members)
    return method.variants[best], members


def _read_fixed(
    params: Mapping[str, Any], method: Method, previous: TrainedNet | None, plan: FitPlan
) -> dict[str, Any]:
    """Read the fixed parameters; raise an error if training cannot continue with them."""
    names = [n for n in (*_FIXED_PARAMETERS, *method.fixed_parameters) if n in params]
    now = {name: params[name] for name in names}
    now["hidden_layer_sizes"] = read_layer_sizes(params["hidden_layer_sizes"])
    if previous is None:
        return now
    then = {**_FIXED_BEFORE, **previous.fixed}
    if not plan.partial:  # a new optimizer takes the current values
        then = {**then, **{name: now[name] for name in ("alpha", "net_params") if name in now}}
    # Random anchors have no n_neighbors, so the two fits may have different names.
    changed = [n for n in now if n in then and now[n] is not then[n] and now[n] != then[n]]
    if changed:
        before = ", ".join(f"{name} (it was {then[name]!r})" for name in changed)
        raise ValueError(
            f"Training cannot continue from the last fit with another {before}. Set it back, or "
            "start afresh: fit with warm_start=False."
        )
    if plan.partial and find_device(params["device"]) != previous.net.device:
        raise ValueError(
            f"partial_fit cannot move to device={params['device']!r}: the net is on "
            f"{previous.net.device!r}. Set device back, or start afresh with fit."
        )
    return now


def read_layer_sizes(sizes) -> tuple[int, ...]:
    """Return `hidden_layer_sizes` as a tuple of positive ints."""
    sizes = np.atleast_1d(np.asarray(sizes))
    if sizes.ndim != 1 or (len(sizes) and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise ValueError(
            "hidden_layer_sizes must be a positive int or a sequence of them, got "
            f"{sizes.tolist()}."
        )
    return tuple(int(size) for size in sizes)


@contextlib.contextmanager
def _host_of_training(fit: NetworkFit):
    """One thread if more do not pay, and seeded global generators if the user's code runs."""
    start, settings = fit.start, fit.settings
    flops = 2 * len(fit.rows.train) * start.net.batch_size * start.net.module_.core.width**2
    with contextlib.ExitStack() as stack:
        if start.fixed.get("module") is not None or "callbacks" in settings.net_params:
            seed = int(numpy_rng(start.seed, Stream.MODULE, start.n_calls).integers(2**63))
            stack.enter_context(seed_torch(seed, settings.device))
        if flops < _FLOPS_WORTH_THREADS:
            stack.enter_context(one_thread())
        yield
