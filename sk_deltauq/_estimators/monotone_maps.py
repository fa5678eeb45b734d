"""Strictly increasing maps of a target, with inverse and derivative, defined for every number.

A map is an object with `forward`, `inverse` and `log_derivative` (the logarithm of the derivative
of `forward`), which work on arrays of any shape. Maps hold arrays and numbers only, so they can be
pickled; `TransformerMap` also holds the scikit-learn transformer of the user.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import boxcox1p, inv_boxcox1p

# A continued map follows the original map at most this many ranges beyond the training targets,
# in transformed units.
_MOST_RANGES = 64.0


class MonotoneMap(ABC):
    """A strictly increasing function."""

    @abstractmethod
    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map targets to transformed targets."""

    @abstractmethod
    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map transformed targets to targets."""

    @abstractmethod
    def log_derivative(self, y: np.ndarray) -> np.ndarray:
        """Return the logarithm of the derivative of `forward`."""


@dataclass(frozen=True)
class IdentityMap(MonotoneMap):
    """No transformation, for the outputs that "auto" leaves alone and for constant outputs."""

    def forward(self, y):
        return y

    def inverse(self, z):
        return z

    def log_derivative(self, y):
        return np.zeros_like(y)


@dataclass(frozen=True)
class LogMap(MonotoneMap):
    """`log(y)` or, with an offset of 1, `log(1 + y)`."""

    offset: int

    def forward(self, y):
        with np.errstate(divide="ignore"):
            if self.offset:
                return np.log1p(np.maximum(y, -1))
            return np.log(np.maximum(y, 0))

    def inverse(self, z):
        with np.errstate(over="ignore", under="ignore"):
            return np.expm1(z) if self.offset else np.exp(z)

    def log_derivative(self, y):
        return -self.forward(y)


@dataclass(frozen=True)
class YeoJohnsonMap(MonotoneMap):
    """The Yeo-Johnson transformation of `y / scale`, with power `power`."""

    power: float
    scale: float

    def forward(self, y):
        y = y / self.scale
        up = boxcox1p(np.maximum(y, 0), self.power)
        return np.where(y < 0, -boxcox1p(np.maximum(-y, 0), 2 - self.power), up)

    def inverse(self, z):
        up = inv_boxcox1p(np.maximum(z, 0), self.power)
        down = -inv_boxcox1p(np.maximum(-z, 0), 2 - self.power)
        return np.where(z < 0, down, up) * self.scale

    def log_derivative(self, y):
        y = y / self.scale
        return (self.power - 1) * np.sign(y) * np.log1p(np.abs(y)) - np.log(self.scale)


@dataclass(frozen=True)
class PiecewiseLinearMap(MonotoneMap):
    """Straight lines between knots; the outer lines are continued without end."""

    y: np.ndarray  # (knot,), strictly increasing
    z: np.ndarray  # (knot,), strictly increasing

    def forward(self, y):
        return _interpolate(y, self.y, self.z)

    def inverse(self, z):
        return _interpolate(z, self.z, self.y)

    def log_derivative(self, y):
        slopes = np.diff(self.z) / np.diff(self.y)
        return np.log(slopes)[_find_piece(y, self.y)]


def _find_piece(x, knots):
    return np.clip(np.searchsorted(knots, x) - 1, 0, len(knots) - 2)


def _interpolate(x, knots, values):
    piece = _find_piece(x, knots)
    slopes = np.diff(values) / np.diff(knots)
    return values[piece] + slopes[piece] * (x - knots[piece])


@dataclass(frozen=True)
class TransformerMap(MonotoneMap):
    """A fitted scikit-learn transformer of one column; a decreasing one changes its sign.

    The derivative is a central difference of the inverse. The step is a small part of `spread`,
    the range of the transformed training targets.
    """

    transformer: Any
    sign: int
    spread: float

    def forward(self, y):
        return self.sign * _call(self.transformer.transform, y)

    def inverse(self, z):
        return _call(self.transformer.inverse_transform, self.sign * z)

    def log_derivative(self, y):
        z, step = self.forward(y), 1e-5 * self.spread
        with np.errstate(all="ignore"):
            return np.log(2 * step) - np.log(self.inverse(z + step) - self.inverse(z - step))


def _call(function, values):
    """Apply a function of one column to an array of any shape; NaN outside of its domain."""
    values = np.asarray(values, dtype=np.float64)
    result = np.full(values.shape, np.nan)
    finite = np.isfinite(values)  # many transformers refuse other values
    with warnings.catch_warnings():  # a value outside the domain is NaN or infinite
        warnings.simplefilter("ignore")
        result[finite] = _call_column(function, values[finite].reshape(-1, 1)).ravel()
    return result


def _call_column(function, column):
    """Apply a function to a column; NaN for rows that it refuses.

    In a pipeline, a value outside the domain of one step is infinite, which the next step refuses
    for the whole column. So a refused column is halved until its good rows are found.
    """
    if not len(column):
        return column
    try:
        return np.asarray(function(column), dtype=np.float64).reshape(-1, 1)
    except ValueError:
        if len(column) == 1:
            return np.full((1, 1), np.nan)
    halves = np.array_split(column, 2)
    return np.concatenate([_call_column(function, half) for half in halves])


@dataclass(frozen=True)
class ContinuedMap(MonotoneMap):
    """A map between two targets, continued as a straight line beyond them.

    The slope of each line is the derivative of the map at that end, so the derivative has no jump.
    An infinite end has no line.
    """

    original: MonotoneMap
    low: tuple[float, float, float]  # target, transformed target, derivative
    high: tuple[float, float, float]

    def forward(self, y):
        z = self.original.forward(np.clip(y, self.low[0], self.high[0]))
        for (at, _, slope), outside in ((self.low, np.less), (self.high, np.greater)):
            if np.isfinite(slope):
                z = z + np.where(outside(y, at), slope * (y - at), 0.0)
        return z

    def inverse(self, z):
        y = self.original.inverse(np.clip(z, self.low[1], self.high[1]))
        for (_, at, slope), outside in ((self.low, np.less), (self.high, np.greater)):
            if np.isfinite(slope):
                y = y + np.where(outside(z, at), (z - at) / slope, 0.0)
        return y

    def log_derivative(self, y):
        found = self.original.log_derivative(np.clip(y, self.low[0], self.high[0]))
        # A numerical derivative at an end of a clipped map would be half outside of it.
        for (at, _, slope), outside in ((self.low, np.less_equal), (self.high, np.greater_equal)):
            if np.isfinite(slope):
                found = np.where(outside(y, at), np.log(slope), found)
        return found


def continue_map(original: MonotoneMap, y_min: float, y_max: float) -> ContinuedMap:
    """Continue a map as a straight line well beyond the training targets.

    The line begins one range beyond the training targets, or where the original map ends. So an
    inverse such as `exp` does not explode far from the training rows, and an inverse with a
    bounded domain has a value everywhere. A logarithm is not continued below its smallest value,
    which keeps all quantiles above it.
    """
    z_min, z_max = original.forward(np.array([y_min, y_max]))
    y_range, z_range = y_max - y_min, z_max - z_min

    def find_end(y_end, z_end, sign):
        """Bisect for the last transformed value at which the original map can be used."""

        def is_usable(distance):
            z = z_end + sign * distance * z_range * np.array([1.0, 1 - 1e-3, 1 - 2e-3])
            y = original.inverse(z)
            with np.errstate(all="ignore"):
                steps = -sign * np.diff(y)
                back = np.abs(original.forward(y) - z) <= 1e-5 * z_range
            return (
                np.isfinite(y).all()
                and (steps > 0).all()
                and abs(y[0] - y_end) <= y_range
                and back.all()
            )

        distance, step = 0.0, _MOST_RANGES
        while step > 1e-3:
            if distance + step <= _MOST_RANGES and is_usable(distance + step):
                distance += step
            else:
                step /= 2
        z = np.array(z_end + sign * distance * z_range)
        # At the end of a clipped map, the derivative just inside is the one to continue.
        y = original.inverse(z) if distance else np.array(y_end)
        slope_at = y if distance else original.inverse(z - sign * 1e-3 * z_range)
        return float(y), float(z), float(np.exp(original.log_derivative(slope_at)))

    if isinstance(original, LogMap):
        low = -float(original.offset), -np.inf, np.inf
    else:
        low = find_end(y_min, z_min, -1)
    return ContinuedMap(original, low, find_end(y_max, z_max, 1))
