"""Prediction with a std: the factorised first layer against tiling and against no anchors."""

from __future__ import annotations

import copy
import functools
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from benchmarks_uci.speed.results import Result, in_turns, medians, ratio
from sk_deltauq import DeltaUQRegressor

N_ANCHORS = 20
OURS, NARROW, TILE, PLAIN, PASSES = "ours", "without widening", "tile", "plain", "passes"

# Rows at a time that `passes_alone` takes: their hidden values stay in a core's fast cache.
PASS_ROWS, PASS_ANCHORS = 1024, 5


class Shape(NamedTuple):
    """Features, and widths of the hidden layers."""

    n_features: int = 9
    widths: tuple[int, ...] = (50,)

    def __str__(self):
        return f"d = {self.n_features}, {len(self.widths)} x {self.widths[0]}"


SMALL, LARGE = Shape(), Shape(100, (256, 256))


class Case(NamedTuple):
    """What is predicted, and the goals: times faster than tiling, times as long as plain."""

    shape: Shape
    n_rows: int
    goal_tile: float
    goal_plain: float | None
    repeats: int


CASES = [Case(SMALL, 45_730, 8, 3, 7), Case(LARGE, 45_730, 1.5, None, 3)]
QUICK_CASES = [Case(SMALL, 500, 8, 3, 1), Case(Shape(20, (32, 32)), 200, 1.5, None, 1)]


def measure(quick: bool) -> list[Result]:
    """For each case equal numbers first, then times."""
    return [result for case in (QUICK_CASES if quick else CASES) for result in _results(case)]


def _results(case):
    model, X = fitted_model(case.shape), features(case.n_rows, case.shape.n_features, seed=1)
    as_the_paper = fitted_model(case.shape, widening=0)
    functions = {
        OURS: functools.partial(model.predict, X, return_std=True),
        NARROW: functools.partial(as_the_paper.predict, X, return_std=True),
        TILE: functools.partial(predict_tiled, model, X),
        PLAIN: functools.partial(predict_plain, model, plain_network(case.shape), X),
    }
    if len(case.shape.widths) == 1:
        functions[PASSES] = functools.partial(passes_alone, case.n_rows, *case.shape.widths)
    seconds = in_turns(functions, case.repeats)
    what = f"predict with std, n = {case.n_rows:,}, {case.shape}, K = {N_ANCHORS}"
    return [
        *same_numbers(as_the_paper, X[:500], case.shape),
        Result(
            what,
            "concatenate and tile",
            ratio(seconds, TILE, OURS),
            "times faster",
            goal=case.goal_tile,
            at_least=True,
            parts=medians(seconds, OURS, TILE),
        ),
        Result(
            what,
            "plain forward pass, no anchors",
            ratio(seconds, OURS, PLAIN),
            "times as long",
            goal=case.goal_plain,
            parts=medians(seconds, OURS, PLAIN),
        ),
        Result(
            what,
            "the same with widening=0",
            ratio(seconds, OURS, NARROW),
            "times as long",
            parts=medians(seconds, OURS, NARROW),
        ),
        *_beside_passes(seconds, what),
    ]


def _beside_passes(seconds, what):
    if PASSES not in seconds:
        return []
    return [
        Result(
            f"the three passes over the hidden values of all pairs alone; {what}",
            against,
            ratio(seconds, PASSES, other),
            "times as long",
            parts=medians(seconds, PASSES, other),
        )
        for against, other in (("all of the prediction", OURS), ("plain forward pass", PLAIN))
    ]


def features(n_rows: int, n_features: int, seed: int) -> np.ndarray:
    """Random rows: times do not depend on the values."""
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def fitted_model(shape: Shape = SMALL, **settings) -> DeltaUQRegressor:
    """A model trained for a moment; no embedding, which the paper's code has not got."""
    X = features(1000, shape.n_features, seed=0)
    settings = {"n_anchors": N_ANCHORS, "embedding": None, "random_state": 0, **settings}
    model = DeltaUQRegressor(shape.widths, **settings)
    return model.partial_fit(X, 100 * np.sin(X[:, 0]))


