"""Which rows train and which test: pure functions of a set, the same for every method."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks_uci.classification.sets import LabelledSet
from benchmarks_uci.engine.study import Protocol, Split

SEEDS = range(5)
DEVELOPMENT = range(100, 105)  # settings are chosen on splits that no table shows
MAX_TRAIN, MAX_TEST = 1500, 600
TEST_SIZE = 0.25


def split_rows(dataset: LabelledSet, seed: int) -> Split:
    """Return a stratified random 75/25 split, at most `MAX_TRAIN` and `MAX_TEST` rows."""
    y = dataset.y[dataset.order]
    n_test = round(TEST_SIZE * len(y))
    splitter = StratifiedShuffleSplit(
        n_splits=1,
        train_size=min(len(y) - n_test, MAX_TRAIN),
        test_size=min(n_test, MAX_TEST),
        random_state=seed,
    )
    [(train, test)] = splitter.split(y[:, None], y)
    return Split(f"seed {seed}", train=dataset.order[train], test=dataset.order[test])


def leave_out_class(dataset: LabelledSet, seed: int) -> Split:
    """Return the same split without one class in the training rows; the test rows keep it.

    The class is drawn at random. A set of two classes would leave only one to train on.
    """
    classes = np.unique(dataset.y)
    if len(classes) < 3:
        raise ValueError(
            f"{dataset.name} has {len(classes)} classes: without one of them, a classifier has "
            "nothing to tell apart."
        )
    split = split_rows(dataset, seed)
    left_out = np.random.default_rng(seed).choice(classes)
    train = split.train[dataset.y[split.train] != left_out]
    return Split(f"{split.name}, without class {left_out}", train=train, test=split.test)


def make_protocol(name: str, description: str, split, seeds: range) -> Protocol:
    """Return the protocol of `split(dataset, seed)` for each seed."""
    return Protocol(
        name,
        f"{description}, seeds {seeds[0]} to {seeds[-1]}",
        lambda dataset: [split(dataset, seed) for seed in seeds],
        count=lambda data: len(seeds),
        overlapping=True,
    )


_WHOLE = f"random 75/25 splits, at most {MAX_TRAIN:,} training and {MAX_TEST} test rows"
_WITHOUT = f"{_WHOLE}, one class left out of the training rows"
SHIFT = {
    p.name: p
    for p in [
        make_protocol("shift", _WHOLE, split_rows, SEEDS),
        make_protocol("shift-development", _WHOLE, split_rows, DEVELOPMENT),
    ]
}
OUTLIERS = {
    p.name: p
    for p in [
        make_protocol("outliers", _WITHOUT, leave_out_class, SEEDS),
        make_protocol("outliers-development", _WITHOUT, leave_out_class, DEVELOPMENT),
    ]
}
