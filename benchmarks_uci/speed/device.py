"""An accelerator compared with the CPU: prediction, training, and many members at once."""

from __future__ import annotations

import functools

import torch

from benchmarks_uci.speed.internals import move_to_device
from benchmarks_uci.speed.prediction import (
    LARGE,
    SMALL,
    Shape,
    draw_features,
    find_largest_difference,
    fit_model,
)
from benchmarks_uci.speed.results import Result, measure_in_turns, slow_down, speed_up
from benchmarks_uci.speed.training import fit_ours, random_rows

# Rows and shape of each prediction, all with 20 anchors
PREDICTIONS = [(45_730, SMALL), (1_000_000, SMALL), (45_730, LARGE)]
QUICK_PREDICTIONS = [(500, SMALL), (300, Shape(20, (32, 32)))]

# Rows, shape, batch size and epochs of each fit
FITS = [(36_000, Shape(9, (50, 50)), 256, 2), (36_000, LARGE, 1024, 2)]
QUICK_FITS = [(300, Shape(9, (50, 50)), 32, 2)]
N_MEMBERS = 20
CPU = "the CPU, one thread"


def measure(quick: bool, device: str) -> list[Result]:
    """Ratios of the time on the CPU to the time on `device`, with the same model and rows."""
    results = []
    for n_rows, shape in QUICK_PREDICTIONS if quick else PREDICTIONS:
        results += _compare_predictions(n_rows, shape, device, 1 if quick else 5)
    for size in QUICK_FITS if quick else FITS:
        results += _compare_fits(*size, device, 1 if quick else 3)
    return results


def _compare_predictions(n_rows, shape, device, repeats):
    X = draw_features(n_rows, shape.n_features, seed=1)
    on_cpu = fit_model(shape)
    models = {"cpu": on_cpu, "device": move_to_device(on_cpu, device)}
    answers = [model.predict(X[:500], return_std=True) for model in models.values()]
    functions = {
        name: functools.partial(model.predict, X, return_std=True)
        for name, model in models.items()
    }
    seconds = measure_in_turns(functions, repeats)
    size = f"n = {n_rows:,}, {shape}, K = 20"
    return [
        speed_up(f"predict with std on {device}, {size}", CPU, seconds, "device", "cpu"),
        Result(
            f"largest difference of predictions on {device}, in standard deviations of y, {size}",
            "the CPU",
            find_largest_difference(on_cpu, *answers),
            "",
            goal=1e-3,
        ),
    ]


def _compare_fits(n_rows, shape, batch_size, epochs, device, repeats):
    X, y = random_rows(n_rows, shape.n_features)
    on_cpu, on_device = (
        functools.partial(fit_and_wait, name, X, y, batch_size, epochs, widths=shape.widths)
        for name in ("cpu", device)
    )
    members = functools.partial(on_device, n_members=N_MEMBERS)
    functions = {"cpu": on_cpu, "device": on_device, "members": members}
    seconds = measure_in_turns(functions, repeats)
    size = f"n = {n_rows:,}, {shape}, {epochs} epochs"
    what, against = f"fit of {N_MEMBERS} members on {device}, {size}", f"one member on {device}"
    return [
        speed_up(f"fit on {device}, {size}", CPU, seconds, "device", "cpu"),
        slow_down(what, against, seconds, "members", "device"),
    ]


def fit_and_wait(device, *args, **settings) -> None:
    """Train on the device, and wait until it has finished its work."""
    fit_ours(*args, **settings, device=device)
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def read_device_name(device: str) -> str:
    """Return the name of the accelerator, for the tables."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    return device
