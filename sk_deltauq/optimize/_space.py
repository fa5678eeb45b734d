"""The box of parameters: its checks, its unit cube, and which points are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

# A proposal differs from all other points by more than this in some coordinate of the unit cube.
# A told point that is closer to a pending point is that point.
SAME = 1e-6

# Told points that differ by less are equal up to rounding.
EQUAL = 1e-12

# Larger bounds and values overflow in the sums of squares of a fit.
LARGEST = 1e100

# A point may be outside of its bounds by this part of the width, because of rounding.
_ROUNDING = 1e-9

# Up to this number of points, a space of integers is searched completely.
_MOST_LISTED = 4096

# Points of a Sobol sequence to try; all of them are taken only in a space of few integers.
_N_TRIES = 1024


class NoFreePointsError(ValueError):
    """All points of a space of integers are evaluated or pending."""


@dataclass(frozen=True)
class Space:
    """Lower and upper bounds of each parameter, and which parameters are integers."""

    lower: np.ndarray  # (parameter,)
    upper: np.ndarray
    is_integer: np.ndarray  # (parameter,), flags

    @classmethod
    def make(cls, bounds: Any, integers: Iterable[int] = ()) -> Space:
        """Check the bounds, pairs of numbers, and the positions of the integers."""
        try:
            box = np.array(bounds, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"bounds must hold a lower and an upper number for each parameter: {error}"
            ) from error
        if box.ndim != 2 or box.shape[1] != 2 or not len(box):
            raise ValueError(
                "bounds must hold a lower and an upper number for each parameter, such as "
                f"[(0, 1), (-5, 5)], got an array of shape {box.shape}."
            )
        for i, (low, high) in enumerate(box):
            is_usable = np.abs([low, high]).max() <= LARGEST  # False for NaN
            if not is_usable or low >= high:
                raise ValueError(
                    f"bounds must be finite, at most {LARGEST:g} in size, and lower < upper for "
                    f"each parameter. Parameter {i} has ({low}, {high}). Leave a constant "
                    "parameter out."
                )
        return cls(box[:, 0], box[:, 1], _flag_integers(integers, box))

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return len(self.lower)

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper bound of each parameter, `(parameter, 2)`."""
        return np.stack([self.lower, self.upper], axis=1)

    @property
    def n_points(self) -> float:
        """Number of points; infinite if a parameter is no integer."""
        if not self.is_integer.all():
            return np.inf
        return float(np.prod(self.upper - self.lower + 1))

    def to_unit(self, X: np.ndarray) -> np.ndarray:
        """Map points to the unit cube."""
        return (X - self.lower) / (self.upper - self.lower)

    def from_unit(self, U: np.ndarray) -> np.ndarray:
        """Map points of the unit cube back, inside the bounds, and round integers."""
        X = np.clip(self.lower + U * (self.upper - self.lower), self.lower, self.upper)
        return np.where(self.is_integer, np.round(X), X)

    def spread(self, U: np.ndarray) -> np.ndarray:
        """Map random points of the unit cube to points; each integer gets an equal share."""
        n_values = self.upper - self.lower + 1
        whole = self.lower + np.minimum(np.floor(U * n_values), n_values - 1)
        return np.where(self.is_integer, whole, self.from_unit(U))

    def draw_sobol(self, start: int, n: int, seed: Any) -> np.ndarray:
        """Return n points of a scrambled Sobol sequence, from number `start` on."""
        power = int(np.ceil(np.log2(max(start + n, 1))))
        make: Any = qmc.Sobol  # SciPy's name of the seed changed with version 1.15
        engine = make(self.n_parameters, seed=np.random.default_rng(seed))
        return self.spread(engine.random_base2(power)[start : start + n])

    def draw_free(self, taken: np.ndarray, start: int, seed: Any) -> tuple[np.ndarray, int]:
        """Return the first Sobol point from number `start` on that is not taken, and its number.

        Raises
        ------
        NoFreePointsError
            If all points of a space of integers are taken.
        """
        self.check_free(taken)
        for number, point in enumerate(self.draw_sobol(start, _N_TRIES, seed), start=start):
            if not self.find(point, taken).any():
                return point, number
        listed = self.list_points()
        for point in [] if listed is None else listed:
            if not self.find(point, taken).any():
                return point, start
        raise NoFreePointsError(
            "no free point was found: nearly all points of the space are evaluated or pending."
        )

    def check_free(self, taken: np.ndarray, n: int = 1) -> None:
        """Raise an error if fewer than n points of a space of integers are free."""
        if len(taken) + n <= self.n_points:
            return
        n_free = self.n_points - len(np.unique(taken, axis=0))
        if n_free < 1:
            raise NoFreePointsError(
                f"all {self.n_points:.0f} points of the space are evaluated or pending, so there "
                "is nothing left to ask for. With noisy values, evaluate points of X_ again, and "
                "tell the further values."
            )
        if n_free < n:
            raise NoFreePointsError(
                f"n is {n}, but only {n_free:.0f} of the {self.n_points:.0f} points of the space "
                "are neither evaluated nor pending. Ask for fewer."
            )

    def list_points(self) -> np.ndarray | None:
        """Return all points of a small space of integers, else None."""
        if self.n_points > _MOST_LISTED:
            return None
        axes = [np.arange(a, b + 1) for a, b in zip(self.lower, self.upper, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def find(self, x: np.ndarray, X: np.ndarray, within: float = SAME) -> np.ndarray:
        """Return which rows of X are the same point as x, in each coordinate of the unit cube."""
        return np.all(np.abs(self.to_unit(X) - self.to_unit(x)) <= within, axis=1)

    def check_points(self, X: Any, name: str = "x") -> np.ndarray:
        """Return checked points as an array `(point, parameter)`; one point may be 1-D."""
        try:
            points = np.array(X, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers: {error}") from error
        points = points[np.newaxis] if points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != self.n_parameters:
            raise ValueError(
                f"{name} must be one point of {self.n_parameters} numbers or an array of shape "
                f"(n_points, {self.n_parameters}), got shape {np.shape(X)}."
            )
        if not np.isfinite(points).all():
            raise ValueError(
                f"{name} has NaN or infinity. Only values of y may be NaN, for failed evaluations."
            )
        outside = np.abs(self.to_unit(points) - 0.5) > 0.5 + _ROUNDING
        broken = self.is_integer & (points != np.round(points))
        for wrong, reason in [(outside, "is outside of its bounds"), (broken, "is no integer")]:
            if wrong.any():
                row, i = np.argwhere(wrong)[0]
                raise ValueError(
                    f"{name}, point {row}: parameter {i} {reason} ({self.lower[i]:g} to "
                    f"{self.upper[i]:g}): {points[row, i]}."
                )
        return points


def _flag_integers(integers: Iterable[int], box: np.ndarray) -> np.ndarray:
    """Return one flag per parameter; the bounds of integers must be integers."""
    is_integer = np.zeros(len(box), dtype=bool)
    if not np.iterable(integers) or isinstance(integers, str):
        raise ValueError(
            f"integers must be a list of positions of parameters, such as [0], got {integers!r}."
        )
    for i in integers:
        if not isinstance(i, (int, np.integer)) or isinstance(i, bool) or not 0 <= i < len(box):
            raise ValueError(
                f"integers must hold positions of parameters, 0 to {len(box) - 1}, got {i!r}."
            )
        if (box[i] != np.round(box[i])).any():
            raise ValueError(
                f"bounds of parameter {i} must be integers, because it is in integers, got "
                f"({box[i, 0]}, {box[i, 1]})."
            )
        # Beyond this, neighbours are the same point.
        if np.ptp(box[i]) * SAME >= 0.5:
            raise ValueError(
                f"parameter {i} has {np.ptp(box[i]) + 1:.0f} values; integers may have up to "
                f"{0.5 / SAME:.0f}. Leave it out of integers, and round in your function."
            )
        is_integer[i] = True
    return is_integer
