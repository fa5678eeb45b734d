"""Training one network: ours against a bare torch loop and skorch as it comes."""

from __future__ import annotations

import functools
import math
import warnings
from typing import NamedTuple

import numpy as np
import torch
from skorch import NeuralNet
from torch import nn

from benchmarks_uci.speed.results import Result, in_turns, medians, ratio
from sk_deltauq import DeltaUQRegressor

WIDTHS, LEARNING_RATE, NLL_BETA = (50, 50), 3e-3, 0.5


class Size(NamedTuple):
    """A set to train on, the batch size that is chosen for it, and for how many epochs."""

    n_rows: int
    n_features: int
    batch_size: int
    epochs: int

    def __str__(self):
        return f"n = {self.n_rows:,}, d = {self.n_features}, {self.epochs} epochs"


SIZES = [Size(1030, 8, 32, 40), Size(36_000, 9, 256, 2)]
QUICK_SIZES = [Size(200, 8, 32, 2)]
MILLION, QUICK_MILLION = Size(1_000_000, 50, 1024, 3), Size(2000, 50, 64, 2)


def measure(quick: bool) -> list[Result]:
    """All comparisons at each size; of a million rows with the bare loop alone."""
    results = []
    for size in QUICK_SIZES if quick else SIZES:
        arguments = *data(size.n_rows, size.n_features), size.batch_size, size.epochs
        functions = {
            "ours": functools.partial(fit_ours, *arguments),
            "bare": functools.partial(fit_bare, *arguments),
            "skorch": functools.partial(fit_skorch, *arguments),
            "early stopping": functools.partial(fit_ours, *arguments, early_stopping=True),
        }
        seconds = in_turns(functions, 1 if quick else 7)
        results += _results(seconds, size)
    return [*results, _million(quick)]


def _results(seconds, size):
    return [
        _beside_bare(seconds, size, goal=1.25),
        Result(
            f"fit, {size}",
            "skorch as it comes, same steps",
            ratio(seconds, "skorch", "ours"),
            "times faster",
            goal=2.5,
            at_least=True,
            parts=medians(seconds, "ours", "skorch"),
        ),
        Result(
            f"fit with early stopping (a tenth of the rows held out), {size}",
            "fit without",
            ratio(seconds, "early stopping", "ours"),
            "times as long",
            parts=medians(seconds, "early stopping", "ours"),
        ),
    ]


def _million(quick):
    size = QUICK_MILLION if quick else MILLION
    X, y = (array.astype("float32") for array in data(size.n_rows, size.n_features))
    functions = {
        name: functools.partial(fit, X, y, size.batch_size, size.epochs)
        for name, fit in (("ours", fit_ours), ("bare", fit_bare))
    }
    return _beside_bare(in_turns(functions, 1 if quick else 3), size, goal=1.15)


def _beside_bare(seconds, size, goal):
    return Result(
        f"fit, {size}",
        "a bare torch loop, same steps",
        ratio(seconds, "ours", "bare"),
        "times as long",
        goal=goal,
        parts=medians(seconds, "ours", "bare"),
    )


def data(n_rows: int, n_features: int):
    """A noisy sine of random rows: times hardly depend on the values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n_rows)


def fit_ours(
    X, y, batch_size, epochs, *, widths=WIDTHS, early_stopping=False, n_members=1, device="cpu"
):
    """Exactly `epochs` epochs of the estimator, without an embedding, as what it is beside."""
    model = DeltaUQRegressor(
        widths,
        embedding=None,
        batch_size=batch_size,
        max_iter=epochs,
        n_iter_no_change=epochs + 1,  # it never runs out of patience
        learning_rate_init=LEARNING_RATE,
        nll_beta=NLL_BETA,
        early_stopping=early_stopping,
        n_members=n_members,
        device=device,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the epochs were too few
        return model.fit(X, y)


def beta_nll(raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Beta-NLL of raw outputs `(row, 2)`, as `DeltaUQRegressor` trains by."""
    mean, raw_noise = raw.unbind(1)
    variance = nn.functional.softplus(raw_noise) + 1e-7
    loss = 0.5 * (variance.log() + (y - mean) ** 2 / variance)
    return (loss * variance.detach() ** NLL_BETA).mean()


class BareNetwork(nn.Module):
    """An anchored network with a factorised first layer, in torch's own layers."""

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
    """The loop that one would write by hand: as many steps on batches as large, fused Adam."""
    x = torch.from_numpy(((X - X.mean(0)) / X.std(0)).astype(np.float32))
    y = torch.from_numpy(((y - y.mean()) / y.std()).astype(np.float32))
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
    """The paper's way to train: anchors are the shuffled mini-batch, the input is `[c, x - c]`."""

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
    """A plain `NeuralNet` with its data loader; without a hold-out, for the same steps."""
    x = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    y = ((y - y.mean()) / y.std()).astype(np.float32)
    net = NeuralNet(
        ConcatenatingNetwork(x.shape[1]),
        BetaNLL,
        optimizer=torch.optim.Adam,
        lr=LEARNING_RATE,
        max_epochs=epochs,
        batch_size=batch_size,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    )
    return net.fit(x, y)
