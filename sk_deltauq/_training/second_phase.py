"""Training after early stopping, on all rows: of the means alone, or of the whole networks.

Held-out rows choose the epoch for the variance: a network that trains on soon claims errors that
are too small. Its means go on improving for a long time, and gain from the held-out rows.
Without a variance (`noise=None`), the whole network trains on.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace

import numpy as np
import torch

from sk_deltauq._networks.mlp import Network
from sk_deltauq._training.budget import Budget
from sk_deltauq._training.method import Method
from sk_deltauq._training.net import StackedNet, scale_step_size
from sk_deltauq._training.rows import TrainingRows
from sk_deltauq._training.settings import TrainingSettings

# Step size of the refinement, relative to the step size of the epoch that early stopping chose.
_STEP_SHARE = 0.7

# No refinement if the squared error of held-out rows rose by more than this factor between the
# epoch that early stopping chose and the last one: the means overfit. The refinement has smaller
# steps and more rows, so it still helped on a set with a factor of 1.2, and harmed with 1.5.
ERROR_LIMIT = 1.25


def refine_means(
    net: StackedNet,
    rows: TrainingRows,
    method: Method,
    settings: TrainingSettings,
    budget: Budget,
    scores: np.ndarray,
) -> Network | None:
    """Train a copy of the networks on; return it for the predicted means.

    `net` has the weights that early stopping chose, and stays as it is. `rows` are all training
    rows, see `take_all_rows`. `scores`, `(epoch, member)`, are the held-out scores. The result is
    None if no epoch was finished in time.
    """
    # All epochs count, also those after the end of a member's patience, which the other members
    # still needed: a better score there says that its means need more epochs. On development
    # splits of yacht and energy, it made no clear difference.
    n_best = 1 + round(float(np.argmax(scores, axis=0).mean()))
    refined = copy.deepcopy(net)
    decays = settings.learning_rate == "invscaling"
    step = _STEP_SHARE * net.lr * (scale_step_size(n_best) if decays else 1.0)
    for group in refined.optimizer_.param_groups:
        group["lr"] = step
    # The gradients that the first moments remember belong to the last epoch, not to the best one.
    # The second moments stay: without them the first steps would be as large as at the start.
    for state in refined.optimizer_.state.values():
        for name in ("exp_avg", "momentum_buffer"):
            if torch.is_tensor(state.get(name)):
                state[name].zero_()
    n_before = budget.n_epochs
    with _without_held_out_scores(refined):
        refined.train(
            rows,
            batches=method.batches(refined.module_, rows, net.batch_size),
            step=method.step,
            n_epochs=n_best,
            averaged_epochs=settings.averaging,
            budget=budget,
        )
    method.finish(refined.module_)
    return refined.module_ if budget.n_epochs > n_before else None


def train_on_all_rows(
    net: StackedNet,
    rows: TrainingRows,
    method: Method,
    settings: TrainingSettings,
    budget: Budget,
) -> None:
    """Train the networks on, for as many epochs again. `rows` are all training rows."""
    with _without_held_out_scores(net):
        net.train(
            rows,
            batches=method.batches(net.module_, rows, net.batch_size),
            step=method.step,
            n_epochs=len(net.history),
            decay=settings.learning_rate == "invscaling",
            averaged_epochs=settings.averaging,
            budget=budget,
        )


def take_all_rows(rows: TrainingRows, n_rows: int, n_networks: int) -> TrainingRows:
    """Return the rows for training without hold-out: every network trains on the first `n_rows`.

    Validation rows of the user, which follow them, stay out.
    """
    everyone = torch.arange(n_rows, device=rows.train.device)
    return replace(
        rows,
        train=everyone.repeat(n_networks, 1),
        held_out=rows.held_out[:n_networks, :0],
        held_out_weights=rows.held_out_weights[:n_networks, :0],
        # Of several variants of a network one is left.
        generators=rows.generators[:: len(rows.train) // n_networks],
    )


@contextlib.contextmanager
def _without_held_out_scores(net: StackedNet):
    """Switch callbacks off that watch a held-out score, such as skorch's `EarlyStopping`."""
    callbacks = net.callbacks_
    net.callbacks_ = [
        (name, callback)
        for name, callback in callbacks
        if not str(getattr(callback, "monitor", "")).startswith("valid_")
    ]
    try:
        yield
    finally:
        net.callbacks_ = callbacks
