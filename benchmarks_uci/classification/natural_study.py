"""The study of a natural shift: fit on flights of one season, and score all four."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks_uci.classification import flights, metrics
from benchmarks_uci.classification.methods import METHODS, PRESETS
from benchmarks_uci.classification.protocols import (
    DEVELOPMENT,
    MAX_TEST,
    MAX_TRAIN,
    SEEDS,
    make_protocol,
)
from benchmarks_uci.engine.study import Split, Study


def find_season(month: np.ndarray) -> np.ndarray:
    """Return positions in `metrics.SEASONS` for months from 1 to 12."""
    return (month - 1) // 3


def split_seasons(dataset: flights.DatedSet, seed: int) -> Split:
    """Return random training rows of the first season, and as many test rows of each season."""
    rng, season = np.random.default_rng(seed), find_season(dataset.month)
    drawn = [
        rng.choice(np.flatnonzero(season == number), MAX_TEST + (number == 0) * MAX_TRAIN, False)
        for number in range(len(metrics.SEASONS))
    ]
    train, drawn[0] = drawn[0][:MAX_TRAIN], drawn[0][MAX_TRAIN:]
    return Split(f"seed {seed}", train=train, test=np.concatenate(drawn))


def fit_and_score(model: Any, split: Split, dataset: flights.DatedSet) -> dict:
    """Fit on the training rows, and score the test rows of each season."""
    from benchmarks_uci.classification.scores import score_probabilities, score_sets
    from benchmarks_uci.regression.scores import warm_up  # imports torch

    warm_up(model, None)
    start = time.process_time()
    model.fit(dataset.X[split.train], dataset.y[split.train])
    fitted = time.process_time()
    season = find_season(dataset.month[split.test])
    found = {"fit_seconds": fitted - start}
    for number, name in enumerate(metrics.SEASONS):
        rows = split.test[season == number]
        X, y = dataset.X[rows], dataset.y[rows]
        scores = score_probabilities(y, model.predict_log_proba(X), model.classes_)
        sets = model.predict_set(X, coverage=metrics.COVERAGE)
        scores["coverage"], _ = score_sets(y, sets, model.classes_)
        found |= {f"{score}_{name}": scores[score] for score in metrics.BY_SEASON}
    return {**found, "predict_seconds": time.process_time() - fitted}


_FLIGHTS = (
    f"{MAX_TRAIN:,} random flights of January to March for training, {MAX_TEST} others of each "
    "season for the test"
)


def _load(name, sources):
    return flights.load(name, sources)  # looked up on each call, so that tests can replace it


def _score_task(task, model, split, dataset):
    return fit_and_score(model, split, dataset)


STUDY = Study(
    module=__name__,
    data=(flights.NAME,),
    load=_load,
    methods=METHODS,
    protocols={
        name: make_protocol(name, _FLIGHTS, split_seasons, seeds)
        for name, seeds in (("natural", SEEDS), ("natural-development", DEVELOPMENT))
    },
    presets=PRESETS,
    metrics=metrics.NATURAL,
    score=_score_task,
    references=("deltauq-5", "deltauq"),
    costs=metrics.SECONDS,
    overview=("accuracy_winter", "ece_winter", "ece_summer", "nll_winter", "nll_summer"),
    defaults={
        "data": flights.NAME,
        "methods": "mlp,deepensemble,deltauq",
        "protocol": "natural",
    },
    sentences={
        "scores": "Mean ± standard error over the splits. All networks are trained on flights of "
        "winter. Lower NLL, ECE and Brier are better. Each fit uses one thread."
    },
)