def predict_tiled(model, X):
    """Mean and std as the paper's code computes them: every row beside every anchor, `[c, x - c]`.

    It scales like `predict`, and uses the same weights; nothing is widened.
    """
    module = model.net_.module_
    with torch.inference_mode():
        raw = forward_tiled(module, _scaled(model, X), module.anchors)
        mean, raw_noise = raw.view(len(module.anchors), len(X), 2).unbind(2)
        total = mean.var(dim=0) + (nn.functional.softplus(raw_noise) + 1e-7).mean(dim=0)
        scale, offset = model.y_scaler_.scale_, model.y_scaler_.mean_
        return mean.mean(dim=0).numpy() * scale + offset, total.sqrt().numpy() * scale


def forward_tiled(module, x: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """Raw outputs `(anchor and row, output)`, from first-layer weights `[V + W, W]`."""
    V, W, bias = module.first.anchor_weight[0], module.first.weight[0], module.first.bias[0, :, 0]
    c = anchors.repeat_interleave(len(x), dim=0)  # (anchor and row, feature)
    x = x.repeat(len(anchors), 1)
    h = nn.functional.linear(torch.cat([c, x - c], dim=1), torch.cat([V + W, W], dim=1), bias)
    for layer in module.rest:
        h = nn.functional.linear(torch.relu(h), layer.weight[0], layer.bias[0, :, 0])
    return h


def plain_network(shape: Shape = SMALL) -> nn.Module:
    """The same widths and outputs without anchors."""
    layers = []
    for n_in, n_out in pairwise([shape.n_features, *shape.widths, 2]):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def predict_plain(model, network, X):
    """Mean and std of a network without anchors; it scales like `predict`."""
    with torch.inference_mode():
        mean, raw_noise = network(_scaled(model, X)).unbind(1)
        scale, offset = model.y_scaler_.scale_, model.y_scaler_.mean_
        std = nn.functional.softplus(raw_noise).sqrt()
        return mean.numpy() * scale + offset, std.numpy() * scale


def passes_alone(n_rows: int, n_hidden: int) -> None:
    """What no code of torch's operations can do without, and nothing else.

    For every row and anchor: the sum of their shares in the hidden layer, its activation, and the
    product with the output layer; as if scaling, the first layer, the noise and the moments over
    the anchors took no time.
    """
    rows = torch.zeros(1, n_hidden, 1, PASS_ROWS)
    anchors = torch.zeros(1, n_hidden, PASS_ANCHORS, 1)
    hidden = torch.empty(1, n_hidden, PASS_ANCHORS, PASS_ROWS)
    weight, bias = torch.zeros(1, 2, n_hidden), torch.zeros(1, 2, 1)
    with torch.inference_mode():
        for _ in range(-(-n_rows // PASS_ROWS) * (N_ANCHORS // PASS_ANCHORS)):
            torch.add(rows, anchors, out=hidden)
            torch.baddbmm(bias, weight, hidden.relu_().flatten(2))


def same_numbers(model, X, shape: Shape = SMALL) -> list[Result]:
    """Largest difference to tiling: raw outputs in float64, and predictions, in stds of y."""
    module = copy.deepcopy(model.net_.module_).double()
    x = torch.from_numpy(model.x_scaler_.transform(X))
    with torch.inference_mode():
        ours = module.components(x.T)[0]  # (output, anchor, row)
        tiled = forward_tiled(module, x, module.anchors).view(len(module.anchors), len(x), -1)
        raw = (ours - tiled.permute(2, 0, 1)).abs().max().item()
    pairs = zip(model.predict(X, return_std=True), predict_tiled(model, X), strict=True)
    public = max(np.abs(a - b).max() for a, b in pairs) / model.y_scaler_.scale_[0]
    what, against = f"largest difference of numbers, {shape}", "concatenate and tile"
    return [
        Result(f"{what}, float64", against, raw, "", goal=1e-10),
        Result(f"{what}, float32, in stds of y", against, float(public), "", goal=1e-4),
    ]


def _scaled(model, X) -> torch.Tensor:
    return torch.from_numpy(model.x_scaler_.transform(X).astype(np.float32))
