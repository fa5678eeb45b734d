"""The study of outliers: fit without one class, and rank clean test rows against strange rows."""

from __future__ import annotations

import time
from pkgutil import resolve_name
from typing import Any

import numpy as np

from benchmarks_uci.classification import metrics, sets
from benchmarks_uci.classification.methods import METHODS as NETWORKS
from benchmarks_uci.classification.methods import PRESETS
from benchmarks_uci.classification.protocols import OUTLIERS
from benchmarks_uci.classification.shifts import (
    SEVERITIES,
    Shifter,
    list_shifts,
    measure_amount,
    read_strengths,
)
from benchmarks_uci.engine.study import Method, Split, Study
from benchmarks_uci.timing import warm_up

# The networks that take part, and the score that each is judged by. A baseline has the entropy of
# its prediction, as in the literature; with a plus sign, it has the score of Delta-UQ.
NETWORK_SCORES = {
    "mlp": "entropy",
    "mcdropout": "entropy",
    "bnn": "entropy",
    "deltauq": "combined",
    "deepensemble": "entropy",
    "deltauq-5": "combined",
    "deepensemble+": "combined",
}


def _peer(name, title, estimator, seeded, **settings):
    """Return an outlier detector of scikit-learn, on standardised rows."""

    def make(preset, n_rows, random_state):
        scaler = resolve_name("sklearn.preprocessing.StandardScaler")()
        seed = {"random_state": random_state} if seeded else {}
        detector = resolve_name(f"sklearn.{estimator}")(**settings, **seed)
        return resolve_name("sklearn.pipeline.make_pipeline")(scaler, detector)

    description = f"scikit-learn's {estimator.rpartition('.')[2]} on standardised rows."
    return Method(name, title, description, "scikit-learn's defaults.", make)


PEERS = {
    method.name: method
    for method in [
        _peer("lof", "local outlier factor", "neighbors.LocalOutlierFactor", False, novelty=True),
        _peer("svm", "one-class SVM", "svm.OneClassSVM", False),
        _peer("forest", "isolation forest", "ensemble.IsolationForest", True),
    ]
}


def fit_and_score(model: Any, kind: str, seed: int, split: Split, dataset) -> dict:
    """Fit on the training rows, and score the test rows with `kind`; AUROC of all kinds too."""
    warm_up(model)
    start = time.process_time()
    y_train = dataset.y[split.train]
    model.fit(dataset.X[split.train], y_train)
    fitted = time.process_time()
    known = np.isin(dataset.y[split.test], y_train)
    X = dataset.X[split.test]
    inside = list_scores(model, X[known])
    predicted = time.process_time()
    found: dict[str, Any] = {
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
    }
    outside = draw_outliers(dataset, split, X[known], X[~known], seed)
    for source, parts in outside.items():
        scored = [compare(inside, list_scores(model, rows)) for rows in parts]
        means = {
            name: {
                s: float(np.mean([part[name][s] for part in scored])) for s in metrics.DETECTION
            }
            for name in inside
        }
        found |= {f"{score}_{source}": value for score, value in means[kind].items()}
        found |= {
            f"{name}_{source}": [means[name]["auroc"]] for name in inside if name in metrics.KINDS
        }
    return found


def draw_outliers(dataset, split: Split, known, unknown, seed: int) -> dict[str, list[np.ndarray]]:
    """Return the outliers by source: the known rows under each shift, and two other kinds."""
    from benchmarks_uci.classification.sources import read_other  # imports scikit-learn

    strengths, shifter = read_strengths()[dataset.name], Shifter(dataset, split.train, seed)
    amount = {name: measure_amount(s, SEVERITIES[-1]) for name, s in strengths.items()}
    return {
        "shift": [
            shifter.apply(known, shift, amount[shift.name]) for shift in list_shifts(dataset.kind)
        ],
        "class": [unknown],
        "other": [read_other(dataset, len(known), np.random.default_rng(seed))],
    }


def list_scores(model, X) -> dict[str, np.ndarray]:
    """Return the outlier scores of rows by kind; scikit-learn's detectors have one, `own`."""
    if hasattr(model, "score_samples"):
        return {"own": -model.score_samples(X)}
    return {kind: model.outlier_score(X, kind=kind) for kind in metrics.KINDS}


def compare(inside: dict, outside: dict) -> dict[str, dict[str, float]]:
    """Score each kind of outlier score."""
    from benchmarks_uci.classification.scores import score_outliers

    return {name: score_outliers(inside[name], outside[name]) for name in inside}


def _load(name, sources):
    return sets.load(name, sources)  # looked up on each call, so that tests can replace it


def _score_task(task, model, split, dataset):
    kind = NETWORK_SCORES.get(task.method, "own")
    return fit_and_score(model, kind, task.split, split, dataset)


_METHODS: dict[str, Method] = {**PEERS, **{name: NETWORKS[name] for name in NETWORK_SCORES}}

STUDY = Study(
    module=__name__,
    data=sets.NAMES,
    load=_load,
    methods=_METHODS,
    protocols=OUTLIERS,
    presets=PRESETS,
    metrics=metrics.OUTLIERS,
    curves=metrics.OUTLIER_CURVES,
    score=_score_task,
    references=("deltauq-5", "deltauq"),
    costs=metrics.SECONDS,
    overview=("auroc_shift", "auroc_class", "auroc_other", "fit_seconds"),
    defaults={
        "data": "digits,wine",
        "methods": "lof,svm,forest,deepensemble,deltauq",
        "protocol": "outliers",
    },
    sentences={
        "scores": "Mean ± standard error over the splits. AUROC: the probability that an outlier "
        "has a larger score than a clean test row. Shifted rows are at severity 5, the mean over "
        "the shifts. Each fit uses one thread."
    },
)
