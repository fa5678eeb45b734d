"""The contract of a study: what it compares, on which data, with which scores.

The engine runs and stores any study, and `benchmarks_uci.analysis` reports on it. Importing the
module of a study must stay cheap: what computes results is imported inside the functions that
the study holds, so that a report needs neither torch nor the data.
"""

from __future__ import annotations

import hashlib
import importlib.util
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

if typing.TYPE_CHECKING:
    import pandas as pd

HASH_DIGITS = 12  # of a SHA-256 digest in hexadecimal, as far as result files store it


@dataclass(frozen=True, order=True)
class Task:
    """One method on one split of a data set, by names alone; the split number seeds the method."""

    protocol: str
    preset: str
    data: str
    method: str
    split: int  # index in the protocol, from 0

    def __str__(self):
        return f"{self.protocol}/{self.preset}/{self.data}/{self.method}/{self.split}"


TASK_FIELDS = tuple(field.name for field in fields(Task))


def get_task(record: dict) -> Task:
    """Return the task of a record."""
    return Task(**{name: record[name] for name in TASK_FIELDS})


class DataSet(typing.Protocol):
    """What the engine asks of a data set: rows, their canonical order, and their origin."""

    @property
    def X(self) -> np.ndarray: ...

    @property
    def order(self) -> np.ndarray: ...

    @property
    def content_hash(self) -> str: ...

    @property
    def source(self) -> str: ...


@dataclass(frozen=True)
class Split:
    """Row numbers to train on and to test on.

    A sequential study puts its starting rows into `train` and leaves `test` empty.
    """

    name: str  # for readers: "seed 3", "feature LSTAT"
    train: np.ndarray
    test: np.ndarray

    def hash(self, dataset: DataSet) -> str:
        """Hash the rows by their rank in `dataset.order`, which no source of the data changes.

        The digest is of the text `train: 5 0 3, test: 1 4`.
        """
        rank = np.empty_like(dataset.order)
        rank[dataset.order] = np.arange(len(dataset.order))
        parts = [
            f"{name}: {' '.join(map(str, rank[rows].tolist()))}"
            for name, rows in [("train", self.train), ("test", self.test)]
        ]
        return hashlib.sha256(", ".join(parts).encode()).hexdigest()[:HASH_DIGITS]


@dataclass(frozen=True)
class Protocol:
    """A way to split a data set."""

    name: str
    description: str
    # Lists all splits of a data set; a `ValueError` says why the protocol does not apply.
    splits: Callable[[Any], list[Split]]
    # Number of splits of a data set by name; None if it depends on the rows
    count: Callable[[str], int | None] = lambda data: None
    # Whether the training rows of two splits overlap at random, so that scores are correlated
    overlapping: bool = False


@dataclass(frozen=True)
class Method:
    """A method of the comparison."""

    name: str  # key in the study
    title: str  # for a table
    description: str  # for a note below the table
    chosen: str  # how its settings were chosen
    # `make(preset, n_rows, random_state)` is a new estimator for `n_rows` training rows. It
    # imports what it needs.
    make: Callable[[str, int, int | None], Any]
    max_rows: int | None = None  # most training rows that it can fit in reasonable time
    requires: str | None = None  # module of an optional package that it needs
    package: str | None = None  # name to install this module by, if it is another one
    presets: tuple[str, ...] | None = None  # presets that it has; None for all

    def explain_absence(self) -> str:
        """Say which package the method lacks here; empty if it lacks none."""
        if not self.requires or importlib.util.find_spec(self.requires) is not None:
            return ""
        return f"{self.requires} is not installed: pip install {self.package or self.requires}."


@dataclass(frozen=True)
class Metric:
    """A score with one number for each task."""

    name: str
    title: str
    # Digits after the point. None shows three significant digits of the mean, for scores in
    # units of the target.
    decimals: int | None = 3
    # Smaller for a better value; None if no value is better than another
    loss: Callable[[float], float] | None = float
    # Whether differences on one data set may be compared with differences on another
    unit_free: bool = True


@dataclass(frozen=True)
class Curve:
    """A score that is a list of numbers for each task, plotted as the mean over the splits.

    A task may lack it.
    """

    title: str  # one word, also the name of the plot
    x_label: str
    y_label: str
    # The x value of each number; empty for a list that is not plotted
    positions: Sequence[float]
    on_diagonal: bool = False  # whether the ideal curve is the diagonal of the unit square


@dataclass(frozen=True)
class Published:
    """One column of figures from the literature."""

    title: str
    method: str  # the method of the study that the column stands beside; empty for none
    protocol: str  # how the publication split the rows
    values: dict[str, float]  # figure for each data set


@dataclass(frozen=True)
class Study:
    """Everything that distinguishes one study from another."""

    # Module that holds this value as `STUDY`. Worker processes import it from there.
    module: str
    data: tuple[str, ...]  # names of the data sets
    load: Callable[[str, Any], DataSet]  # of a name and the sources
    methods: Mapping[str, Method]  # the methods of the tables, from quick to slow
    protocols: Mapping[str, Protocol]
    presets: tuple[str, ...]  # the first is the default
    # All scores with one number, in the order of the result files. The first is the default.
    metrics: Mapping[str, Metric]
    # `score(task, model, split, dataset)` fits the new estimator `model` and returns all
    # `metrics` and `curves` by name.
    score: Callable[[Task, Any, Split, Any], dict]
    # Methods that the others are compared with: the first one that a run has
    references: tuple[str, ...]
    # Default values for the options `data`, `methods` and `protocol` of `run`
    defaults: Mapping[str, str]
    overview: tuple[str, ...]  # metrics in the table that `run` prints
    # Variants of the last of the `references`; a report shows them as differences to it.
    variants: Mapping[str, Method] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    # Metrics that are costs, such as seconds; the first is summed over the data sets.
    costs: tuple[str, ...] = ()
    # Columns to show beside results of a protocol, for the default metric
    published: Callable[[str], list[Published]] = lambda protocol: []
    # Further Markdown sections of a report on a run (a frame) and its protocol
    sections: Callable[[pd.DataFrame, str], list[str]] = lambda run, protocol: []
    # How to read the tables: "scores", "ranks", by protocol the published columns, and "readme"
    # for the README; "published" is the header of the best published figure.
    sentences: Mapping[str, str] = field(default_factory=dict)
    readme: Mapping[str, str] = field(default_factory=dict)  # methods there, with their headers
    reads_sources: bool = True  # whether `load` reads files or OpenML

    def __reduce__(self):
        # By reference: functions defined in a module of the study need not be pickled.
        return _import_study, (self.module,)

    def method(self, name: str) -> Method:
        """Return a method or a variant."""
        return self.methods[name] if name in self.methods else self.variants[name]

    def make(self, task: Task, n_rows: int) -> Any:
        """Return a new estimator for a task with `n_rows` training rows."""
        if task.preset not in self.presets:
            listed = ", ".join(self.presets)
            raise ValueError(f"preset must be one of {listed}, got {task.preset!r}.")
        return self.method(task.method).make(task.preset, n_rows, task.split)


def _import_study(module: str) -> Study:
    return importlib.import_module(module).STUDY
