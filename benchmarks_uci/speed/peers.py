"""Common alternatives compared with ours: seconds of fit and prediction with a std, and the NLL.

All methods train on the same random splits of real sets. NGBoost and MAPIE are in the extra
`external`. Peers that are not installed and sets that are not available are left out.
"""

from __future__ import annotations

import importlib.util
import logging
import time
import warnings
from collections.abc import Callable
from statistics import fmean
from typing import Any, NamedTuple

from sklearn.model_selection import train_test_split

from benchmarks_uci import datasets
from benchmarks_uci.regression import external
from benchmarks_uci.regression.methods import METHODS
from benchmarks_uci.speed.results import Result, speed_up
from benchmarks_uci.timing import warm_up
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.metrics import gaussian_nll

logger = logging.getLogger("benchmarks_uci")

SETS = ["concrete", "wine", "power"]
SEEDS = [100, 101, 102]  # of the splits; the benchmark uses other seeds
LARGE = 5000  # sets with more rows have one split, because it is precise enough
OURS = "DeltaUQRegressor(n_members=5)"


class Peer(NamedTuple):
    """A method to compare with.

    `make(n_rows, random_state)` creates an estimator for `n_rows` training rows. `requires` is a
    package that it needs. `max_rows` is the largest number of training rows that it can fit.
    """

    make: Callable[[int, int], Any]
    requires: str | None = None
    max_rows: int | None = None


def _from_benchmark(name):
    method = METHODS[name]
    return Peer(
        lambda n_rows, random_state: method.make("default", n_rows, random_state),
        max_rows=method.max_rows,
    )


def _ours(n_rows, random_state):
    return DeltaUQRegressor(n_members=5, random_state=random_state)


def _ngboost(n_rows, random_state):
    return external.NGBoost(n_estimators=500, random_state=random_state)


def _jackknife(n_rows, random_state):
    mlp: Any = METHODS["mlp"].make("default", n_rows, random_state)
    return external.JackknifePlus(mlp.estimator, random_state=random_state)


PEERS = {
    "NGBoost, 500 trees": Peer(_ngboost, requires="ngboost"),
    "GaussianProcessRegressor": _from_benchmark("gp"),
    "MAPIE, jackknife+ after bootstrap, MLPRegressor": Peer(_jackknife, requires="mapie"),
    "BaggingRegressor of five MLPRegressor": _from_benchmark("mlp-5"),
}


def measure(quick: bool, sources: datasets.Sources) -> list[Result]:
    """Ratios of seconds and differences of the NLL, for each peer and each set."""
    results = []
    for name in SETS[:1] if quick else SETS:
        try:
            data = datasets.load(name, sources)
        except datasets.DataUnavailable as error:
            logger.warning("Left out: %s. %s", name, error)
            continue
        seeds = SEEDS[:1] if quick or len(data.y) > LARGE else SEEDS
        results += _compare_on(data, seeds, 60 if quick else None)
    return results


def _compare_on(data, seeds, n_rows):
    """Run all methods in turns on each split of the first `n_rows` rows; None takes all rows."""
    X, y = data.X[:n_rows], data.y[:n_rows]
    splits = [train_test_split(X, y, test_size=0.2, random_state=seed) for seed in seeds]
    n_train = len(splits[0][0])
    peers = list_available(n_train)
    compared = {OURS: Peer(_ours), **peers}
    seconds, nlls = {name: [] for name in compared}, {name: [] for name in compared}
    for i, (seed, split) in enumerate(zip(seeds, splits, strict=True)):
        for name in list(compared)[:: -1 if i % 2 else 1]:
            model = compared[name].make(n_train, seed)
            warm_up(model, compared[name].requires)
            spent, nll = fit_and_score(model, *split)
            seconds[name].append(spent)
            nlls[name].append(nll)
    results = []
    for peer in peers:
        results += _results(peer, f"{data.name}, n = {n_train:,}", seconds, nlls)
    return results


def _results(peer, where, seconds, nlls):
    pair = {"ours": seconds[OURS], "theirs": seconds[peer]}
    means = {"ours": fmean(nlls[OURS]), "theirs": fmean(nlls[peer])}
    difference = means["ours"] - means["theirs"]
    what = f"fit and predict with std, {where}"
    return [
        speed_up(what, peer, pair, "ours", "theirs", goal=1),
        Result(f"NLL, {where}", peer, difference, "nats more", 0, parts=means, parts_unit="nats"),
    ]


def list_available(n_train: int) -> dict[str, Peer]:
    """List the `PEERS` that are installed and can fit this number of rows."""
    found = {}
    for title, peer in PEERS.items():
        if peer.requires and importlib.util.find_spec(peer.requires) is None:
            logger.warning("Left out: %s. %s is not installed.", title, peer.requires)
        elif peer.max_rows is None or n_train <= peer.max_rows:
            found[title] = peer
    return found


def fit_and_score(model, X, X_test, y, y_test) -> tuple[float, float]:
    """Measure the seconds of fit and prediction together, and the NLL of mean and std."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about hyperparameters at their bounds, for example
        start = time.perf_counter()
        mean, std = model.fit(X, y).predict(X_test, return_std=True)
        seconds = time.perf_counter() - start
    return seconds, gaussian_nll(y_test, mean, std)
