"""Prediction with a std: the factorised first layer against tiling and against no anchors."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from benchmarks_uci.speed.internals import PaperNetwork, compute_raw_outputs, read_network
from benchmarks_uci.speed.results import Result, measure_in_turns, slow_down, speed_up
from sk_deltauq import DeltaUQRegressor

N_ANCHORS = 20
OURS, NARROW, TILE, PLAIN, PASSES = "ours", "without widening", "tile", "plain", "passes"

# Times as long as a plain pass, with embedding and distance-based inflation
GOAL_DEFAULTS = 5

# Rows and anchors per call in `run_passes_only`: their hidden values fit in the cache of a core.
PASS_ROWS, PASS_ANCHORS = 1024, 5


class Shape(NamedTuple):
    """Number of features, and widths of the hidden layers."""

    n_features: int = 9
    widths: tuple[int, ...] = (50,)

    def __str__(self):
        return f"d = {self.n_features}, {len(self.widths)} x {self.widths[0]}"


SMALL, LARGE = Shape(), Shape(100, (256, 256))


class Case(NamedTuple):
    """A prediction, and its goals: the speed-up over tiling and the ratio to a plain pass."""

    shape: Shape
    n_rows: int
    goal_tile: float
    goal_plain: float | None
    repeats: int


CASES = [Case(SMALL, 45_730, 8, 3, 7), Case(LARGE, 45_730, 1.5, None, 3)]
QUICK_CASES = [Case(SMALL, 500, 8, 3, 1), Case(Shape(20, (32, 32)), 200, 1.5, None, 1)]


def measure(quick: bool) -> list[Result]:
    """For each case the equality of the numbers, then the times."""
    cases = QUICK_CASES if quick else CASES
    return [
        *(result for case in cases for result in _measure(case)),
        *_measure_defaults(cases[0]),
    ]


def _measure_defaults(case):
    """With the number of anchors, the embedding and the inflation that users get."""
    X, plain = draw_features(case.n_rows, case.shape.n_features, seed=1), PLAIN
    one, five = (
        DeltaUQRegressor(case.shape.widths, n_members=n_members, random_state=0)
        for n_members in (1, 5)
    )
    found = {"one network": one, "five members": five}
    models: dict[str, Any] = {
        name: fit_briefly(model, case.shape) for name, model in found.items()
    }
    network = make_plain_network(case.shape)
    functions = {
        plain: functools.partial(predict_plain, models["one network"], network, X),
        **{
            name: functools.partial(model.predict, X, return_std=True)
            for name, model in models.items()
        },
    }
    seconds = measure_in_turns(functions, case.repeats)
    return [
        slow_down(
            f"predict with std and all defaults, n = {case.n_rows:,}, {case.shape}, {name}, "
            f"{model.n_components_} components",
            "plain forward pass, no anchors",
            *(seconds, name, plain),
            goal=GOAL_DEFAULTS if name == "one network" else None,
        )
        for name, model in models.items()
    ]


def _measure(case):
    shape = case.shape
    model, X = fit_model(shape), draw_features(case.n_rows, shape.n_features, seed=1)
    without_widening = fit_model(shape, widening=0)
    functions = {
        OURS: functools.partial(model.predict, X, return_std=True),
        NARROW: functools.partial(without_widening.predict, X, return_std=True),
        TILE: functools.partial(predict_tiled, model, X),
        PLAIN: functools.partial(predict_plain, model, make_plain_network(shape), X),
    }
    has_one_layer = len(shape.widths) == 1
    if has_one_layer:
        functions[PASSES] = functools.partial(run_passes_only, case.n_rows, *shape.widths)
    seconds = measure_in_turns(functions, case.repeats)
    what = f"predict with std, n = {case.n_rows:,}, {shape}, K = {N_ANCHORS}"
    plain = "plain forward pass, no anchors"
    results = [
        *compare_numbers(without_widening, X[:500], shape),
        speed_up(what, "concatenate and tile", seconds, OURS, TILE, case.goal_tile),
        slow_down(what, plain, seconds, OURS, PLAIN, case.goal_plain),
        slow_down(what, "same prediction with widening=0", seconds, OURS, NARROW),
    ]
    if has_one_layer:
        passes = f"only the three passes over the hidden values of all row-anchor pairs; {what}"
        results += [
            slow_down(passes, "the whole prediction", seconds, PASSES, OURS),
            slow_down(passes, plain, seconds, PASSES, PLAIN),
        ]
    return results


def draw_features(n_rows: int, n_features: int, seed: int) -> np.ndarray:
    """Random rows. Times do not depend on the values."""
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def fit_model(shape: Shape = SMALL, **settings) -> DeltaUQRegressor:
    """A briefly trained model without an embedding, because the paper's code has none."""
    settings = {"n_anchors": N_ANCHORS, "embedding": None, "random_state": 0, **settings}
    return fit_briefly(DeltaUQRegressor(shape.widths, **settings), shape)


