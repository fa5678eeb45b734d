"""The training parameters of a network, read once from an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from sk_deltauq._validation import FitPlan


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
    ends_on_all_rows: bool  # train on the held-out rows too, after early stopping and calibration
    refines_mean: bool  # train on for the means, after early stopping
    partial: bool  # a call of `partial_fit`: one epoch, no hold-out, no warning
    device: str
    net_params: dict
    verbose: bool
    name: str  # of the estimator, for messages
    max_time: float | None = None  # seconds of training in `fit`


def read_settings(params: Mapping[str, Any], name: str, plan: FitPlan) -> TrainingSettings:
    """Read the training settings from the parameters of an estimator."""
    copied = ("n_members", "batch_size", "learning_rate", "learning_rate_init", "tol")
    copied += ("n_iter_no_change", "early_stopping", "validation_fraction")
    return TrainingSettings(
        **{key: params[key] for key in copied},
        # Without a noise model there is no noise to fit too closely, and each row counts.
        ends_on_all_rows="noise" in params and params["noise"] is None,
        refines_mean=params.get("refine_mean", False) and params["noise"] is not None,
        partial=plan.partial,
        max_iter=1 if plan.partial else params["max_iter"],
        averaging=1 if plan.partial else params["averaging"],
        # A variational network has a prior in place of a penalty.
        alpha=params.get("alpha", 0.0),
        device=find_device(params["device"]),
        net_params=dict(params["net_params"] or {}),
        verbose=bool(params["verbose"]),
        name=name,
        max_time=params.get("max_time"),
    )


def find_device(device: str) -> str:
    """Return the name of the device; raise an error if torch cannot use it."""
    try:
        torch.zeros(1, device=device, dtype=torch.float64).item()  # moments are summed in float64
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must name a device that torch can use here, such as 'cpu' or 'cuda', got "
            f"{device!r}: {error}"
        ) from error
    return "cpu" if torch.device(device).type == "cpu" else device  # "cpu:0" is the same
