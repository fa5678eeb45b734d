"""The training parameters of a network, read once from an estimator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSettings:
    """How to train."""

    n_members: int
    max_iter: int
    batch_size: int | str
    learning_rate: str
    learning_rate_init: float
    averaging: int
    alpha: float
    tol: float
    n_iter_no_change: int
    early_stopping: bool | str
    validation_fraction: float
    ends_on_all_rows: bool  # train on the held-out rows too, once they have told what they can
    partial: bool  # a call of `partial_fit`: one epoch, no hold-out, no warning
    device: str
    net_params: dict
    verbose: bool
    name: str  # of the estimator, for messages
    max_time: float | None = None  # seconds of training in `fit`
