"""A second study: find the row with the largest target, one fit per step and no test rows."""

import numpy as np

from benchmarks_uci.engine.study import Curve, Method, Metric, Protocol, Split, Study
from tests.benchmarks_uci._helpers import toy_dataset

STEPS = 4


def make_neighbours(n_neighbors):
    def make(preset, n_rows, random_state):
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor(n_neighbors)

    return make


def search(task, model, split, dataset):
    """In each step, fit to the seen rows and add the row with the largest prediction."""
    seen, best = split.train.tolist(), []
    for _ in range(STEPS):
        predicted = model.fit(dataset.X[seen], dataset.y[seen]).predict(dataset.X)
        predicted[seen] = -np.inf
        seen.append(int(np.argmax(predicted)))
        best.append(float(dataset.y[seen].max()))
    return {"regret": float(dataset.y.max() - best[-1]), "steps": float(STEPS), "progress": best}


def draw_starts(dataset):
    """Three random starting rows, for each of five seeds."""
    rows = [np.random.default_rng(seed).permutation(len(dataset.X)) for seed in range(5)]
    return [Split(f"start {i}", train=r[:3], test=r[:0]) for i, r in enumerate(rows)]


STUDY = Study(
    module=__name__,
    data=("hills", "valleys"),
    load=lambda name, sources: toy_dataset(name=name, seed=len(name)),
    methods={
        f"nearest-{k}": Method(f"nearest-{k}", f"{k} neighbours", "", "", make_neighbours(k))
        for k in (1, 3)
    },
    protocols={"starts": Protocol("starts", "random starting rows", draw_starts)},
    presets=("default",),
    metrics={
        "regret": Metric("regret", "regret", 1, unit_free=False),
        "steps": Metric("steps", "steps", 0, loss=None),
    },
    curves={"progress": Curve("Progress", "step", "best target so far", range(1, STEPS + 1))},
    score=search,
    references=("nearest-3",),
    costs=("steps",),
    overview=("regret", "steps"),
    defaults={"data": "hills,valleys", "methods": "nearest-1,nearest-3", "protocol": "starts"},
)
