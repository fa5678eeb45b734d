"""Which tasks there are, and running one: a pure function of its arguments."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import json
import math
import os
import platform
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from sklearn.base import BaseEstimator

import sk_deltauq
from benchmarks_uci import methods, scores
from benchmarks_uci.datasets import Dataset
from benchmarks_uci.protocols import PROTOCOLS, Split, split_hash
from benchmarks_uci.task import Task
from benchmarks_uci.threads import threads

# Whose versions a record states, beside Python's and ours
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "skorch")


def plan(
    protocol: str,
    preset: str,
    datasets: Mapping[str, Dataset],
    names: Iterable[str],
    n_splits: int | None = None,
) -> tuple[list[Task], list[tuple[str, str]]]:
    """Every method on the first `n_splits` splits of every set (None: on all of them).

    Returns
    -------
    tasks : list of Task
    left_out : list of (what, reason)
        What cannot be run, such as `"protein gp"`, or `"wine"` where the protocol does not apply.
    """
    tasks, left_out = [], []
    for data, dataset in datasets.items():
        try:
            splits = PROTOCOLS[protocol].splits(dataset)[:n_splits]
        except ValueError as error:
            left_out.append((data, str(error)))
            continue
        if not splits:
            left_out.append((data, f"{protocol} has no splits of it: too few distinct values."))
            continue
        for name in names:
            reason = methods.applicable(name, max(len(s.train) for s in splits))
            if reason:
                left_out.append((f"{data} {name}", reason))
            else:
                tasks += [Task(protocol, preset, data, name, i) for i in range(len(splits))]
    return tasks, left_out


def settings_id(settings: dict) -> str:
    """12 hexadecimal digits that stand for the settings of a method."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_task(task: Task, dataset: Dataset) -> dict:
    """Fit on the training rows, score on the test rows, with one thread; a record.

    It does not raise: a failure is a record with `status` "failed", the traceback in `error` and
    None for what was not reached. Only an interrupt and a lack of memory, which are not the
    method's own, go through.
    """
    record = _blank(task, dataset)
    with threads(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _fill(record, task, dataset)
        except MemoryError:
            raise
        except Exception:  # whatever a method raises is its result
            record["error"] = traceback.format_exc()
    record["warnings"] = sorted({str(w.message) for w in caught})
    record["status"] = "failed" if record["error"] else "done"
    return record


def failure(task: Task, dataset: Dataset, error: str) -> dict:
    """The record of a task that could not be run to its end, as `run_task` would give it."""
    record = _blank(task, dataset)
    _prepare(record, task, dataset)
    return {**record, "error": error}


def _blank(task, dataset):
    """A record with everything that is known beforehand; the rest is None."""
    unknown = [
        *("split_name", "n_train", "n_test"),
        *(scores.NAMES),
        *("fit_seconds", "predict_seconds", "quantile_frequencies"),
        *("settings", "settings_id", "split_hash"),
    ]
    return {
        **asdict(task),
        "status": "failed",
        "error": "",
        "n_features": dataset.X.shape[1],
        **dict.fromkeys(unknown),
        "warnings": [],
        "data_hash": dataset.content_hash,
        "source": dataset.source,
        "versions": versions(),
        "machine": machine(),
    }


def _prepare(record, task, dataset) -> tuple[Split, BaseEstimator]:
    """The rows and the estimator of a task; the record gets what is known of them."""
    split = PROTOCOLS[task.protocol].splits(dataset)[task.split]
    record.update(
        split_name=split.name,
        n_train=len(split.train),
        n_test=len(split.test),
        split_hash=split_hash(split, dataset),
    )
    model = methods.make(task.method, task.preset, len(split.train), random_state=task.split)
    settings = methods.settings(model)
    record.update(settings=settings, settings_id=settings_id(settings))
    return split, model


def _fill(record, task, dataset):
    """Run the task, and put into the record what is known at each step."""
    split, model = _prepare(record, task, dataset)
    X, y = dataset.X[split.test], dataset.y[split.test]
    warm_up(model, methods.ALL[task.method].requires)
    # Of the processor, as a fit has one thread: what else the machine does is none of its time.
    start = time.process_time()
    model.fit(dataset.X[split.train], dataset.y[split.train])
    fitted = time.process_time()
    mean, std = model.predict(X, return_std=True)
    predicted = time.process_time()
    record.update(fit_seconds=fitted - start, predict_seconds=predicted - fitted)
    found = scores.score(y, mean, std, model.predict_dist(X))
    wrong = {name: found[name] for name in scores.NAMES if not math.isfinite(found[name])}
    if wrong:
        # Not kept as numbers: JSON has none for them.
        listed = ", ".join(f"{name} is {value}" for name, value in wrong.items())
        record["error"] = f"A score is not finite: {listed}."
        return
    record.update(found)


def warm_up(model: BaseEstimator, requires: str | None) -> None:
    """Import what the first fit in a process would import, which is none of its time."""
    if requires:
        importlib.import_module(requires)
    if type(model).__module__.startswith(sk_deltauq.__name__):
        _load_optimizer()


@functools.cache
def _load_optimizer():
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # loads torch's compiler: seconds


@functools.cache
def _versions():
    return {
        "python": platform.python_version(),
        "sk_deltauq": sk_deltauq.__version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def versions() -> dict[str, str]:
    """Versions of what computes the results."""
    return dict(_versions())


@functools.cache
def _machine():
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")  # Linux, where platform.processor() tells little
    if info.exists():
        lines = info.read_text(errors="replace").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = models[0] if models else processor
    return {"system": platform.system(), "processor": processor, "cores": os.cpu_count()}


def machine() -> dict:
    """What the results are computed on: system, processor, and number of cores."""
    return dict(_machine())