def fit_briefly(model: DeltaUQRegressor, shape: Shape) -> DeltaUQRegressor:
    """Train for one epoch on random rows, enough for an embedding."""
    X = draw_features(1000, shape.n_features, seed=0)
    return model.partial_fit(X, 100 * np.sin(X[:, 0]))


def predict_tiled(model, X):
    """Mean and std as the paper's code computes them: every row with every anchor, `[c, x - c]`.

    Scaling and weights are the same as in `predict`. The std has no distance-based inflation.
    """
    network = read_network(model)
    with torch.inference_mode():
        mean, raw_noise = forward_tiled(network, _scale(model, X)).unbind(2)  # (anchor, row)
        variance = mean.var(dim=0) + (nn.functional.softplus(raw_noise) + 1e-7).mean(dim=0)
        return _unscale(model, mean.mean(dim=0), variance.sqrt())


def forward_tiled(network: PaperNetwork, x: torch.Tensor) -> torch.Tensor:
    """Raw outputs `(anchor, row, output)` for scaled rows."""
    n_anchors, n_rows = len(network.anchors), len(x)
    c = network.anchors.repeat_interleave(n_rows, dim=0)  # (anchor and row, feature)
    x = x.repeat(n_anchors, 1)  # (anchor and row, feature)
    (weight, bias), *rest = network.layers
    h = nn.functional.linear(torch.cat([c, x - c], dim=1), weight, bias)
    for weight, bias in rest:
        h = nn.functional.linear(torch.relu(h), weight, bias)
    return h.view(n_anchors, n_rows, -1)


def make_plain_network(shape: Shape = SMALL) -> nn.Module:
    """A network of the same widths and outputs without anchors."""
    layers = []
    for n_in, n_out in pairwise([shape.n_features, *shape.widths, 2]):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def predict_plain(model, network, X):
    """Mean and std of a network without anchors, with the same scaling as `predict`."""
    with torch.inference_mode():
        mean, raw_noise = network(_scale(model, X)).unbind(1)
        return _unscale(model, mean, nn.functional.softplus(raw_noise).sqrt())


def run_passes_only(n_rows: int, n_hidden: int) -> None:
    """Run the operations that a prediction with torch cannot avoid.

    For every row and anchor these are the sum of both in the hidden layer, its activation, and the
    product with the output layer. Scaling, the first layer, the noise and the moments over the
    anchors are left out.
    """
    rows = torch.zeros(1, n_hidden, 1, PASS_ROWS)
    anchors = torch.zeros(1, n_hidden, PASS_ANCHORS, 1)
    hidden = torch.empty(1, n_hidden, PASS_ANCHORS, PASS_ROWS)
    weight, bias = torch.zeros(1, 2, n_hidden), torch.zeros(1, 2, 1)
    with torch.inference_mode():
        for _ in range(-(-n_rows // PASS_ROWS) * (N_ANCHORS // PASS_ANCHORS)):
            torch.add(rows, anchors, out=hidden)
            torch.baddbmm(bias, weight, hidden.relu_().flatten(2))


def compare_numbers(model, X, shape: Shape = SMALL) -> list[Result]:
    """Largest difference to tiling: raw outputs in float64, and predictions in float32."""
    x = torch.from_numpy(model.x_scaler_.transform(X))
    with torch.inference_mode():
        tiled = forward_tiled(read_network(model, torch.float64), x)
        raw = (compute_raw_outputs(model, x) - tiled).abs().max().item()
    public = find_largest_difference(
        model, model.predict(X, return_std=True), predict_tiled(model, X)
    )
    against = "concatenate and tile"
    return [
        Result(
            f"largest difference of raw outputs, {shape}, float64", against, raw, "", goal=1e-10
        ),
        Result(
            f"largest difference of predictions, {shape}, float32, in standard deviations of y",
            against,
            public,
            "",
            goal=1e-4,
        ),
    ]


def find_largest_difference(model, first, second) -> float:
    """Largest difference of two pairs of mean and std, in standard deviations of y."""
    difference = max(np.abs(a - b).max() for a, b in zip(first, second, strict=True))
    return float(difference / model.y_scaler_.scale_[0])


def _scale(model, X) -> torch.Tensor:
    return torch.from_numpy(model.x_scaler_.transform(X).astype(np.float32))


def _unscale(model, mean, std):
    scale, offset = model.y_scaler_.scale_, model.y_scaler_.mean_
    return mean.numpy() * scale + offset, std.numpy() * scale
