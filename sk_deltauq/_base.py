"""What every estimator of the package does: check, scale, train, and predict chunk by chunk.

A method is two hooks. `_fit_model` trains on scaled float32 tensors; `_components` maps scaled
rows to the parameters of all components and is differentiable. What is public is computed from
these, in `_regression.py` and `_classification.py`; what methods with a skorch net share is in
`_network.py`.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._random import draw_seed
from sk_deltauq._threads import map_in_threads, one_thread
from sk_deltauq._validation import (
    check_still_constant,
    check_table,
    check_weights,
    fit_input_scaler,
    scale_weights,
    scaled_tensor,
)

# Floats in the widest layer of one chunk: few enough for the cache of a core and many enough for
# the calls not to count; on a GPU enough to keep it busy.
_CHUNK_FLOATS = {"cpu": 2**20, "cuda": 2**26}


@dataclass(frozen=True)
class FitData:
    """Training rows as a method gets them; rows of weight zero are gone.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        As they came.
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
    """Which of the ways to fit this is.

    Attributes
    ----------
    resume : bool
        Go on from the fitted net, its scales and classes.
    partial : bool
        `partial_fit`: one epoch, and more rows may come.
    classes : array-like or None
        All classes that will ever come, if the caller says so.
    """

    resume: bool
    partial: bool = False
    classes: object = None


class BaseUQ(BaseEstimator, metaclass=ABCMeta):
    """Common part of all estimators; not to be used by itself."""

    # The hooks of a method

    @abstractmethod
    def _set_up(self, data: FitData, plan: FitPlan):
        """What `_fit_model` needs; here every mistake in a parameter must come to light."""

    @abstractmethod
    def _fit_model(self, data: FitData, set_up, plan: FitPlan):
        """Train, and set the fitted attributes, `n_components_` among them."""

    @abstractmethod
    def _components(self, x: torch.Tensor):
        """Parameters of all components, `(component, sample, ...)`, of rows `(row, feature)`.

        The rows are scaled; the result is differentiable in them.
        """

    @abstractmethod
    def _width(self) -> int:
        """Floats that `_components` holds at a time, per row and component."""

    def _prediction_device(self) -> str:
        """Torch device that `_components` wants its rows on."""
        return "cpu"

    # The hook of a kind, regressor or classifier

    @abstractmethod
    def _encode_target(self, y, weights, plan: FitPlan):
        """Learn the scale or the classes of the target, and encode it.

        Returns the encoded targets `(row, target)`, the final weights, and the class numbers of
        the rows or None.
        """

    # Fit

    def _fit(self, X, y, sample_weight):
        """What `fit` does in every estimator."""
        warm = getattr(self, "warm_start", False)  # not every method can go on from a fit
        plan = FitPlan(resume=warm and self.__sklearn_is_fitted__())
        return self._fit_as_planned(X, y, sample_weight, plan)

    def _partial_fit(self, X, y, sample_weight, classes=None):
        """What `partial_fit` does in every estimator."""
        plan = FitPlan(resume=self.__sklearn_is_fitted__(), partial=True, classes=classes)
        return self._fit_as_planned(X, y, sample_weight, plan)

    def _fit_as_planned(self, X, y, sample_weight, plan):
        """Check everything, then train; an error leaves no half-fitted estimator behind.

        A mistake in the parameters or the data leaves the estimator as it was. A failure during
        training, Ctrl-C included, leaves it unfitted, or as it was if it went on from a fit.
        """
        self._validate_params()
        before = vars(self).copy()
        parameters = {name: value for name, value in before.items() if not name.endswith("_")}
        with _gradients(), _state_on_error(self, before):
            if not plan.resume:
                _set_state(self, parameters)
            data = self._prepare(X, y, sample_weight, plan)
            set_up = self._set_up(data, plan)
        with _gradients(), _state_on_error(self, before if plan.resume else parameters):
            self._fit_model(data, set_up, plan)
        return self

    def _prepare(self, X, y, sample_weight, plan) -> FitData:
        """Check the data, drop rows without weight, fit the scalers, and encode."""
        X, y = check_table(self, X, y, reset=not plan.resume, **self._target_checks)
        weights = check_weights(sample_weight, X)
        X, y, weights = _with_weight(weights, X, y, weights)
        targets, weights, labels = self._encode_target(y, weights, plan)
        # Class weights are in them now; one of zero is as good as a sample weight of zero.
        weights = scale_weights(weights)
        X, targets, weights, labels = _with_weight(weights, X, targets, weights, labels)
        if plan.resume:
            check_still_constant(X, self.x_scaler_, "X")
        else:
            self.x_scaler_ = fit_input_scaler(X, weights, more_to_come=plan.partial)
            self.seed_ = draw_seed(self.random_state)
        return FitData(
            X=X,
            x=scaled_tensor(X, self.x_scaler_),
            y=targets,
            weights=torch.from_numpy(weights.astype(np.float32)),
            labels=labels,
        )

    # Predict

    def _check_rows(self, X):
        """Rows to predict, checked."""
        check_is_fitted(self)
        return check_table(self, X, reset=False)

    def _map_rows(self, X, function):
        """Scale the rows and apply `function`, chunk by chunk.

        Every chunk has the same number of rows, the last one padded, and one thread, so a row
        meets the same matrix products wherever it stands and gets the same answer, to the last
        bit, whatever other rows come with it and however many threads share the chunks. Memory
        is bounded by the chunk.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Checked rows.
        function : callable
            Maps scaled rows `(row, feature)`, such as `_components` takes, to tensors with the
            rows first.

        Returns
        -------
        tuple of ndarray
            Float64, samples first.
        """
        device = self._prediction_device()
        n_rows = self._chunk_rows(device)
        on_cpu = torch.device(device).type == "cpu"

        def of_chunk(rows):
            x = scaled_tensor(X[rows], self.x_scaler_, n_rows=n_rows).to(device)
            with torch.inference_mode():
                parts = function(x)
            return [part[: rows.stop - rows.start].cpu().numpy() for part in parts]

        chunks = list(gen_batches(len(X), n_rows))
        n_threads = torch.get_num_threads() if on_cpu else 1
        with one_thread():
            first = of_chunk(chunks[0])
            results = tuple(np.empty((len(X), *part.shape[1:])) for part in first)
            for rows, parts in zip(
                chunks,
                chain([first], map_in_threads(of_chunk, chunks[1:], n_threads)),
                strict=True,
            ):
                for result, part in zip(results, parts, strict=True):
                    result[rows] = part
        return results

    def _chunk_rows(self, device) -> int:
        """Rows in a chunk: a power of two from 16 on."""
        floats = _CHUNK_FLOATS["cpu" if torch.device(device).type == "cpu" else "cuda"]
        per_row = self.n_components_ * self._width()
        return 2 ** min(max(int(math.log2(max(floats // per_row, 1))), 4), 16)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_components_")


@contextlib.contextmanager
def _gradients():
    """Training needs gradients, whatever mode the caller is in."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


@contextlib.contextmanager
def _state_on_error(estimator, state: dict):
    """Leave the estimator with `state` as its attributes if the block fails, Ctrl-C included."""
    try:
        yield
    except BaseException:
        _set_state(estimator, state)
        raise


def _set_state(estimator, state: dict) -> None:
    vars(estimator).clear()
    vars(estimator).update(state)


def _with_weight(weights: np.ndarray, *arrays):
    """The rows of each array whose weight is positive (arrays that are None stay None)."""
    present = weights > 0
    if present.all():
        return arrays
    return tuple(
        None if a is None else a[torch.from_numpy(present) if torch.is_tensor(a) else present]
        for a in arrays
    )
