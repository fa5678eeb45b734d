"""Training: one network beside other loops, five networks beside one, and a grid search."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, ParameterGrid
from skorch import NeuralNet
from torch import nn

from benchmarks_uci.speed.results import Result, measure_in_turns, slow_down, speed_up
from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import DeepEnsembleRegressor
from sk_deltauq.metrics import nll_scorer

WIDTHS, LEARNING_RATE, NLL_BETA = (50, 50), 3e-3, 0.5
N_MEMBERS = 5
GRID = {"hidden_layer_sizes": [(50,), (50, 50)], "alpha": [0.0, 1e-3]}


class Size(NamedTuple):
    """Size of the training set, its batch size, and the number of epochs."""

    n_rows: int
    n_features: int
    batch_size: int
    epochs: int

    def __str__(self):
        return f"n = {self.n_rows:,}, d = {self.n_features}, {self.epochs} epochs"

    def arguments(self):
        """Random rows and the settings, as the functions below take them."""
        return *random_rows(self.n_rows, self.n_features), self.batch_size, self.epochs


SIZES = [Size(1030, 8, 32, 40), Size(36_000, 9, 256, 2)]
QUICK_SIZES = [Size(200, 8, 32, 2)]
MILLION, QUICK_MILLION = Size(1_000_000, 50, 1024, 3), Size(2000, 50, 64, 2)

# Upper bounds of the ratio of five members to one network, by the number of rows
MEMBER_GOALS = {1030: 1.8, 36_000: 2.5}


def measure(quick: bool) -> list[Result]:
    """All comparisons at each size; a million rows are compared with the bare loop only."""
    results = []
    for size in QUICK_SIZES if quick else SIZES:
        arguments = size.arguments()
        functions = {
            "ours": functools.partial(fit_ours, *arguments),
            "bare": functools.partial(fit_bare, *arguments),
            "skorch": functools.partial(fit_skorch, *arguments),
            "early stopping": functools.partial(fit_ours, *arguments, early_stopping=True),
        }
        seconds = measure_in_turns(functions, 1 if quick else 7)
        stopping = f"fit with early stopping (10 % of the rows held out), {size}"
        results += [
            _compare_with_bare(seconds, size, goal=1.25),
            speed_up(f"fit, {size}", "plain skorch, same steps", seconds, "ours", "skorch", 2.5),
            slow_down(stopping, "fit without early stopping", seconds, "early stopping", "ours"),
        ]
    return [*results, _measure_million(quick)]


def _measure_million(quick):
    size = QUICK_MILLION if quick else MILLION
    X, y, *settings = size.arguments()
    X, y = X.astype(np.float32), y.astype(np.float32)
    functions = {
        name: functools.partial(fit, X, y, *settings)
        for name, fit in (("ours", fit_ours), ("bare", fit_bare))
    }
    seconds = measure_in_turns(functions, 1 if quick else 3)
    return _compare_with_bare(seconds, size, goal=1.15)


def _compare_with_bare(seconds, size, goal):
    against = "bare PyTorch loop, same steps"
    return slow_down(f"fit, {size}", against, seconds, "ours", "bare", goal)


def measure_members(quick: bool) -> list[Result]:
    """Five networks trained as one stack, beside one network and beside five separate fits."""
    results = []
    for size in QUICK_SIZES if quick else SIZES:
        arguments = size.arguments()
        fit_one = functools.partial(fit_ours, *arguments, early_stopping=True)
        functions = {
            "one": fit_one,
            "five": functools.partial(fit_one, n_members=N_MEMBERS),
            "stacked": functools.partial(fit_ensemble, *arguments),
            "separate": functools.partial(fit_separately, *arguments),
        }
        seconds = measure_in_turns(functions, 1 if quick else 5)
        cross_fitted = f"fit of five members with early stopping, {size}"
        ensemble = f"fit of a DeepEnsembleRegressor with five members, {size}"
        goal = MEMBER_GOALS.get(size.n_rows)
        results += [
            slow_down(cross_fitted, "one member", seconds, "five", "one", goal),
            speed_up(ensemble, "five separate fits", seconds, "stacked", "separate", 2.5),
        ]
    return results


def measure_search(quick: bool) -> list[Result]:
    """Measure the speed-up of a grid search in two processes."""
    n_rows = 60 if quick else 1030
    X, y = random_rows(n_rows, 8)
    functions = {
        name: functools.partial(search, X, y, n_jobs)
        for name, n_jobs in (("one job", 1), ("two jobs", 2))
    }
    if not quick:
        functions["two jobs"]()  # starts the processes that later searches use again
    seconds = measure_in_turns(functions, 1 if quick else 2)
    n_settings = len(ParameterGrid(GRID))
    what = f"GridSearchCV(n_jobs=2), n = {n_rows:,}, {n_settings} settings, 3 folds"
    return [speed_up(what, "n_jobs=1", seconds, "two jobs", "one job", goal=1.7)]


def random_rows(n_rows: int, n_features: int):
    """Random inputs and a noisy sine. Times hardly depend on the values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n_rows)


