"""What every estimator of the package does: check, scale, train, and restore after an error.

A kind of estimator encodes its targets (`regressor.py`, `classifier.py`). A method trains, and
returns the fitted attributes. Everything public is computed from a `Predictor`.
"""

from __future__ import annotations

import contextlib
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._host import draw_seed, gradients_enabled
from sk_deltauq._predictor import Predictor
from sk_deltauq._training.settings import FitData, FitPlan
from sk_deltauq._validation import (
    check_still_constant,
    check_table,
    check_weights,
    fit_input_scaler,
    scale_to_tensor,
    scale_weights,
)


class BaseUQ(BaseEstimator, metaclass=ABCMeta):
    """The common part of all estimators."""

    # Arguments of scikit-learn's `validate_data` for the targets.
    _target_checks: ClassVar[dict[str, Any]] = {}

    random_state: Any

    @abstractmethod
    def _encode_target(self, y, weights, plan: FitPlan):
        """Fit the scale or the classes of the target, and encode it.

        Returns the encoded targets `(row, target)`, the final weights, and the class numbers of
        the rows or None.
        """

    @abstractmethod
    def _set_up(self, data: FitData, plan: FitPlan) -> Callable[[], dict[str, Any]]:
        """Check every parameter, and return the function that trains.

        The function returns the fitted attributes by name, `n_components_` among them.
        """

    @abstractmethod
    def _predictor(self) -> Predictor:
        """Collect what prediction needs from the fitted attributes."""

    def _fit(self, X, y, sample_weight):
        """Fit from scratch or, with `warm_start`, from the last fit."""
        warm = getattr(self, "warm_start", False)
        return self._fit_as_planned(X, y, sample_weight, FitPlan(warm and self._is_fitted()))

    def _partial_fit(self, X, y, sample_weight, classes=None):
        """Continue with one epoch over the given rows."""
        plan = FitPlan(self._is_fitted(), partial=True, classes=classes)
        return self._fit_as_planned(X, y, sample_weight, plan)

    def _fit_as_planned(self, X, y, sample_weight, plan: FitPlan):
        """Check everything, then train; an error leaves no half-fitted estimator.

        A mistake in the parameters or the data leaves the estimator as it was. A failure during
        training, Ctrl-C included, leaves it unfitted, or as it was if it continued from a fit.
        """
        self._validate_params()
        before = vars(self).copy()
        parameters = {name: value for name, value in before.items() if not name.endswith("_")}
        with gradients_enabled(), _restore_on_error(self, before):
            if not plan.resume:
                _set_state(self, parameters)
            data = self._prepare(X, y, sample_weight, plan)
            train = self._set_up(data, plan)
        with gradients_enabled(), _restore_on_error(self, before if plan.resume else parameters):
            vars(self).update(train())
        return self

    def _prepare(self, X, y, sample_weight, plan: FitPlan) -> FitData:
        """Check the data, drop rows without weight, fit the scalers, and encode the targets."""
        X, y = check_table(self, X, y, reset=not plan.resume, **self._target_checks)
        weights = check_weights(sample_weight, X)
        X, y, weights = _drop_rows_without_weight(weights, X, y, weights)
        targets, weights, labels = self._encode_target(y, weights, plan)
        # The weights now include class weights; one of zero equals a sample weight of zero.
        weights = scale_weights(weights)
        X, targets, weights, labels = _drop_rows_without_weight(
            weights, X, targets, weights, labels
        )
        if plan.resume:
            check_still_constant(X, self.x_scaler_, "X")
        else:
            self.x_scaler_ = fit_input_scaler(X, weights, more_to_come=plan.partial)
            self.seed_ = draw_seed(self.random_state)
        return FitData(
            X=X,
            x=scale_to_tensor(X, self.x_scaler_),
            y=targets,
            weights=torch.from_numpy(weights.astype(np.float32)),
            labels=labels,
        )

    def _check_rows(self, X) -> np.ndarray:
        """Check the rows to predict."""
        check_is_fitted(self)
        return check_table(self, X, reset=False)

    def _is_fitted(self) -> bool:
        return hasattr(self, "n_components_")

    def __sklearn_is_fitted__(self):
        return self._is_fitted()


@contextlib.contextmanager
def _restore_on_error(estimator, state: dict):
    """Set the attributes of the estimator to `state` if the block fails, Ctrl-C included."""
    try:
        yield
    except BaseException:
        _set_state(estimator, state)
        raise


def _set_state(estimator, state: dict) -> None:
    vars(estimator).clear()
    vars(estimator).update(state)


def _drop_rows_without_weight(weights: np.ndarray, *arrays):
    """Return the rows of each array whose weight is positive; None stays None."""
    present = weights > 0
    if present.all():
        return arrays
    return tuple(
        None if a is None else a[torch.from_numpy(present) if torch.is_tensor(a) else present]
        for a in arrays
    )
