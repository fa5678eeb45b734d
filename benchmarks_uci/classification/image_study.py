"""The study of images: convolutional networks, and images of another kind as outliers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks_uci.classification import fashion, metrics, sets
from benchmarks_uci.classification.methods import IMAGE_METHODS, METHODS, PRESETS
from benchmarks_uci.classification.protocols import (
    DEVELOPMENT,
    MAX_TEST,
    MAX_TRAIN,
    SEEDS,
    make_protocol,
    split_rows,
)
from benchmarks_uci.datasets import Sources
from benchmarks_uci.engine.study import Split, Study
from benchmarks_uci.timing import warm_up

N_PHOTOS = 2000


@dataclass(frozen=True)
class ImageSet:
    """Images with class numbers, and images of another kind, as read-only arrays."""

    name: str
    X: np.ndarray  # (sample, pixel), float64
    y: np.ndarray  # (sample,), class numbers from 0
    order: np.ndarray  # row numbers in sorted order
    strange: np.ndarray  # (image, pixel)
    source: str
    content_hash: str  # of `X` and `y`, see `LabelledSet`

    def __post_init__(self):
        for array in (self.X, self.y, self.order, self.strange):
            array.setflags(write=False)


def fit_and_score(model: Any, split: Split, dataset: ImageSet, strange: np.ndarray) -> dict:
    """Fit on the training images, score the test images, and rank them against strange ones."""
    from benchmarks_uci.classification.scores import score_outliers, score_probabilities

    warm_up(model)
    start = time.process_time()
    model.fit(dataset.X[split.train], dataset.y[split.train])
    fitted = time.process_time()
    X, y = dataset.X[split.test], dataset.y[split.test]
    found = score_probabilities(y, model.predict_log_proba(X), model.classes_)
    for kind in metrics.KINDS:
        inside, outside = (model.outlier_score(rows, kind=kind) for rows in (X, strange))
        found[f"auroc_{kind}"] = score_outliers(inside, outside)["auroc"]
    predicted = time.process_time()
    return {**found, "fit_seconds": fitted - start, "predict_seconds": predicted - fitted}


def load(name: str, sources: Sources | None = None) -> ImageSet:
    """Load clothes with digits as strange images, or digits with photographs."""
    from benchmarks_uci.classification.sources import read_other  # imports scikit-learn

    if name == fashion.NAME:
        dataset = fashion.load(sources)
        strange = sets.load(fashion.SPEC.other, sources).X
    else:
        dataset = sets.load(name, sources)
        strange = read_other(dataset, N_PHOTOS, np.random.default_rng(0))
    parts = dataset.X, dataset.y, dataset.order, strange
    return ImageSet(name, *parts, dataset.source, dataset.content_hash)


def _load(name, sources):
    return load(name, sources)  # looked up on each call, so that tests can replace it


def _score_task(task, model, split, dataset):
    rng = np.random.default_rng(task.split)
    drawn = rng.choice(len(dataset.strange), len(split.test), replace=False)
    return fit_and_score(model, split, dataset, dataset.strange[drawn])


_IMAGES = f"random 75/25 splits, at most {MAX_TRAIN:,} training and {MAX_TEST} test images"
STUDY = Study(
    module=__name__,
    data=("digits", fashion.NAME),
    load=_load,
    methods={name: METHODS[name] for name in ("deepensemble", "deltauq-5")} | IMAGE_METHODS,
    protocols={
        name: make_protocol(name, _IMAGES, split_rows, seeds)
        for name, seeds in (("images", SEEDS), ("images-development", DEVELOPMENT))
    },
    presets=PRESETS,
    metrics=metrics.IMAGES,
    score=_score_task,
    references=("deltauq-5-conv", "deltauq-conv"),
    costs=metrics.SECONDS,
    overview=("accuracy", "ece", "nll", "auroc_combined", "auroc_mutual_information"),
    defaults={"data": "digits", "methods": "deltauq-conv", "protocol": "images"},
    sentences={
        "scores": "Mean ± standard error over the splits. AUROC: the probability that a strange "
        "image has a larger score than a test image. Each fit uses one thread."
    },
)
