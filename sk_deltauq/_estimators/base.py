"""What every estimator of the package does: fit as a whole or not at all, and check rows."""

from __future__ import annotations

import contextlib
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._host import plain_torch
from sk_deltauq._predictor import Predictor
from sk_deltauq._storage.models import store_model
from sk_deltauq._tables.checks import check_table
from sk_deltauq._tables.encoder import TableEncoder
from sk_deltauq._validation import FitPlan, Scaler


class BaseUQ(BaseEstimator, metaclass=ABCMeta):
    """The common part of all estimators.

    A kind of estimator encodes its targets (`regressor.py`, `classifier.py`), a method trains,
    and everything public is computed from a `Predictor`.
    """

    categorical_features: Any
    missing_values: str
    encoder_: TableEncoder | None
    x_scaler_: Scaler

    def save(self, path) -> None:
        """Write the fitted model to a file that holds values only, no code.

        `sk_deltauq.load` reads it. The file is in the format safetensors, with a checksum. An
        existing file is replaced once the new one is complete; an error leaves it as it was.

        Parameters
        ----------
        path : str or path-like
            The file to write, by convention with the suffix `.safetensors`.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        ValueError
            If a parameter holds an object that a file without code cannot hold, such as a
            `target_transform` of a class of your own. `module`, `net_params` and a
            function that corrupts rows may be any object: pass it to `load` again.
        OSError
            If the file cannot be written.

        See Also
        --------
        sk_deltauq.load : Read the file.
        """
        check_is_fitted(self)
        store_model(self, path)

    @abstractmethod
    def _set_up(self, X, y, sample_weight, plan: FitPlan) -> Callable[[], dict[str, Any]]:
        """Check the data and every parameter, and return the function that trains.

        The function returns the fitted attributes by name, `n_components_` among them.
        """

    @abstractmethod
    def _predictor(self, *, refined: bool = True) -> Predictor:
        """Collect what prediction needs from the fitted attributes.

        `refined` tells whether the means may come from networks that trained on all rows.
        """

    def _fit(self, X, y, sample_weight=None, groups=None, X_val=None, y_val=None, ranges=None):
        """Fit from scratch or, with `warm_start`, from the last fit.

        `ranges`, `(feature, 2)`, are known ranges of the features. They scale the features then.
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together: rows and their targets.")
        if groups is not None and X_val is not None:
            raise ValueError(
                "groups and X_val both say which rows to hold out. Give one of them only."
            )
        plan = FitPlan(
            resume=getattr(self, "warm_start", False) and self._is_fitted(),
            groups=groups,
            validation=None if X_val is None else (X_val, y_val),
            ranges=ranges,
        )
        return self._fit_as_planned(X, y, sample_weight, plan)

    def _partial_fit(self, X, y, sample_weight, classes=None):
        """Continue with one epoch over the given rows."""
        plan = FitPlan(resume=self._is_fitted(), partial=True, classes=classes)
        return self._fit_as_planned(X, y, sample_weight, plan)

    def _fit_as_planned(self, X, y, sample_weight, plan: FitPlan):
        """Check everything, then train; an error leaves no half-fitted estimator.

        A mistake in the parameters or the data leaves the estimator as it was. A failure during
        training leaves it unfitted, or as it was if it continued from a fit. So does a Ctrl-C
        before the end of the first epoch; a later one ends training and keeps the best weights.
        """
        self._validate_params()
        before = vars(self).copy()
        parameters = {name: value for name, value in before.items() if not name.endswith("_")}
        with plain_torch(gradients=True), _state_on_error(self, before):
            if not plan.resume:
                _set_state(self, parameters)
            train = self._set_up(X, y, sample_weight, plan)
        with (
            plain_torch(gradients=True),
            _state_on_error(self, before if plan.resume else parameters),
        ):
            vars(self).update(train())
        return self

    def _check_rows(self, X) -> np.ndarray:
        """Check and encode the rows to predict."""
        self._check_fitted()
        return check_table(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing_values == "indicator"
        return tags

    def _check_fitted(self) -> None:
        if not self._is_fitted():  # scikit-learn's check asks for the tags first, which takes time
            check_is_fitted(self)

    def _is_fitted(self) -> bool:
        return hasattr(self, "n_components_")

    def __sklearn_is_fitted__(self):
        return self._is_fitted()


@contextlib.contextmanager
def _state_on_error(estimator, state: dict):
    """Set the attributes of the estimator to `state` if the block fails, Ctrl-C included."""
    try:
        yield
    except BaseException:
        _set_state(estimator, state)
        raise


def _set_state(estimator, state: dict) -> None:
    vars(estimator).clear()
    vars(estimator).update(state)
