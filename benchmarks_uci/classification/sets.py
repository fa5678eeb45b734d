"""The classification sets: descriptions, rows, and the check that the rows are as expected."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_uci.datasets import DataCorrupt, Sources


@dataclass(frozen=True)
class Spec:
    """One set of the study."""

    name: str
    title: str
    citation: str
    licence: str
    n_rows: int
    n_features: int
    n_classes: int
    content_hash: str  # see `LabelledSet.content_hash`
    other: str  # local source of rows that do not belong to the set
    shape: tuple[int, int] | None = None  # height and width of an image; None for a table
    sklearn: str | None = None  # function of `sklearn.datasets` that loads it
    package: str | None = None  # optional package that holds it
    openml_id: int | None = None
    target: str = ""  # column of the label at OpenML
    excluded: tuple[str, ...] = ()  # columns at OpenML that are neither inputs nor the label
    files: tuple[str, ...] = ()  # other names of its file in a folder
    note: str = ""


@dataclass(frozen=True)
class LabelledSet:
    """Rows with class numbers, as read-only arrays, independent of the source."""

    name: str
    X: np.ndarray  # (sample, feature), float64
    y: np.ndarray  # (sample,), class numbers from 0, in the order of the sorted rows
    source: str
    # SHA-256 of the sorted rows at six significant digits, each with its class number. It does
    # not depend on the source, the order of the rows, or the names of the classes.
    content_hash: str
    order: np.ndarray  # row numbers in sorted order
    shape: tuple[int, int] | None = None  # of an image

    def __post_init__(self):
        for array in (self.X, self.y, self.order):
            array.setflags(write=False)

    @property
    def kind(self) -> str:
        """`"images"` or `"tables"`: which shifts apply."""
        return "tables" if self.shape is None else "images"


def _read_specs() -> dict[str, Spec]:
    tables = tomllib.loads(Path(__file__).with_name("sets.toml").read_text("utf-8"))
    specs = {}
    for name, table in tables.items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        specs[name] = Spec(name=name, **fields)
    return specs


SETS = _read_specs()
NAMES = tuple(SETS)
LOCAL = tuple(name for name, spec in SETS.items() if spec.sklearn)  # need no download


def load(name: str, sources: Sources | None = None) -> LabelledSet:
    """Load a set from its source, and check its rows.

    The sets in `LOCAL` come with scikit-learn. The others come from `sources.data_dir` if it is
    given, else from an installed package or from OpenML.

    Raises
    ------
    DataUnavailable
        No source has the set.
    DataCorrupt
        The source has other rows than expected.
    ValueError
        No set has this name.
    """
    from benchmarks_uci.classification import sources as readers  # imports scikit-learn

    if name not in SETS:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(SETS)}.")
    return readers.read(SETS[name], Sources() if sources is None else sources)


def build(spec: Spec, X, labels, source: str) -> LabelledSet:
    """Sort and number the rows of a source, and check that they are the expected ones."""
    dataset = number_rows(spec, X, labels, source)
    if dataset.content_hash != spec.content_hash:
        raise DataCorrupt(
            f"{spec.name}: {source} is not the expected data: its shape is right, its rows are "
            f"not. SHA-256 of the sorted rows at six digits: found {dataset.content_hash}, "
            f"expected {spec.content_hash}. Use another source."
        )
    return dataset


def number_rows(spec: Spec, X, labels, source: str) -> LabelledSet:
    """Return the set without a check of its hash; its shape must agree with `spec`."""
    X = np.array(X, dtype=np.float64, order="C")
    labels = np.asarray(labels).astype(str)
    n_classes = len(np.unique(labels))
    if (*X.shape, n_classes) != (spec.n_rows, spec.n_features, spec.n_classes):
        raise DataCorrupt(
            f"{spec.name}: {source} is not the expected data: found {X.shape[0]} rows, "
            f"{X.shape[1]} features and {n_classes} classes, expected {spec.n_rows}, "
            f"{spec.n_features} and {spec.n_classes}."
        )
    if not np.isfinite(X).all():
        raise DataCorrupt(f"{spec.name}: {source} has missing or infinite values; expected none.")
    y, order = _number_classes(X, labels)
    pattern = ",".join(["%.6g"] * X.shape[1]) + ",%d"
    lines = sorted(pattern % (*row, label) for row, label in zip(X.tolist(), y, strict=True))
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return LabelledSet(spec.name, X, y, source, digest, order, spec.shape)


def _number_classes(X, labels):
    """Number the classes by their first row in sorted order; equal rows sort by their class."""
    by_rows = np.lexsort(X.T[::-1])
    _, firsts, codes = np.unique(labels[by_rows], return_index=True, return_inverse=True)
    y = np.empty(len(labels), dtype=np.intp)
    y[by_rows] = np.argsort(np.argsort(firsts))[codes]
    return y, np.lexsort(np.column_stack([X, y]).T[::-1])
