"""What is compared: named methods, each an estimator with `predict(X, return_std=True)`.

The settings are the same for every set: nothing is tuned on the rows that a split tests on.
`METHODS` are those of the tables, `ABLATIONS` Delta-UQ with something changed.
"""

from __future__ import annotations

import dataclasses
import importlib.util

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks_uci.methods import rivals
from benchmarks_uci.methods.ablations import ABLATIONS, REFERENCE
from benchmarks_uci.methods.method import LARGE, PRESETS, Method, hidden, network
from sk_deltauq import DeltaUQRegressor, baselines

__all__ = [
    "ABLATIONS",
    "ALL",
    "LARGE",
    "METHODS",
    "PRESETS",
    "REFERENCE",
    "Method",
    "applicable",
    "make",
    "settings",
    "table",
]


def _pbp(preset, n_rows, random_state):
    settings = {}
    if preset == "paper":
        # As its paper ran it. A pass over a large set is many updates, and it needs fewer.
        passes = 10 if n_rows > LARGE else 40
        settings = {"early_stopping": False, "max_iter": passes, "n_iter_no_change": passes}
        settings["hidden_layer_sizes"] = hidden(preset, n_rows)
    return baselines.PBPRegressor(**settings, random_state=random_state)


def _mlp(preset, n_rows, random_state):
    # The package's rule for batch_size="auto"
    batch_size = int(np.clip(2 ** round(np.log2(np.sqrt(n_rows))), 32, 1024))
    return rivals.scaled_mlp(hidden(preset, n_rows), batch_size, random_state)


def _constant_noise(preset, n_rows, random_state):
    return rivals.ConstantNoise(_mlp(preset, n_rows, random_state), random_state=random_state)


def _bagged_noise(preset, n_rows, random_state):
    # Bagging seeds its members itself.
    return rivals.BaggedNoise(_mlp(preset, n_rows, None), random_state=random_state)


# Said as it is: the defaults were not found blindly.
_OURS = (
    "The defaults of the package, the same for every set. They were settled in earlier trials, "
    "random splits of these sets among them; the embedding, and how several members are "
    "calibrated, on those of the protocol development and on random slabs of a feature. No set "
    "has its own."
)
_SHARED = (
    f"{_OURS} All networks share widths, embedding, epochs and early stopping, and all but the "
    "BNN the step size."
)

