"""Networks trained as one stack: five members against one, and against five fits one by one."""

from __future__ import annotations

import functools
import warnings

from benchmarks_uci.speed.results import Result, in_turns, medians, ratio
from benchmarks_uci.speed.training import QUICK_SIZES, SIZES, data, fit_ours
from sk_deltauq.baselines import DeepEnsembleRegressor

N_MEMBERS = 5

# At most so many times as long as one, by the number of rows
GOALS = {1030: 1.8, 36_000: 2.5}


def measure(quick: bool) -> list[Result]:
    """Both comparisons at each size."""
    results = []
    for size in QUICK_SIZES if quick else SIZES:
        arguments = *data(size.n_rows, size.n_features), size.batch_size, size.epochs
        cross_fitted = functools.partial(fit_ours, *arguments, early_stopping=True)
        functions = {
            "one": cross_fitted,
            "five": functools.partial(cross_fitted, n_members=N_MEMBERS),
            "stacked": functools.partial(fit_ensemble, *arguments),
            "one by one": functools.partial(fit_one_by_one, *arguments),
        }
        seconds = in_turns(functions, 1 if quick else 5)
        results += [
            Result(
                f"fit of five members with early stopping, {size}",
                "one member",
                ratio(seconds, "five", "one"),
                "times as long",
                goal=GOALS.get(size.n_rows),
                parts=medians(seconds, "five", "one"),
            ),
            Result(
                f"fit of a DeepEnsembleRegressor of five, {size}",
                "five fits, one by one",
                ratio(seconds, "one by one", "stacked"),
                "times faster",
                goal=2.5,
                at_least=True,
                parts=medians(seconds, "stacked", "one by one"),
            ),
        ]
    return results


def fit_ensemble(X, y, batch_size, epochs, *, n_members=N_MEMBERS, random_state=0):
    """Exactly `epochs` epochs of a deep ensemble, all rows in all members, as in its paper."""
    model = DeepEnsembleRegressor(
        n_members=n_members,
        embedding=None,
        batch_size=batch_size,
        max_iter=epochs,
        n_iter_no_change=epochs + 1,
        early_stopping=False,
        random_state=random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the epochs were too few
        return model.fit(X, y)


def fit_one_by_one(*arguments):
    """As many networks, each trained by itself."""
    return [fit_ensemble(*arguments, n_members=1, random_state=seed) for seed in range(N_MEMBERS)]
