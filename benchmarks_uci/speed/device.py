"""An accelerator beside the CPU: prediction, training, and many members at once."""

from __future__ import annotations

import copy
import functools

import numpy as np
import torch

from benchmarks_uci.speed import training
from benchmarks_uci.speed.prediction import LARGE, SMALL, Shape, features, fitted_model
from benchmarks_uci.speed.results import Result, in_turns, medians, ratio

# Rows and shape of what is predicted, all with 20 anchors
PREDICTIONS = [(45_730, SMALL), (1_000_000, SMALL), (45_730, LARGE)]
QUICK_PREDICTIONS = [(500, SMALL), (300, Shape(20, (32, 32)))]

# Rows, shape, batch size and epochs of what is trained
FITS = [(36_000, Shape(9, (50, 50)), 256, 2), (36_000, LARGE, 1024, 2)]
QUICK_FITS = [(300, Shape(9, (50, 50)), 32, 2)]
N_MEMBERS = 20


def measure(quick: bool, device: str) -> list[Result]:
    """Ratios of the time on the CPU to that on `device`; the same model, the same rows."""
    results = []
    for n_rows, shape in QUICK_PREDICTIONS if quick else PREDICTIONS:
        results += _predictions(n_rows, shape, device, 1 if quick else 5)
    for size in QUICK_FITS if quick else FITS:
        results += _fits(*size, device, 1 if quick else 3)
    return results


def _predictions(n_rows, shape, device, repeats):
    X = features(n_rows, shape.n_features, seed=1)
    on_cpu = fitted_model(shape)
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
    size = f"n = {n_rows:,}, {shape}, K = 20"
    scale = on_cpu.y_scaler_.scale_[0]
    return [
        Result(
            f"predict with std on {device}, {size}",
            "the CPU, one thread",
            ratio(seconds, "cpu", "device"),
            "times faster",
            parts=medians(seconds, "device", "cpu"),
        ),
        Result(
            f"largest difference of numbers on {device}, in stds of y, {size}",
            "the CPU",
            float(difference / scale),
            "",
            goal=1e-3,
        ),
    ]


def _fits(n_rows, shape, batch_size, epochs, device, repeats):
    X, y = training.data(n_rows, shape.n_features)
    on_cpu, on_device = (
        functools.partial(fit_to_the_end, name, X, y, batch_size, epochs, widths=shape.widths)
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
    size = f"n = {n_rows:,}, {shape}, {epochs} epochs"
    return [
        Result(
            f"fit on {device}, {size}",
            "the CPU, one thread",
            ratio(seconds, "cpu", "device"),
            "times faster",
            parts=medians(seconds, "device", "cpu"),
        ),
        Result(
            f"fit of {N_MEMBERS} members on {device}, {size}",
            f"one member on {device}",
            ratio(seconds, "members", "device"),
            "times as long",
            parts=medians(seconds, "members", "device"),
        ),
    ]


def moved(model, device):
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
