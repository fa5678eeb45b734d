"""Run one task: a pure function of the study, the task and the data set."""

from __future__ import annotations

import functools
import importlib.metadata
import math
import os
import platform
import subprocess
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sk_deltauq
from benchmarks_uci.engine.settings import settings, settings_id
from benchmarks_uci.engine.study import HASH_DIGITS, DataSet, Split, Study, Task
from benchmarks_uci.threads import threads

# Packages whose versions a record states, beside Python's and ours
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "skorch")


def run_task(study: Study, task: Task, dataset: DataSet) -> dict:
    """Fit and score with one thread, and return a record.

    A failure is a record too: `status` is "failed", `error` holds the traceback, and fields that
    were not reached are None. Only an interrupt and a lack of memory are raised, because the
    method did not cause them.
    """
    record = _blank(study, task, dataset)
    with threads(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            split, model = _prepare(record, study, task, dataset)
            found = study.score(task, model, split, dataset)
            record.update(_check_finite(study, found))
        except MemoryError:
            raise
        # Any class of error: a method may raise anything, and its failure is the result.
        except Exception:
            record["error"] = traceback.format_exc()
    record["warnings"] = sorted({str(w.message) for w in caught})
    record["status"] = "failed" if record["error"] else "done"
    return record


def make_failure(study: Study, task: Task, dataset: DataSet, error: str) -> dict:
    """Return the record of a task that could not run to its end."""
    record = _blank(study, task, dataset)
    _prepare(record, study, task, dataset)
    return {**record, "error": error}


def _blank(study, task, dataset):
    """Return a record with everything that is known before the run; the rest is None."""
    unknown = [
        *("split_name", "n_train", "n_test", "settings", "settings_id", "split_hash"),
        *(study.metrics),
        *(study.curves),
    ]
    return {
        **asdict(task),
        "status": "failed",
        "error": "",
        "n_features": dataset.X.shape[1],
        **dict.fromkeys(unknown),
        "warnings": [],
        "data_hash": dataset.content_hash[:HASH_DIGITS],
        "source": dataset.source,
        "versions": dict(_versions()),
        "machine": dict(_machine()),
    }


def _prepare(record, study, task, dataset) -> tuple[Split, Any]:
    """Return split and estimator of a task, and put what is known of them into the record."""
    split = study.protocols[task.protocol].splits(dataset)[task.split]
    record.update(
        split_name=split.name,
        n_train=len(split.train),
        n_test=len(split.test),
        split_hash=split.hash(dataset),
    )
    model = study.make(task, len(split.train))
    made = settings(model)
    record.update(settings=made, settings_id=settings_id(made))
    return split, model


def _check_finite(study, found):
    """Return the scores; JSON has no numbers for those that are not finite."""
    wrong = {name: found[name] for name in study.metrics if not math.isfinite(found[name])}
    if wrong:
        listed = ", ".join(f"{name} is {value}" for name, value in wrong.items())
        raise ValueError(f"A score is not finite: {listed}.")
    return found


@functools.cache
def _versions():
    return {
        "python": platform.python_version(),
        "sk_deltauq": sk_deltauq.__version__,
        **find_commit(Path(sk_deltauq.__file__).parents[1]),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def find_commit(root: Path) -> dict[str, str]:
    """Return the commit of a checkout, with "-dirty" if files differ; nothing elsewhere."""
    if not (root / ".git").exists():
        return {}
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or a checkout of another user
        return {}
    return {"commit": done.stdout.strip()}


@functools.cache
def _machine():
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")  # Linux, where platform.processor() says little
    if info.exists():
        lines = info.read_text(errors="replace").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = models[0] if models else processor
    return {"system": platform.system(), "processor": processor, "cores": os.cpu_count()}
