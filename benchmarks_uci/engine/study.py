"""The contract of a study: what it compares, on which data, with which scores.

The engine runs and stores any study, and `benchmarks_uci.analysis` reports on it. Importing the
module of a study must stay cheap: what computes results is imported inside the functions that
the study holds, so that a report needs neither torch nor the data.
"""

from __future__ import annotations

import hashlib
import importlib
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

if typing.TYPE_CHECKING:
    import pandas as pd

    from benchmarks_uci.engine.task import Task

HASH_DIGITS = 12  # of a SHA-256 digest in hexadecimal, as far as result files store it


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

    Attributes
    ----------
    name : str
        For readers: `"seed 3"`, `"feature LSTAT"`.
    train, test : ndarray of int
    """

    name: str
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
    """A way to split a data set.

    Attributes
    ----------
    name, description : str
    splits : callable
        `splits(dataset)` lists all splits; a `ValueError` says why the protocol does not apply.
    count : callable
        `count(data)` is the number of splits of a data set by name, or None if it depends on the
        rows.
    overlapping : bool
        Whether the training rows of two splits overlap at random, so that scores of splits are
        correlated.
    """

    name: str
    description: str
    splits: Callable[[Any], list[Split]]
    count: Callable[[str], int | None] = lambda data: None
    overlapping: bool = False


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Attributes
    ----------
    name, title, description : str
        Key in the study; for a table; for a note below it.
    chosen : str
        How its settings were chosen.
    make : callable
        `make(preset, n_rows, random_state)` is a new estimator for `n_rows` training rows. It
        imports what it needs.
    max_rows : int or None
        Largest number of training rows that it can fit in reasonable time.
    requires : str or None
        Optional package that it needs.
    """

    name: str
    title: str
    description: str
    chosen: str
    make: Callable[[str, int, int | None], Any]
    max_rows: int | None = None
    requires: str | None = None


@dataclass(frozen=True)
class Metric:
    """A score with one number for each task.

    Attributes
    ----------
    name, title : str
    decimals : int or None
        Digits after the point. None shows three significant digits of the mean, for scores in
        units of the target.
    loss : callable or None
        `loss(value)` is smaller for a better value; None if no value is better than another.
    unit_free : bool
        Whether differences on one data set may be compared with differences on another.
    """

    name: str
    title: str
    decimals: int | None = 3
    loss: Callable[[float], float] | None = float
    unit_free: bool = True


@dataclass(frozen=True)
class Curve:
    """A score that is a list of numbers for each task, plotted as the mean over the splits.

    Attributes
    ----------
    title : str
        One word, also the name of the plot.
    x_label, y_label : str
    positions : sequence of float
        The x value of each number.
    on_diagonal : bool
        Whether the ideal curve is the diagonal of the unit square.
    """

    title: str
    x_label: str
    y_label: str
    positions: Sequence[float]
    on_diagonal: bool = False


@dataclass(frozen=True)
class Published:
    """One column of figures from the literature.

    Attributes
    ----------
    title, method : str
        `method` is the method of the study that the column stands beside; empty for none.
    protocol : str
        How the publication split the rows.
    values : dict of str to float
        Figure for each data set.
    """

    title: str
    method: str
    protocol: str
    values: dict[str, float]


@dataclass(frozen=True)
class Study:
    """Everything that distinguishes one study from another.

    Attributes
    ----------
    module : str
        Module that holds this value as `STUDY`. Worker processes import it from there.
    data : tuple of str
        Names of the data sets.
    load : callable
        `load(name, sources)` is a `DataSet`.
    methods, variants : mapping of str to Method
        The methods of the tables, from quick to slow; and variants of the last of the
        `references`, which a report shows as differences to it.
    protocols : mapping of str to Protocol
    presets : tuple of str
        The first is the default.
    metrics : mapping of str to Metric
        All scores with one number, in the order of the result files. The first is the default.
    score : callable
        `score(task, model, split, dataset)` fits the new estimator `model` and returns all
        `metrics` and `curves` by name.
    curves : mapping of str to Curve
    references : tuple of str
        Methods that the others are compared with: the first one that a run has.
    costs : tuple of str
        Metrics that are costs, such as seconds; the first is summed over the data sets.
    overview : tuple of str
        Metrics in the table that `run` prints.
    defaults : mapping of str to str
        Default values for the options `data`, `methods` and `protocol` of `run`.
    published : callable
        `published(protocol)` lists the `Published` columns to show beside results of that
        protocol, for the default metric.
    sections : callable
        `sections(run, protocol)` lists further Markdown sections of a report; `run` is a frame.
    sentences : mapping of str to str
        How to read the tables: `"scores"`, `"ranks"`, by protocol the published columns, and
        `"readme"` for the README; `"published"` is the header of the best published figure.
    readme : mapping of str to str
        Methods in the README, with their headers.
    """

    module: str
    data: tuple[str, ...]
    load: Callable[[str, Any], DataSet]
    methods: Mapping[str, Method]
    protocols: Mapping[str, Protocol]
    presets: tuple[str, ...]
    metrics: Mapping[str, Metric]
    score: Callable[[Task, Any, Split, Any], dict]
    references: tuple[str, ...]
    defaults: Mapping[str, str]
    overview: tuple[str, ...]
    variants: Mapping[str, Method] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    costs: tuple[str, ...] = ()
    published: Callable[[str], list[Published]] = lambda protocol: []
    sections: Callable[[pd.DataFrame, str], list[str]] = lambda run, protocol: []
    sentences: Mapping[str, str] = field(default_factory=dict)
    readme: Mapping[str, str] = field(default_factory=dict)

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
