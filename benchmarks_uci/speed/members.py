"""Five networks trained as one stack, compared with one network and with five separate fits."""

from __future__ import annotations

import functools

from benchmarks_uci.speed.results import Result, measure_in_turns, slow_down, speed_up
from benchmarks_uci.speed.training import QUICK_SIZES, SIZES, fit_epochs, fit_ours
from sk_deltauq.baselines import DeepEnsembleRegressor

N_MEMBERS = 5

# Upper bounds of the ratio to one network, by the number of rows
GOALS = {1030: 1.8, 36_000: 2.5}


def measure(quick: bool) -> list[Result]:
    """Both comparisons at each size."""
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
        goal = GOALS.get(size.n_rows)
        results += [
            slow_down(cross_fitted, "one member", seconds, "five", "one", goal),
            speed_up(ensemble, "five separate fits", seconds, "stacked", "separate", 2.5),
        ]
    return results


def fit_ensemble(X, y, batch_size, epochs, **settings):
    """Fit a deep ensemble whose members all train on all rows, as in its paper."""
    settings = {"n_members": N_MEMBERS, **settings}
    return fit_epochs(DeepEnsembleRegressor, X, y, batch_size, epochs, **settings)


def fit_separately(*arguments):
    """Fit the same number of networks one after the other."""
    return [fit_ensemble(*arguments, n_members=1, random_state=seed) for seed in range(N_MEMBERS)]
