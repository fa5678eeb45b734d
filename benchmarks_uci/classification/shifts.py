"""Distribution shifts of test rows, at severities 1 to 5.

A shift has one amount, in units of its own. The amount at severity 5 is chosen for each set on
development splits (`strengths.py`), and severity s has s/5 of it. The random draws of a shift do
not depend on the severity, so a larger severity moves each row further in the same direction.
"""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks_uci.classification import images, tables
from benchmarks_uci.classification.sets import LabelledSet

SEVERITIES = (1, 2, 3, 4, 5)
STRENGTHS = Path(__file__).with_name("strengths.toml")


@dataclass(frozen=True)
class Shift:
    """One way in which test rows differ from training rows."""

    name: str
    kind: str  # "images" or "tables"
    description: str
    largest: float  # the largest amount that makes sense
    # `change(rows, amount, rng)`; rows are standardised tables `(row, feature)`, or images
    # `(row, y, x)` with brightness from 0 to 1
    change: Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
    # The operation of training or calibration that it resembles; empty if methods see no such
    # rows before they are tested
    resembles: str = ""


def _list_shifts(kind, module, rows):
    return {
        (kind, name): Shift(name, kind, description, largest, getattr(module, name), resembles)
        for name, largest, resembles, description in rows
    }


_TABLES = [
    ("noise", 6.0, "noise", "normal noise on every value; amount: its standard deviation"),
    ("dropout", 0.95, "dropout", "values replaced by the mean; amount: their fraction"),
    ("scale", 9.0, "stretch", "gain of each feature changed, up or down; amount: gain - 1"),
    ("swap", 0.95, "swap", "values replaced by those in other rows; amount: their fraction"),
    ("offset", 10.0, "", "a third of the features moved up or down; amount: the distance"),
    ("saturation", 0.98, "", "values cut at quantiles of the rows; amount: the fraction cut"),
    ("rounding", 6.0, "", "values rounded to a grid; amount: its spacing"),
    ("exchange", 1.0, "", "features exchanged for one another; amount: their fraction"),
]
_IMAGES = [
    ("noise", 2.0, "noise", "normal noise; amount: its standard deviation"),
    ("impulse", 0.9, "swap", "black and white pixels; amount: their fraction"),
    ("contrast", 0.98, "stretch", "brightness drawn to the mean; amount: the fraction lost"),
    ("occlusion", 1.0, "dropout", "a black square; amount: its side, relative to the image"),
    ("stripes", 0.95, "dropout", "black columns of pixels; amount: their fraction"),
    ("blur", 3.0, "", "normal filter; amount: its width, in eighths of the side"),
    ("motion", 6.0, "", "normal filter along x or y; amount: its width, in eighths of the side"),
    ("rotation", 180.0, "", "rotation to the left or right; amount: degrees"),
    ("translation", 0.5, "", "movement along x and y; amount: relative to the side"),
    ("shear", 2.0, "", "rows of pixels moved along x; amount: the slope"),
    ("zoom", 3.0, "", "magnification or reduction; amount: the factor - 1"),
    ("brightness", 0.98, "", "brightness increased up to white; amount: the increase"),
    ("pixelate", 0.95, "", "fewer, larger pixels; amount: the fraction of rows lost"),
]
SHIFTS = {
    **_list_shifts("tables", tables, _TABLES),
    **_list_shifts("images", images, _IMAGES),
}


def list_shifts(kind: str) -> list[Shift]:
    """Return the shifts for `"tables"` or `"images"`; those that methods have seen come first."""
    return [shift for shift in SHIFTS.values() if shift.kind == kind]


def find_shift(kind: str, name: str) -> Shift:
    """Return a shift by name; a `ValueError` lists the names."""
    if (kind, name) not in SHIFTS:
        listed = ", ".join(shift.name for shift in list_shifts(kind))
        raise ValueError(f"There is no shift {name!r} of {kind}; there are {listed}.")
    return SHIFTS[kind, name]


def read_strengths() -> dict[str, dict[str, float]]:
    """Read the amount at severity 5, by set and shift."""
    return tomllib.loads(STRENGTHS.read_text("utf-8"))


class Shifter:
    """Shift rows of one set, with units from its training rows."""

    def __init__(self, dataset: LabelledSet, train: np.ndarray, seed: int):
        self._shape, self._seed = dataset.shape, seed
        X = dataset.X[train]
        if dataset.shape is None:
            scale = X.std(axis=0)
            self._low, self._unit = X.mean(axis=0), np.where(scale > 0, scale, 1.0)
        else:
            self._low, self._unit = X.min(), X.max() - X.min()

    def apply(self, X: np.ndarray, shift: Shift, amount: float) -> np.ndarray:
        """Return shifted rows `(row, feature)` in the units of `X`."""
        if not 0 <= amount <= shift.largest:
            raise ValueError(
                f"The amount of {shift.name} must be between 0 and {shift.largest}, got {amount}."
            )
        rng = np.random.default_rng([self._seed, zlib.crc32(shift.name.encode())])
        rows = (X - self._low) / self._unit
        if self._shape is not None:
            rows = rows.reshape(-1, *self._shape)
        changed = shift.change(rows, amount, rng).reshape(X.shape)
        return self._low + self._unit * changed


def measure_amount(strength: float, severity: int) -> float:
    """Return the amount at a severity; `strength` is the amount at severity 5."""
    if severity not in SEVERITIES:
        listed = ", ".join(map(str, SEVERITIES))
        raise ValueError(f"severity must be one of {listed}, got {severity!r}.")
    return strength * severity / SEVERITIES[-1]
