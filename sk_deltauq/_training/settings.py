"""What a fit is given: the rows, the kind of call, and the training parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class FitData:
    """Checked training rows; rows of weight zero are dropped.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows in the units of the user.
    x, y, weights : torch.Tensor
        Float32: scaled rows `(row, feature)`, encoded targets `(row, target)`, weights `(row,)`.
    labels : ndarray of shape (n_samples,) or None
        Class numbers, for a classifier.
    """

    X: np.ndarray
    x: torch.Tensor
    y: torch.Tensor
    weights: torch.Tensor
    labels: np.ndarray | None


@dataclass(frozen=True)
class FitPlan:
    """The kind of fit.

    Attributes
    ----------
    resume : bool
        Continue from the fitted net, its scales and its classes.
    partial : bool
        `partial_fit`: one epoch, and more rows may come.
    classes : array-like or None
        All classes that will ever come, if the caller names them.
    """

    resume: bool
    partial: bool = False
    classes: Any = None


@dataclass(frozen=True)
class TrainingSettings:
    """How to train, read once from the parameters of an estimator.

    Attributes
    ----------
    n_members : int
        Each member has its own random numbers and, with early stopping, its own fold.
    n_folds : int
        Each member holds out one of this many folds, and stops early by it; 0 for no hold-out.
    max_iter : int
        Largest number of epochs.
    warn : bool
        Whether to warn if training reaches `max_iter`.
    name : str
        Name of the estimator, for messages.
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
    early_stopping: bool | str
    device: str
    net_params: dict
    verbose: bool
    name: str
