"""The methods of the study.

All networks have the same embedding and widths and, except the calibrated ones, train for the same
epochs on all points.

Reading this module imports neither torch nor BoTorch; the factories do when they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name

from benchmarks_uci.engine.study import Method

PRESETS = ("default", "tiny")
REFERENCE = "deltauq"

_SEARCHES = "benchmarks_uci.optimisation.searches"
_SAME = (
    "the settings of the default surrogate of `sk_deltauq.optimize.Optimizer`, without any choice "
    "for this method"
)

# Parameters of `surrogate()` that all networks share
_SHARED = (
    *("hidden_layer_sizes", "embedding", "batch_size", "learning_rate_init", "max_iter"),
    *("n_iter_no_change", "early_stopping", "noise"),
)
_TINY = {"hidden_layer_sizes": (8,), "max_iter": 3}


def _network(estimator: str | None = None, *, calibrated: bool = False, **settings):
    """Return a factory of a search with a network; None for the recommended surrogate."""

    def make(preset, n_rows, random_state):
        surrogate = resolve_name("sk_deltauq.optimize.surrogate")(calibrated=calibrated)
        if estimator is not None:
            shared = {name: getattr(surrogate, name) for name in _SHARED}
            surrogate = resolve_name(estimator)(**shared, **settings)
        if not calibrated:  # as `Optimizer` does it
            surrogate.set_params(target_transform="yeo-johnson")
        if preset == "tiny":
            surrogate.set_params(**_TINY)
        n_steps = 2 if preset == "tiny" else None
        search = resolve_name(f"{_SEARCHES}.NetworkSearch")
        return search(n_steps=n_steps, random_state=random_state, surrogate=surrogate)

    return make


def _other(name: str, tiny: Mapping[str, int] | None = None):
    def make(preset, n_rows, random_state):
        settings = {"n_steps": 2, **(tiny or {})} if preset == "tiny" else {}
        return resolve_name(f"{_SEARCHES}.{name}")(random_state=random_state, **settings)

    return make


_BASELINES = "sk_deltauq.baselines"

METHODS = {
    method.name: method
    for method in [
        Method(
            "sobol",
            "Sobol",
            "points of a Sobol sequence, without a surrogate",
            "none",
            _other("SobolSearch"),
            requires="botorch",
        ),
        Method(
            "gp",
            "GP",
            "Gaussian process: BoTorch's SingleTaskGP with its defaults, inputs in the unit cube, "
            "standardised values",
            "BoTorch's defaults",
            _other("GaussianProcessSearch"),
            requires="botorch",
        ),
        Method(
            "vbll",
            "VBLL",
            "network with a variational Bayesian last layer: VBLLModel of BoTorch's community "
            "models with its defaults, on the same inputs and values as the GP",
            "BoTorch's defaults, except 1,000 epochs instead of 10,000, which take up to a minute "
            "per step",
            _other("LastLayerSearch", tiny={"max_iter": 3}),
            requires="botorch_community",
            package="botorch",
        ),
        Method(
            "plain",
            "one plain net",
            "one network on all points, without any uncertainty: the search goes to the largest "
            "predicted value",
            _SAME,
            _network(f"{_BASELINES}.DeepEnsembleRegressor", n_members=1),
            requires="botorch",
        ),
        Method(
            "mcdropout",
            "MC dropout",
            "dropout of 0.1, 20 masks",
            _SAME,
            _network(f"{_BASELINES}.MCDropoutRegressor", dropout=0.1, n_masks=20),
            requires="botorch",
        ),
        Method(
            "deepensemble",
            "deep ensemble",
            "five networks",
            _SAME,
            _network(f"{_BASELINES}.DeepEnsembleRegressor", n_members=5),
            requires="botorch",
        ),
        Method(
            "bnn",
            "BNN",
            "variational Bayesian network, 20 draws",
            _SAME,
            _network(f"{_BASELINES}.VariationalBNNRegressor", n_draws=20),
            requires="botorch",
        ),
        Method(
            "deltauq",
            "Delta-UQ",
            "the recommended surrogate: one network, whose anchors are the nearest points",
            "anchors, widths, embedding and epochs on development seeds",
            _network(),
            requires="botorch",
        ),
        Method(
            "deltauq-calibrated",
            "Delta-UQ, calibrated",
            "four networks with five anchors each, whose standard deviation is calibrated on "
            "held-out points",
            "on the development seeds of Branin, Ackley 4 and Hartmann 6",
            _network(calibrated=True),
            requires="botorch",
        ),
    ]
}
