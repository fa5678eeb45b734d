"""The study of calibration under shift: fit once, predict clean and shifted rows, score."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks_uci.classification import metrics, sets
from benchmarks_uci.classification.methods import ABLATIONS, METHODS, PRESETS
from benchmarks_uci.classification.protocols import SHIFT
from benchmarks_uci.classification.shifts import (
    SEVERITIES,
    Shifter,
    list_shifts,
    measure_amount,
    read_strengths,
)
from benchmarks_uci.engine.study import Split, Study
from benchmarks_uci.timing import warm_up


def fit_and_score(model: Any, seed: int, split: Split, dataset: sets.LabelledSet) -> dict:
    """Fit on the training rows, and score clean and shifted test rows."""
    warm_up(model)
    # Processor time, because a fit has one thread: other work of the machine does not count.
    start = time.process_time()
    model.fit(dataset.X[split.train], dataset.y[split.train])
    fitted = time.process_time()
    X, y = dataset.X[split.test], dataset.y[split.test]
    clean = _score(model, X, y)
    predicted = time.process_time()
    at = score_shifts(model, X, y, Shifter(dataset, split.train, seed), dataset)
    shifts = list_shifts(dataset.kind)
    unseen = [shift for shift in shifts if not shift.resembles]
    found: dict[str, Any] = {
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
    }
    for name in metrics.PROBABILITY:
        by_severity = [_average(at, shifts, severity, name) for severity in SEVERITIES]
        found |= {
            name: clean[name],
            f"{name}_3": by_severity[SEVERITIES.index(3)],
            f"{name}_5": by_severity[-1],
            f"{name}_unseen": _average(at, unseen, SEVERITIES[-1], name),
            f"{name}_by_severity": [clean[name], *by_severity],
            f"{name}_by_shift": [at[shift.name, SEVERITIES[-1]][name] for shift in shifts],
        }
    # The variants of the ablation inherit sets that know nothing of their change.
    if not isinstance(model, _find_variants()) and hasattr(model, "predict_set"):
        found["sets"] = measure_sets(model, X, y, Shifter(dataset, split.train, seed), dataset)
    return found


def score_shifts(model, X, y, shifter: Shifter, dataset) -> dict[tuple[str, int], dict]:
    """Score each shift at each severity, by name and severity."""
    strengths = read_strengths()[dataset.name]
    return {
        (shift.name, severity): _score(
            model, shifter.apply(X, shift, measure_amount(strengths[shift.name], severity)), y
        )
        for shift in list_shifts(dataset.kind)
        for severity in SEVERITIES
    }


def measure_sets(model, X, y, shifter: Shifter, dataset) -> list[float]:
    """Return `metrics.SET_PARTS`; coverage and size at severity 3 are means over the shifts."""
    from benchmarks_uci.classification.scores import score_sets

    strengths, found = read_strengths()[dataset.name], defaultdict(list)
    for shift in list_shifts(dataset.kind):
        rows = shifter.apply(X, shift, measure_amount(strengths[shift.name], 3))
        predicted = model.predict_set(rows, coverage=metrics.COVERAGE)
        found["shifted"].append(score_sets(y, predicted, model.classes_))
    clean = score_sets(y, model.predict_set(X, coverage=metrics.COVERAGE), model.classes_)
    return [*clean, *np.mean(found["shifted"], axis=0).tolist()]


def _score(model, X, y):
    from benchmarks_uci.classification.scores import score_probabilities

    return score_probabilities(y, model.predict_log_proba(X), model.classes_)


def _average(at, shifts, severity, name) -> float:
    return float(np.mean([at[shift.name, severity][name] for shift in shifts]))


def _find_variants() -> tuple[type, ...]:
    from benchmarks_uci.classification.variants import BatchTempered, MeanOnly, Naive  # torch

    return BatchTempered, MeanOnly, Naive


def _load(name, sources):
    return sets.load(name, sources)  # looked up on each call, so that tests can replace it


def _score_task(task, model, split, dataset):
    return fit_and_score(model, task.split, split, dataset)


STUDY = Study(
    module=__name__,
    data=sets.NAMES,
    load=_load,
    methods=METHODS,
    variants=ABLATIONS,
    protocols=SHIFT,
    presets=PRESETS,
    metrics=metrics.SHIFT,
    curves=metrics.SHIFT_CURVES,
    score=_score_task,
    references=("deltauq-5", "deltauq"),
    costs=metrics.SECONDS,
    overview=("accuracy", "ece", "nll", "ece_5", "nll_5", "nll_unseen", "fit_seconds"),
    defaults={
        "data": ",".join(sets.LOCAL),
        "methods": "mlp,deepensemble,deltauq",
        "protocol": "shift",
    },
    sentences={
        "scores": "Mean ± standard error over the splits. Severities are means over all shifts of "
        "the set; unseen are the shifts that resemble no operation of training or calibration. "
        "Lower NLL, ECE and Brier are better. Each fit uses one thread."
    },
)
