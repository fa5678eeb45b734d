"""Intervals of the methods that a reader would choose between, on small real and simulated sets.

The real sets are the embedded sets and scikit-learn's diabetes data, in `random80` splits with the
seeds 130 to 132. The simulated problems have 10 features, of which five or six matter, and 1000
test rows. All methods use one thread. Intervals have a nominal coverage of 90 %.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks_uci.analysis.tables import escape, write_pipes
from benchmarks_uci.datasets import EMBEDDED, load
from benchmarks_uci.intervals.splits import Rows, split_set
from benchmarks_uci.regression.external import GaussianProcess, NGBoost
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import DeepEnsembleRegressor
from sk_deltauq.metrics import coverage, interval_score

COMMITTED = Path(__file__).parents[1] / "results" / "choice" / "intervals.csv"
SEEDS = range(130, 133)
COVERAGE = 0.9
SIZES = (50, 250, 1000)
# The fit of a Gaussian process takes minutes with more rows.
MAX_ROWS = {"Gaussian process": 1000, "Gaussian process, one scale": 1000}


def predict_smooth(X: np.ndarray) -> np.ndarray:
    """Compute Friedman's first function."""
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + X[:, 3:5] @ [10, 5]


def predict_steps(X: np.ndarray) -> np.ndarray:
    """Compute a function that is constant between thresholds, as rules and price lists are."""
    corner = (X[:, 0] > 0.3) & (X[:, 1] > 0.6)
    return 6 * corner + 4 * np.floor(3 * X[:, 2]) * (X[:, 3] > 0.5) - 3 * (X[:, 4] > 0.8)


def draw(function: Callable, noise: Callable, n_train: int, seed: int) -> tuple[Rows, Rows]:
    """Draw training rows and 1000 test rows, with normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_train + 1000, 10))
    y = function(X) + noise(X) * rng.standard_normal(len(X))
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


def draw_gap(n_train: int, seed: int) -> tuple[Rows, Rows]:
    """Draw training rows outside the middle third of the first feature, and test rows inside."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(2 * n_train + 4500, 10))
    middle = np.abs(X[:, 0] - 0.5) < 1 / 6
    y = predict_smooth(X) + rng.standard_normal(len(X))
    train = np.flatnonzero(~middle)[:n_train]
    test = np.flatnonzero(middle)[:1000]
    return (X[train], y[train]), (X[test], y[test])


def get_problems(sources) -> dict[str, Callable[[int], tuple[Rows, Rows]]]:
    """Return a function of the seed for each problem, which draws training and test rows."""
    kinds = {
        "smooth": (predict_smooth, lambda X: 1.0),
        "steps": (predict_steps, lambda X: 1.0),
        "varying noise": (predict_smooth, lambda X: 0.3 + 6 * X[:, 5] ** 2),
    }
    problems: dict[str, Callable] = {
        f"{kind}, {n} rows": partial(draw, function, noise, n)
        for kind, (function, noise) in kinds.items()
        for n in SIZES
    }
    problems["smooth, 250 rows, test in a gap"] = lambda seed: draw_gap(250, seed)
    for name in EMBEDDED:
        problems[name] = partial(split_set, load(name, sources))
    X, y = load_diabetes(return_X_y=True)
    problems["diabetes"] = lambda seed: split_at_random(X, y, seed)
    return problems


def split_at_random(X, y, seed: int) -> tuple[Rows, Rows]:
    """Return 80 % training rows and 20 % test rows."""
    parts: Any = train_test_split(X, y, test_size=0.2, random_state=seed)
    train, test, y_train, y_test = parts
    return (train, y_train), (test, y_test)


