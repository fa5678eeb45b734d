"""The parts of a prediction and of a training step, and their shares of the time."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable
from unittest import mock

import torch

from benchmarks_uci.speed import prediction, training
from benchmarks_uci.speed.internals import list_prediction_parts
from benchmarks_uci.speed.results import Result

REST = "the rest"


def measure(quick: bool) -> list[Result]:
    """Shares of a prediction, and shares of a fit by the bare loop, which has the same steps."""
    return [*_measure_prediction(quick), *_measure_training(quick)]


def _measure_prediction(quick):
    model, n_rows = prediction.fit_model(), 500 if quick else 45_730
    X = prediction.draw_features(n_rows, prediction.SMALL.n_features, seed=1)
    predict = functools.partial(model.predict, X, return_std=True)
    found = shares(predict, list_prediction_parts(model))
    what = f"predict with std, n = {n_rows:,}, {prediction.SMALL}, K = {prediction.N_ANCHORS}"
    return _results(found, what, f"{REST}: checks, scaling, moments over the anchors, Python")


def _measure_training(quick):
    size = (training.QUICK_SIZES if quick else training.SIZES)[0]
    found = shares(
        functools.partial(training.fit_bare, *size.arguments()),
        {
            "forward": (training.BareNetwork, "forward"),
            "loss": (training, "beta_nll"),
            "backward": (torch.Tensor, "backward"),
            "optimizer": (torch.optim.Adam, "step"),
        },
    )
    what = f"fit of the bare PyTorch loop, {size}"
    return _results(found, what, f"{REST}: mini-batches, resetting gradients, Python")


def _results(found, what, rest):
    return [
        Result(f"share of {rest if name == REST else name}", what, 100 * share, "%")
        for name, share in found.items()
    ]


def shares(function: Callable, parts: dict[str, tuple[object, str]], repeats: int = 3) -> dict:
    """Shares of the time of `function` for its `parts`, each an object and a method name.

    A part that runs inside another one counts only once, for itself. With `REST` the shares add up
    to one.
    """
    seconds, running = Counter(), []
    function()  # loads what the first call needs

    def timed(name, part):
        def call(*args, **kwargs):
            start = time.perf_counter()
            running.append(0.0)  # seconds of the parts inside this one
            try:
                return part(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                seconds[name] += spent - running.pop()
                if running:
                    running[-1] += spent

        return call

    with contextlib.ExitStack() as stack:
        for name, (owner, attribute) in parts.items():
            part = getattr(owner, attribute)
            replacement = timed(name, part)
            if isinstance(owner, type):
                replacement = functools.partialmethod(replacement)
            stack.enter_context(mock.patch.object(owner, attribute, replacement))
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        total = time.perf_counter() - start
    found = {name: seconds[name] / total for name in parts}
    return {**found, REST: 1 - sum(found.values())}
