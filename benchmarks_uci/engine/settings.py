"""Write the settings of an estimator as JSON, and identify them by a hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def settings(estimator: BaseEstimator) -> dict:
    """Return the class name of the estimator and all parameters except seeds, ready for JSON."""
    params = estimator.get_params(deep=False)
    return {
        "class": type(estimator).__name__,
        **{
            name: _as_json(value)
            for name, value in sorted(params.items())
            if name not in ("random_state", "verbose")
        },
    }


def settings_id(settings: dict) -> str:
    """Hash the settings of a method to 12 hexadecimal digits."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _as_json(value) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, BaseEstimator):
        return settings(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **_as_json(dataclasses.asdict(value))}
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_as_json(item) for item in value]
    named = value if hasattr(value, "__qualname__") else type(value)  # a class or a function
    return f"{named.__module__}.{named.__qualname__}"
