"""The methods of the comparison: names, titles, and how to make each estimator.

The settings are the same for every data set: nothing is tuned on test rows. Reading this module
imports no estimator.
"""

from __future__ import annotations

from math import log2, sqrt

from benchmarks_uci.engine.study import Method
from benchmarks_uci.regression.networks import LARGE, external, hidden, load_class, network


def _pbp(preset, n_rows, random_state):
    settings = {}
    if preset == "paper":
        # As in its paper. A pass over a large set is many updates, so it needs fewer passes.
        passes = 10 if n_rows > LARGE else 40
        settings = {"early_stopping": False, "max_iter": passes, "n_iter_no_change": passes}
        settings["hidden_layer_sizes"] = hidden(preset, n_rows)
    estimator = load_class("sk_deltauq.baselines.PBPRegressor")
    return estimator(**settings, random_state=random_state)


def _mlp(preset, n_rows, random_state):
    # The package's rule for batch_size="auto"
    batch_size = min(max(2 ** round(log2(sqrt(n_rows))), 32), 1024)
    make = load_class("benchmarks_uci.regression.external.make_scaled_mlp")
    return make(hidden(preset, n_rows), batch_size, random_state)


def _constant_noise(preset, n_rows, random_state):
    mlp = _mlp(preset, n_rows, random_state)
    return external("ConstantNoise", estimator=mlp)(preset, n_rows, random_state)


def _bagged_noise(preset, n_rows, random_state):
    mlp = _mlp(preset, n_rows, None)  # bagging seeds its members itself
    return external("BaggedNoise", estimator=mlp)(preset, n_rows, random_state)


# The defaults were not chosen blindly, and readers should know how.
_OURS = (
    "The defaults of the package, the same for every set. They were chosen in earlier trials, "
    "which included random splits of these sets. The embedding, and the calibration of several "
    "members, were chosen on splits of the protocol development and on random slabs of one "
    "feature. No set has settings of its own."
)
_SHARED = (
    f"{_OURS} All networks share widths, embedding, epochs and early stopping. All except the "
    "BNN share the step size."
)

METHODS = {
    method.name: method
    for method in [
        Method(
            "marginal",
            "marginal Gaussian",
            "The normal distribution of the training targets, the same for every row: zero skill.",
            "It has no settings.",
            external("MarginalGaussian", seeded=False),
        ),
        Method(
            "mlp",
            "MLP",
            "scikit-learn's MLPRegressor with one noise level, estimated on five hold-out folds "
            "of the training rows.",
            "Widths, epochs, patience and batch size (32 to 1,024 rows, by the size of the set) "
            "are those of Delta-UQ. The step size is 0.003, because the weights are not averaged. "
            "The rest is scikit-learn's default.",
            _constant_noise,
        ),
        Method(
            "mlp-5",
            "5 bagged MLPs",
            "A mixture of five MLPRegressors of scikit-learn on bootstrap samples, with one noise "
            "level from out-of-bag errors.",
            "As for one MLP.",
            _bagged_noise,
        ),
        Method(
            "gp",
            "Gaussian process",
            "scikit-learn's GaussianProcessRegressor: an RBF kernel with one length scale per "
            "feature, and white noise.",
            "Hyperparameters maximise the marginal likelihood of the training rows.",
            external("GaussianProcess"),
            max_rows=2000,
        ),
        Method(
            "ngboost",
            "NGBoost",
            "NGBoost with a normal distribution and trees of its default depth.",
            "NGBoost's defaults, except up to 2,000 steps instead of 500. The step with the best "
            "likelihood on 10 % of the training rows is kept.",
            external("NGBoost"),
            requires="ngboost",
        ),
        Method(
            "deltauq",
            "Delta-UQ",
            "One network, 20 anchors.",
            _OURS,
            network("sk_deltauq.DeltaUQRegressor", paper={"n_anchors": 20}),
        ),
        Method(
            "deltauq-5",
            "Delta-UQ, 5 members",
            "Five networks, 20 anchors each.",
            _OURS,
            network("sk_deltauq.DeltaUQRegressor", paper={"n_anchors": 20}, n_members=5),
        ),
        Method(
            "mcdropout",
            "MC dropout",
            "One network, 50 dropout masks.",
            f"{_SHARED} The dropout rate is selected on held-out training rows from 0.005, 0.01, "
            "0.05 and 0.1.",
            network("sk_deltauq.baselines.MCDropoutRegressor", dropout="auto"),
        ),
        Method(
            "deepensemble",
            "deep ensemble",
            "Five networks with different initial weights.",
            f"{_SHARED} Five members, as in its paper; no adversarial training.",
            network("sk_deltauq.baselines.DeepEnsembleRegressor", paper={"n_members": 5}),
        ),
        Method(
            "bnn",
            "variational BNN",
            "One network with a normal posterior for each weight.",
            f"{_SHARED} The divergence from the prior has the weight 0.1 (a tempered posterior), "
            "and the step size starts at 0.003 instead of 0.01. Both were chosen together with "
            "the other defaults; the full divergence and larger steps were worse.",
            network("sk_deltauq.baselines.VariationalBNNRegressor"),
        ),
        Method(
            "anchorensemble",
            "anchor ensemble",
            "Five networks with the same initial weights, each on data shifted by its own anchor.",
            f"{_SHARED} It has as many networks as the deep ensemble.",
            network("sk_deltauq.baselines.AnchorEnsembleRegressor", n_members=5),
        ),
        Method(
            "pbp",
            "PBP",
            "Probabilistic backpropagation: one network with assumed-density filtering.",
            "One layer of 50 units and 40 passes over all training rows, as in its paper (10 "
            "passes over a large set). The preset default has at most 40 passes with early "
            "stopping.",
            _pbp,
        ),
    ]
}
