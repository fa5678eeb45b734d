"""Where the time of a prediction and of a training step goes."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable
from unittest import mock

import torch

from benchmarks_uci.speed import prediction, training
from benchmarks_uci.speed.results import Result

REST = "the rest"


def measure(quick: bool) -> list[Result]:
    """Shares of a prediction, and of a fit by the bare loop, whose steps are ours."""
    return [*_prediction(quick), *_training(quick)]


def _prediction(quick):
    model, n_rows = prediction.fitted_model(), 500 if quick else 45_730
    X = prediction.features(n_rows, prediction.SMALL.n_features, seed=1)
    found = shares(
        functools.partial(model.predict, X, return_std=True),
        {
            "the network, all pairs": (model.net_.module_, "components"),
            "the noise of the pairs": (model.net_.criterion_, "components"),
            "the distance from the training rows": (model, "_row_factors"),
        },
    )
    what = f"predict with std, n = {n_rows:,}, {prediction.SMALL}, K = {prediction.N_ANCHORS}"
    return _results(found, what, f"{REST}: checks and scales, moments over the anchors, Python")


def _training(quick):
    size = (training.QUICK_SIZES if quick else training.SIZES)[0]
    arguments = *training.data(size.n_rows, size.n_features), size.batch_size, size.epochs
    found = shares(
        functools.partial(training.fit_bare, *arguments),
        {
            "forward": (training.BareNetwork, "forward"),
            "loss": (training, "beta_nll"),
            "backward": (torch.Tensor, "backward"),
            "optimizer": (torch.optim.Adam, "step"),
        },
    )
    what = f"the bare loop's fit, {size}"
    return _results(found, what, f"{REST}: mini-batches, zeroed gradients, Python")


def _results(found, what, rest):
    return [
        Result(f"share of {rest if name == REST else name}", what, 100 * share, "%")
        for name, share in found.items()
    ]


def shares(function: Callable, parts: dict[str, tuple[object, str]], repeats: int = 3) -> dict:
    """Shares of the time of `function` that its `parts` take, each an object and a name in it.

    What one part spends in another counts for the other. The shares add up to one with `REST`.
    """
    seconds, running = Counter(), []
    function()  # what is loaded at the first call

    def timed(name, part):
        def call(*args, **kwargs):
            start = time.perf_counter()
            running.append(0.0)  # what parts inside this one take
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
