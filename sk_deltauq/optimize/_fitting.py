"""The surrogates of an optimiser: which one is used when, and its fits."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sk_deltauq._estimators.regressor import BaseRegressor
from sk_deltauq._training.budget import raise_interrupts
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize._space import Space
from sk_deltauq.optimize._state import FIT, State
from sk_deltauq.optimize._surrogate import surrogate


@dataclass
class Surrogates:
    """Unfitted surrogates, and the last fits."""

    alone: Any  # proposes a point while none is pending
    in_batch: Any  # proposes further points
    is_recommended: bool  # whether both are the recommended ones
    # The values of the last fits, and the models by `in_batch`
    _values: np.ndarray | None = field(default=None, init=False)
    _models: dict[bool, Any] = field(default_factory=dict, init=False)

    @classmethod
    def make(cls, chosen: Any, *, noisy: bool) -> Surrogates:
        """Check the surrogate of the user, or take the recommended ones for None."""
        alone = surrogate(noisy=noisy) if chosen is None else _check_surrogate(chosen)
        if chosen is not None or noisy:
            return cls(alone, alone, chosen is None)
        # Many functions have few values that are far worse than the others.
        alone.set_params(target_transform="yeo-johnson")
        return cls(alone, surrogate(calibrated=True), is_recommended=True)

    def describe(self) -> str | dict[str, Any]:
        """Return the parameters of the user's surrogate as JSON has them.

        The recommended one is only named: its parameters may change with the package.
        """
        if self.is_recommended:
            return "recommended"
        params = self.alone.get_params()
        params.pop("random_state", None)
        values = {key: _describe_value(value) for key, value in params.items()}
        return {"class": type(self.alone).__name__, **values}

    def fit(self, state: State, space: Space, sign: float, *, in_batch: bool) -> Any:
        """Fit to all values, or return the last fit if it has the same values.

        `sign` is 1 if larger values are better, else -1. Failed evaluations get the worst value.
        """
        in_batch = in_batch and self.in_batch is not self.alone  # one fit if both are the same
        if self._values is not state.y:
            self._values, self._models = state.y, {}
        if in_batch not in self._models:
            model: Any = clone(self.in_batch if in_batch else self.alone)
            if "random_state" in model.get_params(deep=False):
                model.set_params(random_state=state.draw_seed(FIT))
            worst, rows = sign * np.nanmin(sign * state.y), state.list_fit_rows(space)
            with warnings.catch_warnings(), raise_interrupts():
                # A search starts with few rows, and tests its predictions in the next steps.
                for category in (ConvergenceWarning, UncertaintyWarning):
                    warnings.simplefilter("ignore", category)
                y = np.where(np.isnan(state.y), worst, state.y)
                # The points crowd where the search looks. Scales by their spread would change the
                # frequencies of the features across the space.
                model._fit(state.X[rows], y[rows], ranges=space.bounds)
            self._models[in_batch] = model
        return self._models[in_batch]


def _check_surrogate(chosen: Any) -> Any:
    """Return an unfitted copy of a surrogate."""
    if isinstance(chosen, type):
        raise TypeError(
            f"surrogate must be an object, got the class {chosen.__name__}. Write "
            f"{chosen.__name__}()."
        )
    if not isinstance(chosen, BaseRegressor):
        raise TypeError(
            "surrogate must be a regressor of sk_deltauq, such as surrogate() or "
            f"DeltaUQRegressor(), got {type(chosen).__name__}."
        )
    params = chosen.get_params(deep=False)
    categories = params.get("categorical_features")
    if not (categories is None or isinstance(categories, str)):
        raise ValueError(
            "surrogate must have categorical_features=None or 'from_dtype', got "
            f"{categories!r}: the search needs gradients in all parameters. "
            "Use Ax or BoTorch for categories (BoTorchModel)."
        )
    if params.get("warm_start"):
        raise ValueError("surrogate must have warm_start=False: each step fits a new network.")
    surrogate: Any = clone(chosen)
    surrogate._validate_params()  # before the first points are evaluated
    return surrogate


def _describe_value(value: Any) -> Any:
    """Return a parameter as JSON has it; an object by its type, because its text may change."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_describe_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _describe_value(item) for key, item in value.items()}
    if isinstance(value, type) or inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return type(value).__name__