def make_predictor(model: Any) -> Callable:
    """Return a function that fits a model of this package and predicts intervals."""

    def predict(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
        fitted = model.set_params(random_state=seed).fit(*train)
        return fitted.predict_interval(X_test, COVERAGE)

    return predict


def make_normal(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Compute the intervals of normal distributions."""
    half = norm.ppf((1 + COVERAGE) / 2) * std
    return np.stack([mean - half, mean + half], axis=1)


def make_normal_predictor(model: Any) -> Callable:
    """Return a function that fits a model with mean and std, and predicts normal intervals."""

    def predict(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
        return make_normal(*model.set_params(random_state=seed).fit(*train).predict(X_test, True))

    return predict


def predict_simple_process(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Predict with a Gaussian process that has one length scale for all features."""
    kernel = ConstantKernel() * RBF(3.0, (1e-2, 1e4)) + WhiteKernel(0.1, (1e-8, 10))
    process = GaussianProcessRegressor(kernel, normalize_y=True)
    model = make_pipeline(StandardScaler(), process).fit(*train)
    return make_normal(*model.predict(X_test, return_std=True))


def predict_quantiles(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Predict with two models of histogram gradient boosting, one per quantile."""
    bounds = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed)
        .fit(*train)
        .predict(X_test)
        for level in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    ]
    return np.sort(np.stack(bounds, axis=1), axis=1)  # quantiles may cross


def predict_split_conformal(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Predict with MAPIE's split conformal around histogram gradient boosting."""
    from mapie.regression import SplitConformalRegressor  # optional

    X, X_kept, y, y_kept = train_test_split(*train, test_size=0.25, random_state=seed)
    model = HistGradientBoostingRegressor(random_state=seed)
    mapie = SplitConformalRegressor(model, COVERAGE, prefit=False)
    mapie.fit(X, y).conformalize(X_kept, y_kept)
    return mapie.predict_interval(X_test)[1][:, :, 0]


def predict_conformal_quantiles(train: Rows, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Predict with MAPIE's conformalised quantile regression, with histogram gradient boosting."""
    from mapie.regression import ConformalizedQuantileRegressor  # optional

    n_kept = max(25, len(train[1]) // 4)  # MAPIE needs more than 20 for 90 %
    X, X_kept, y, y_kept = train_test_split(*train, test_size=n_kept, random_state=seed)
    model = HistGradientBoostingRegressor(loss="quantile", random_state=seed)
    mapie = ConformalizedQuantileRegressor(model, COVERAGE)
    mapie.fit(X, y).conformalize(X_kept, y_kept)
    return mapie.predict_interval(X_test)[1][:, :, 0]


METHODS: dict[str, Callable[[Rows, np.ndarray, int], np.ndarray]] = {
    "Delta-UQ": make_predictor(DeltaUQRegressor()),
    "Delta-UQ, 5 members": make_predictor(DeltaUQRegressor(n_members=5)),
    "Delta-UQ, 5 members, neighbours": make_predictor(
        DeltaUQRegressor(n_members=5, anchors="neighbours", n_anchors=10, refine_mean=True)
    ),
    "deep ensemble": make_predictor(DeepEnsembleRegressor()),
    "Gaussian process": make_normal_predictor(GaussianProcess()),
    "Gaussian process, one scale": predict_simple_process,
    "NGBoost": make_normal_predictor(NGBoost()),
    "boosted quantiles": predict_quantiles,
    "boosting, split conformal": predict_split_conformal,
    "boosted quantiles, conformal": predict_conformal_quantiles,
}


def measure(name: str, draw_rows: Callable, seed: int) -> list[dict]:
    """Fit and score all methods on one split; one row per method."""
    rows = []
    for method, predict in METHODS.items():
        train, (X_test, y_test) = draw_rows(seed)
        if len(train[1]) > MAX_ROWS.get(method, np.inf):
            continue
        lower, upper = predict(train, X_test, seed).T
        scores = {
            "coverage": coverage(y_test, lower, upper),
            "score": interval_score(y_test, lower, upper, COVERAGE) / y_test.std(),
        }
        rows.append({"data": name, "seed": seed, "method": method, **scores})
    return rows


def write_table(column: str, records: list[dict]) -> str:
    """Return the means of a column over the splits as Markdown: one row per problem."""
    names, methods = (dict.fromkeys(row[key] for row in records) for key in ("data", "method"))
    rows = []
    for name in names:
        rows_of_name = [r for r in records if r["data"] == name]
        found = {
            method: [float(r[column]) for r in rows_of_name if r["method"] == method]
            for method in methods
        }
        texts = [f"{fmean(values):.2f}" if values else "" for values in found.values()]
        if column == "score":
            best = min(filter(None, texts), key=float)
            texts = [f"**{text}**" if text == best else text for text in texts]
        rows.append([escape(name), *texts])
    return write_pipes(["problem", *methods], rows, n_left=1)