def fit_quietly(model, X, y):
    """Fit without the warning that the epochs are too few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def fit_epochs(estimator, X, y, batch_size, epochs, **settings):
    """Fit exactly `epochs` epochs, without an embedding, as in the compared networks."""
    settings = {
        "embedding": None,
        "batch_size": batch_size,
        "max_iter": epochs,
        "n_iter_no_change": epochs + 1,  # so that it never stops early
        "early_stopping": False,
        "random_state": 0,
        **settings,
    }
    return fit_quietly(estimator(**settings), X, y)


def fit_ours(X, y, batch_size, epochs, *, widths=WIDTHS, **settings):
    """Fit the estimator with the learning rate and the loss of the compared loops."""
    settings = {"learning_rate_init": LEARNING_RATE, "nll_beta": NLL_BETA, **settings}
    settings["hidden_layer_sizes"] = widths
    return fit_epochs(DeltaUQRegressor, X, y, batch_size, epochs, **settings)


def fit_ensemble(X, y, batch_size, epochs, **settings):
    """Fit a deep ensemble whose members all train on all rows, as in its paper."""
    settings = {"n_members": N_MEMBERS, **settings}
    return fit_epochs(DeepEnsembleRegressor, X, y, batch_size, epochs, **settings)


def fit_separately(*arguments):
    """Fit the same number of networks one after the other."""
    return [fit_ensemble(*arguments, n_members=1, random_state=seed) for seed in range(N_MEMBERS)]


def search(X, y, n_jobs):
    """Run a search as a user would, with our default settings."""
    model = DeltaUQRegressor(random_state=0)
    grid = GridSearchCV(model, GRID, scoring=nll_scorer, cv=3, n_jobs=n_jobs, refit=False)
    return grid.fit(X, y)


def beta_nll(raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Beta-NLL of raw outputs `(row, 2)`, the training loss of `DeltaUQRegressor`."""
    mean, raw_noise = raw.unbind(1)
    variance = nn.functional.softplus(raw_noise) + 1e-7
    loss = 0.5 * (variance.log() + (y - mean) ** 2 / variance)
    return (loss * variance.detach() ** NLL_BETA).mean()


class BareNetwork(nn.Module):
    """An anchored network with a factorised first layer, made of PyTorch's own layers."""

    def __init__(self, n_features):
        super().__init__()
        self.row = nn.Linear(n_features, WIDTHS[0])
        self.anchor = nn.Linear(n_features, WIDTHS[0], bias=False)
        self.rest = nn.Sequential(
            nn.ReLU(), nn.Linear(*WIDTHS), nn.ReLU(), nn.Linear(WIDTHS[1], 2)
        )

    def forward(self, x, c):
        return self.rest(self.row(x) + self.anchor(c))


def fit_bare(X, y, batch_size, epochs):
    """Fit a handwritten loop with the same number of steps, batch size and fused Adam.

    Returns the mean loss of each epoch.
    """
    x, y = map(torch.from_numpy, _standardise(X, y))
    n_batches = math.ceil(len(x) / batch_size)
    network = BareNetwork(x.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, fused=True)
    curve = []
    for _ in range(epochs):
        order, anchors = torch.randperm(len(x)), torch.randperm(len(x))
        batches = zip(
            *(t.tensor_split(n_batches) for t in (x[order], x[anchors], y[order])), strict=True
        )
        total = 0.0
        for x_batch, c_batch, y_batch in batches:
            optimizer.zero_grad()
            loss = beta_nll(network(x_batch, c_batch), y_batch)
            loss.backward()
            optimizer.step()
            total += loss.item()
        curve.append(total / n_batches)
    return curve


class ConcatenatingNetwork(nn.Module):
    """The paper's network: anchors are the shuffled mini-batch, and the input is `[c, x - c]`."""

    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(2 * n_features, WIDTHS[0]), nn.ReLU()),
            *(nn.Linear(*WIDTHS), nn.ReLU(), nn.Linear(WIDTHS[1], 2)),
        )

    def forward(self, x):
        c = x[torch.randperm(len(x))]
        return self.layers(torch.cat([c, x - c], dim=1))


class BetaNLL(nn.Module):
    """`beta_nll` as a criterion."""

    def forward(self, raw, y):
        return beta_nll(raw, y)


def fit_skorch(X, y, batch_size, epochs):
    """Fit a plain `NeuralNet` with its data loader. It holds no rows out, for the same steps."""
    settings: dict[str, Any] = {
        "optimizer": torch.optim.Adam,
        "lr": LEARNING_RATE,
        "max_epochs": epochs,
        "batch_size": batch_size,
        "iterator_train__shuffle": True,
        "train_split": None,
        "verbose": 0,
    }
    net = NeuralNet(ConcatenatingNetwork(X.shape[1]), BetaNLL, **settings)
    return net.fit(*_standardise(X, y))


def _standardise(X, y):
    """Both in float32, with mean 0 and standard deviation 1."""
    return [((a - a.mean(0)) / a.std(0)).astype(np.float32) for a in (X, y)]
