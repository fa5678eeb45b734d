"""Records as `run` writes them, without running anything."""

import hashlib
import json

import numpy as np

from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.regression.study import STUDY

SETS = ("boston", "wine", "yacht")
METHODS = ("deltauq", "mcdropout", "pbp")
VERSIONS = {"python": "3.11.7", "sk_deltauq": "0.1", "numpy": "2.0"}
MACHINE = {"system": "Linux", "processor": "a processor", "cores": 2}


def record(data="boston", method="deltauq", split=0, nll=1.0, **fields):
    """One finished task; the scores follow from `nll`."""
    settings = {"class": method.title(), "width": 50}
    return {
        "protocol": "random80",
        "preset": "paper",
        "data": data,
        "method": method,
        "split": split,
        "split_name": f"seed {split}",
        "status": "done",
        "error": "",
        "n_train": 80,
        "n_test": 20,
        "n_features": 4,
        "nll": nll,
        "density_nll": nll - 0.1,
        "rmse": 2 * abs(nll),
        "crps": abs(nll),
        "coverage": 0.9,
        "width": 3.0,
        "calibration_error": 0.02,
        "std_error_correlation": 0.5,
        "fit_seconds": 0.25,
        "predict_seconds": 0.01,
        "quantile_frequencies": [round(0.05 * i, 2) for i in range(1, 20)],
        "warnings": [],
        "settings": settings,
        "settings_id": identifier(settings),
        "data_hash": identifier(data),
        "split_hash": identifier([data, split]),
        "source": f"{data}.csv",
        "versions": VERSIONS,
        "machine": MACHINE,
        **fields,
    }


def failed(data="boston", method="deltauq", split=0, error="Traceback\nValueError: no", **fields):
    """One task that raised an error."""
    scores = (
        *("nll", "density_nll", "rmse", "crps", "coverage", "width", "calibration_error"),
        *("std_error_correlation", "fit_seconds", "predict_seconds", "quantile_frequencies"),
    )
    unknown = dict.fromkeys(scores)
    return record(data, method, split) | unknown | {"status": "failed", "error": error} | fields


def records(data=SETS, methods=METHODS, n_splits=4, seed=0, **fields):
    """Random scores, similar for all methods on a split; the first method is the best."""
    rng = np.random.default_rng(seed)
    found = []
    for name in data:
        difficulty = rng.normal(2, 1, n_splits)
        for i, method in enumerate(methods):
            nll = difficulty + 0.3 * i + 0.05 * rng.standard_normal(n_splits)
            found += [record(name, method, s, float(nll[s]), **fields) for s in range(n_splits)]
    return found


def make_run(found):
    """The frame of records of one protocol and preset."""
    [(_, run)] = split_runs(make_frame(found, STUDY))
    return run


def write_folder(found, folder):
    """Write a results folder as `run` does."""
    for one in found:
        path = folder.joinpath(*(one[k] for k in ("protocol", "preset", "data", "method")))
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{one['split']:02d}.json").write_text(json.dumps(one))
    return folder


def identifier(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]
