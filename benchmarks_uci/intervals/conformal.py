"""Conformal intervals on the same splits: ours, and MAPIE's residual-normalised split conformal.

Splits are `random80` with the seeds 130 to 134. MAPIE fits its model on 60 % of the
training rows, its model of the residuals on 20 %, and the interval on 20 %. Ours use all training
rows ("conformal"), or fit on 80 % and call `conformalize` with 20 %.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks_uci.analysis.tables import escape, write_pipes
from benchmarks_uci.datasets import load
from benchmarks_uci.intervals.splits import Rows, split_set
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.metrics import coverage, interval_score, mean_width

COMMITTED = Path(__file__).parents[1] / "results" / "conformal" / "intervals.csv"
SETS = ("boston", "concrete", "energy", "yacht", "wine")
SEEDS = range(130, 135)
COVERAGE = 0.9
SLAB, N_DIRECTIONS = 0.2, 300  # share of the test rows in a slab
SCORES = {
    "coverage": "coverage",
    "worst_slab": "in the worst slab",
    "narrow": "narrow third",
    "wide": "wide third",
    "width": "mean width",
    "score": "interval score",
}
Intervals = dict[str, np.ndarray]  # (row, 2), by method


def draw_simulated(seed: int) -> tuple[Rows, Rows]:
    """Draw 500 training and 1000 test rows: a sine, with noise that grows with one feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(1500, 3))
    std = 0.1 + 0.4 * np.abs(X[:, 1])
    y = np.sin(2 * X[:, 0]) + X[:, 1] + std * rng.standard_normal(1500)
    return (X[:500], y[:500]), (X[500:], y[500:])


def predict_ours(train: Rows, X_test: np.ndarray, seed: int) -> Intervals:
    """Predict the interval of the distribution, CV+, and the one after `conformalize`."""
    model = DeltaUQRegressor(random_state=seed).fit(*train)
    X, X_kept, y, y_kept = train_test_split(*train, test_size=0.2, random_state=seed)
    on_part = DeltaUQRegressor(random_state=seed).fit(X, y).conformalize(X_kept, y_kept)
    return {
        "ours, distribution": model.predict_interval(X_test, COVERAGE),
        "ours, conformal": model.predict_interval(X_test, COVERAGE, method="conformal"),
        "ours, conformalize": on_part.predict_interval(X_test, COVERAGE, method="conformal"),
    }


def predict_mapie(train: Rows, X_test: np.ndarray, seed: int) -> Intervals:
    """Predict with MAPIE around three models; a random forest learns the residuals."""
    # Optional
    from mapie.conformity_scores import ResidualNormalisedScore
    from mapie.regression import SplitConformalRegressor

    network = MLPRegressor(solver="lbfgs", random_state=seed)
    network = GridSearchCV(network, {"alpha": [0.01, 1, 30]}, cv=3)
    network = TransformedTargetRegressor(network, transformer=StandardScaler())
    models = {
        "MAPIE, network": make_pipeline(StandardScaler(), network),
        "MAPIE, boosting": HistGradientBoostingRegressor(random_state=seed),
        "MAPIE, our model": DeltaUQRegressor(random_state=seed),
    }
    X, X_kept, y, y_kept = train_test_split(*train, test_size=0.4, random_state=seed)
    found = {}
    for name, model in models.items():
        residuals = RandomForestRegressor(min_samples_leaf=5, random_state=seed)
        score = ResidualNormalisedScore(residuals, split_size=0.5, random_state=seed)
        mapie = SplitConformalRegressor(model, COVERAGE, conformity_score=score, prefit=False)
        mapie.fit(X, y).conformalize(X_kept, y_kept)
        found[name] = mapie.predict_interval(X_test)[1][:, :, 0]
    return found


def cover_worst_slab(X: np.ndarray, covered: np.ndarray, seed: int) -> float:
    """Return the coverage in the worst slab (Romano, Sesia and Candès, 2020).

    A slab holds the rows between two values along a direction. Half of the rows choose the
    slab with the smallest coverage, the other half measure it. Then the halves change places.
    Random directions are in standardised features.
    """
    rng = np.random.default_rng(seed)
    Z = StandardScaler().fit_transform(X)
    directions = rng.normal(size=(N_DIRECTIONS, X.shape[1]))
    halves = np.array_split(rng.permutation(len(X)), 2)
    found = []
    for choosing, measuring in (halves, halves[::-1]):
        n_slab = max(int(np.ceil(SLAB * len(choosing))), 1)
        # First and last row of each slab, in the order along the direction
        bounds = np.triu_indices(len(choosing), n_slab - 1)
        slabs = (_find_slab(Z[choosing] @ d, covered[choosing], *bounds) for d in directions)
        at, (_, low, high) = min(enumerate(slabs), key=lambda slab: slab[1][0])
        places = Z[measuring] @ directions[at]
        found.append(covered[measuring][(low <= places) & (places <= high)])
    return float(np.concatenate(found).mean())


def _find_slab(places: np.ndarray, covered: np.ndarray, first: np.ndarray, last: np.ndarray):
    """Return the smallest coverage of a slab along a direction, and the ends of the slab."""
    order = np.argsort(places)
    sums = np.concatenate([[0], covered[order].cumsum()])
    shares = (sums[last + 1] - sums[first]) / (last + 1 - first)
    at = int(shares.argmin())
    return shares[at], places[order[first[at]]], places[order[last[at]]]


def score_interval(interval: np.ndarray, X: np.ndarray, y: np.ndarray, seed: int) -> dict:
    """Return the scores of one split; widths are in standard deviations of the test targets."""
    lower, upper = interval.T
    covered = (lower <= y) & (y <= upper)
    thirds = np.array_split(covered[np.argsort(upper - lower, kind="stable")], 3)
    return {
        "coverage": coverage(y, lower, upper),
        "worst_slab": cover_worst_slab(X, covered, seed),
        "narrow": thirds[0].mean(),
        "wide": thirds[2].mean(),
        "width": mean_width(lower, upper) / y.std(),
        "score": interval_score(y, lower, upper, COVERAGE) / y.std(),
    }


def get_problems(sources) -> dict[str, Callable[[int], tuple[Rows, Rows]]]:
    """Return a function of the seed for each problem, which draws training and test rows."""
    problems: dict[str, Callable] = {
        name: partial(split_set, load(name, sources)) for name in SETS
    }
    return problems | {"simulated": draw_simulated}


def measure(name: str, draw: Callable[[int], tuple[Rows, Rows]], seeds=SEEDS) -> list[dict]:
    """Fit and score all methods; one row per seed and method."""
    rows = []
    for seed in seeds:
        train, (X, y) = draw(seed)
        intervals = predict_ours(train, X, seed) | predict_mapie(train, X, seed)
        for method, interval in intervals.items():
            scores = score_interval(interval, X, y, seed)
            rows.append({"data": name, "seed": seed, "method": method, **scores})
    return rows


def write_table(records: list[dict]) -> str:
    """Return the means over the splits as Markdown: per set, then over all sets."""
    sets, methods = (dict.fromkeys(row[key] for row in records) for key in ("data", "method"))
    rows = []
    for name in [*sets, "all"]:
        for method in methods:
            part = [r for r in records if r["method"] == method and name in (r["data"], "all")]
            means = [f"{fmean(float(row[key]) for row in part):.2f}" for key in SCORES]
            rows.append([escape(name), escape(method), *means])
    return write_pipes(["set", "method", *SCORES.values()], rows, n_left=2)
