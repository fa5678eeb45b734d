"""An accelerator beside the CPU: prediction, training, and many members at once."""

from __future__ import annotations

import copy
import functools

import numpy as np
import torch

from benchmarks_uci.speed import training
from benchmarks_uci.speed.results import Result, in_turns, medians, ratio
from sk_deltauq import DeltaUQRegressor

# Rows, features and widths of what is predicted, all with 20 anchors
PREDICTIONS = [(45_730, 9, (50,)), (1_000_000, 9, (50,)), (45_730, 100, (256, 256))]
QUICK_PREDICTIONS = [(500, 9, (50,)), (300, 20, (32, 32))]

# Rows, features, widths, batch size and epochs of what is trained
FITS = [(36_000, 9, (50, 50), 256, 2), (36_000, 100, (256, 256), 1024, 2)]
QUICK_FITS = [(300, 9, (50, 50), 32, 2)]
N_MEMBERS = 20


def measure(quick: bool, device: str) -> list[Result]:
    """Ratios of the time on the CPU to that on `device`; the same model, the same rows."""
    results = []
    for n_rows, n_features, widths in QUICK_PREDICTIONS if quick else PREDICTIONS:
        results += _predictions(n_rows, n_features, widths, device, 1 if quick else 5)
    for size in QUICK_FITS if quick else FITS:
        results += _fits(*size, device, 1 if quick else 3)
    return results


def _predictions(n_rows, n_features, widths, device, repeats):
    X = np.random.default_rng(1).standard_normal((n_rows, n_features))
    on_cpu = fitted(n_features, widths)
    models = {"cpu": on_cpu, "device": moved(on_cpu, device)}
    answers = [model.predict(X[:500], return_std=True) for model in models.values()]
    difference = max(np.abs(a - b).max() for a, b in zip(*answers, strict=True))
    seconds = in_turns(
        {
            name: functools.partial(model.predict, X, return_std=True)
            for name, model in models.items()
        },
        repeats,
    )
    size = f"n = {n_rows:,}, d = {n_features}, {_shape(widths)}, K = 20"
    scale = on_cpu.y_scaler_.scale_[0]
    return [
        Result(
            f"predict with std on {device}, {size}",
            "the CPU, one thread",
            ratio(seconds, "cpu", "device"),
            "times faster",
            seconds=medians(seconds, "device", "cpu"),
        ),
        Result(
            f"largest difference of numbers on {device}, in stds of y, {size}",
            "the CPU",
            float(difference / scale),
            "",
            goal=1e-3,
        ),
    ]


def _fits(n_rows, n_features, widths, batch_size, epochs, device, repeats):
    X, y = training.data(n_rows, n_features)
    on_cpu, on_device = (
        functools.partial(fit_to_the_end, name, X, y, batch_size, epochs, widths=widths)
        for name in ("cpu", device)
    )
    seconds = in_turns(
        {
            "cpu": on_cpu,
            "device": on_device,
            "members": functools.partial(on_device, n_members=N_MEMBERS),
        },
        repeats,
    )
    size = f"n = {n_rows:,}, d = {n_features}, {_shape(widths)}, {epochs} epochs"
    return [
        Result(
            f"fit on {device}, {size}",
            "the CPU, one thread",
            ratio(seconds, "cpu", "device"),
            "times faster",
            seconds=medians(seconds, "device", "cpu"),
        ),
        Result(
            f"fit of {N_MEMBERS} members on {device}, {size}",
            f"one member on {device}",
            ratio(seconds, "members", "device"),
            "times as long",
            seconds=medians(seconds, "members", "device"),
        ),
    ]


def fitted(n_features, widths) -> DeltaUQRegressor:
    """A model trained for a moment."""
    X, y = training.data(1000, n_features)
    return DeltaUQRegressor(widths, random_state=0).partial_fit(X, y)


def moved(model, device) -> DeltaUQRegressor:
    """A copy that predicts on another device."""
    model = copy.deepcopy(model)
    model.net_.module_.to(device), model.net_.criterion_.to(device)
    model.net_.device = device
    return model


def fit_to_the_end(device, *args, **settings) -> None:
    """Train on the device, and wait for what is still under way there."""
    training.fit_ours(*args, **settings, device=device)
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def card(device: str) -> str:
    """What the device is called."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    return device


def _shape(widths) -> str:
    return f"{len(widths)} x {widths[0]}"