METHODS = {
    method.name: method
    for method in [
        Method(
            "marginal",
            "marginal Gaussian",
            "The normal distribution of the training targets, whatever the row: zero skill.",
            "Nothing to choose.",
            lambda preset, n_rows, random_state: rivals.MarginalGaussian(),
        ),
        Method(
            "mlp",
            "MLP",
            "scikit-learn's MLPRegressor with one noise level, from five held-out folds of the "
            "training rows.",
            "Widths, epochs, patience and batch size (32 to 1,024 rows by the size of the set) "
            "are Delta-UQ's; its step size is 0.003, as it does not average its weights; the "
            "rest is scikit-learn's default.",
            _constant_noise,
        ),
        Method(
            "mlp-5",
            "5 bagged MLPs",
            "Five of scikit-learn's MLPRegressor on bootstrap samples, mixed, with one noise "
            "level from out-of-bag errors.",
            "As for one MLP.",
            _bagged_noise,
        ),
        Method(
            "gp",
            "Gaussian process",
            "scikit-learn's GaussianProcessRegressor, RBF with a length scale for each feature "
            "and white noise.",
            "Hyperparameters maximise the marginal likelihood of the training rows.",
            lambda preset, n_rows, random_state: rivals.GaussianProcess(random_state),
            max_rows=2000,
        ),
        Method(
            "ngboost",
            "NGBoost",
            "NGBoost, a normal distribution, trees of its default depth.",
            "NGBoost's defaults, with up to 2,000 steps in place of 500; their number is that of "
            "the best likelihood on a tenth of the training rows.",
            lambda preset, n_rows, random_state: rivals.NGBoost(random_state=random_state),
            requires="ngboost",
        ),
        Method(
            "deltauq",
            "Delta-UQ",
            "One network, 20 anchors.",
            _OURS,
            network(DeltaUQRegressor, paper={"n_anchors": 20}),
        ),
        Method(
            "deltauq-5",
            "Delta-UQ, 5 members",
            "Five networks, 20 anchors each.",
            _OURS,
            network(DeltaUQRegressor, paper={"n_anchors": 20}, n_members=5),
        ),
        Method(
            "mcdropout",
            "MC dropout",
            "One network, 50 dropout masks.",
            f"{_SHARED} The dropout rate is chosen by held-out training rows, out of 0.005, 0.01, "
            "0.05 and 0.1.",
            network(baselines.MCDropoutRegressor, dropout="auto"),
        ),
        Method(
            "deepensemble",
            "deep ensemble",
            "Five networks from different initial weights.",
            f"{_SHARED} Five members, as its paper; without adversarial training.",
            network(baselines.DeepEnsembleRegressor, paper={"n_members": 5}),
        ),
        Method(
            "bnn",
            "variational BNN",
            "One network with a normal posterior for each weight.",
            f"{_SHARED} The divergence from the prior counts a tenth (a tempered posterior), and "
            "steps begin at 0.003, not at 0.01: both settled with the other defaults, where the "
            "whole of it, and larger steps, were worse.",
            network(baselines.VariationalBNNRegressor),
        ),
        Method(
            "anchorensemble",
            "anchor ensemble",
            "Five networks of one initialisation, each on data shifted by its own anchor.",
            f"{_SHARED} As many networks as the deep ensemble.",
            network(baselines.AnchorEnsembleRegressor, n_members=5),
        ),
        Method(
            "pbp",
            "PBP",
            "Probabilistic backpropagation: one network, assumed-density filtering.",
            "A layer of 50 units and 40 passes over all training rows, as in its paper (10 passes "
            "over a large set); in the preset default at most 40, with early stopping.",
            _pbp,
        ),
    ]
}


ALL = {**METHODS, **ABLATIONS}


def make(name: str, preset: str, n_rows: int, random_state: int) -> BaseEstimator:
    """A new estimator, by keys of `ALL` and `PRESETS`, for `n_rows` training rows."""
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}.")
    return ALL[name].make(preset, n_rows, random_state)


def applicable(name: str, n_train: int) -> str:
    """Why the method cannot be run on so many training rows; empty where it can be."""
    method = ALL[name]
    if method.max_rows is not None and n_train > method.max_rows:
        return (
            f"{method.title} takes at most {method.max_rows} training rows in reasonable time, "
            f"and here are {n_train}."
        )
    if method.requires and importlib.util.find_spec(method.requires) is None:
        return f"{method.requires} is not installed: pip install {method.requires}."
    return ""


def table(preset: str) -> list[tuple[str, str, str]]:
    """Each method, the settings that are not the defaults of its estimator, how they were chosen.

    The settings are those for sets of ordinary size, with what differs on large ones after them.
    """
    rows = []
    for method in METHODS.values():
        # scikit-learn's repr shows what differs from the defaults.
        small, large = (
            " ".join(repr(make(method.name, preset, n_rows, random_state=None)).split())
            for n_rows in (LARGE, LARGE + 1)
        )
        if large != small:
            small += f"; above {LARGE:,} training rows {large}"
        rows.append((method.name, small, method.chosen))
    return rows


def settings(estimator: BaseEstimator) -> dict:
    """The name of the estimator and all of its parameters but seeds, ready for JSON."""
    params = estimator.get_params(deep=False)
    return {
        "class": type(estimator).__name__,
        **{
            name: _as_json(value)
            for name, value in sorted(params.items())
            if name not in ("random_state", "verbose")
        },
    }


def _as_json(value):
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, BaseEstimator):
        return settings(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **_as_json(dataclasses.asdict(value))}
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_as_json(item) for item in value]
    named = value if hasattr(value, "__qualname__") else type(value)  # a class or a function
    return f"{named.__module__}.{named.__qualname__}"
