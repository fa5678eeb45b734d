"""What each part of Delta-UQ buys and costs: one network, with one thing changed at a time."""

from __future__ import annotations

from benchmarks_uci.methods.method import Method, hidden, network
from benchmarks_uci.methods.variants import Concatenated, MeanOnly, Naive
from sk_deltauq import DeltaUQRegressor, baselines

# What an ablation is compared with
REFERENCE = "deltauq"

_CHOSEN = "Nothing is chosen: Delta-UQ's settings, but for what is named."


def _changed(suffix, title, description, estimator=DeltaUQRegressor, **settings):
    """Delta-UQ with other settings, or another estimator in its place."""
    make = network(estimator, **settings)
    return Method(f"{REFERENCE}-{suffix}", title, description, _CHOSEN, make)


def _concatenated(suffix, title, description, *, shuffled):
    """The paper's network, as a module of the user's own."""

    def make(preset, n_rows, random_state):
        reference = network(DeltaUQRegressor)(preset, n_rows, random_state)
        # "auto" gives a user's own module no embedding.
        embedding = "alternating" if reference.embedding == "auto" else reference.embedding
        return reference.set_params(
            module=Concatenated(hidden(preset, n_rows), shuffled), embedding=embedding
        )

    return Method(f"{REFERENCE}-{suffix}", title, description, _CHOSEN, make)


def _anchors(number):
    noun = "anchor" if number == 1 else "anchors"
    return _changed(f"k{number}", f"{number} {noun}", f"{number} {noun}.", n_anchors=number)


def _members(number):
    return _changed(
        f"m{number}", f"{number} members", f"{number} cross-fitted networks.", n_members=number
    )


ABLATIONS = {
    method.name: method
    for method in [
        _changed("naive", "{0, x}", "Trained with anchors, asked with the input [0, x].", Naive),
        _changed("mean", "mean only", "Anchors averaged, their spread not in the band.", MeanOnly),
        *map(_anchors, (1, 2, 5, 10, 50, 100)),
        *map(_members, (3, 10)),
        _concatenated(
            "concatenated",
            "[c, x - c]",
            "The paper's first layer, of the inputs side by side, in place of W x + V c.",
            shuffled=False,
        ),
        _concatenated(
            "shuffled",
            "[c, x - c], anchors of the batch",
            "The paper's first layer, and the rows of the mini-batch in another order as anchors.",
            shuffled=True,
        ),
        _changed("homoscedastic", "constant noise", "One noise level.", noise="homoscedastic"),
        _changed(
            "noiseless",
            "no noise",
            "Squared error; the band is the spread over the anchors alone, as in the paper.",
            noise=None,
        ),
        _changed("beta0", "plain NLL", "The likelihood without weights.", nll_beta=0.0),
        _changed("beta1", "beta = 1", "The likelihood times the variance.", nll_beta=1.0),
        _changed("raw", "no embedding", "The features as they are.", embedding=None),
        _changed(
            "sinusoidal",
            "sinusoidal",
            "Fixed sines and cosines of the features beside them.",
            embedding="sinusoidal",
        ),
        _changed(
            "periodic",
            "periodic",
            "Learnt sines and cosines of the features beside them.",
            embedding="periodic",
        ),
        *(
            _changed(
                f"m5-{name}",
                f"5 members, {name}",
                f"Five cross-fitted networks, all of one kind: {what}.",
                n_members=5,
                embedding=embedding,
            )
            for name, what, embedding in [
                ("raw", "none has an embedding", None),
                ("sinusoidal", "all have the fixed sines and cosines", "sinusoidal"),
            ]
        ),
        _changed(
            "unstopped",
            "no early stopping",
            "All rows train, until the training loss no longer falls.",
            early_stopping=False,
        ),
        _changed(
            "unaveraged",
            "last weights",
            "The last weights, not their average over epochs.",
            averaging=1,
        ),
        _changed(
            "constant",
            "constant step",
            "Steps of one size, 0.003, and the last weights.",
            learning_rate="constant",
            learning_rate_init=0.003,
            averaging=1,
        ),
        _changed("uncalibrated", "no calibration", "No factor of the stds.", calibrate=False),
        _changed(
            "unwidened", "no widening", "No widening away from the training rows.", widening=0.0
        ),
        Method(
            "anchorensemble-20",
            "anchor ensemble of 20",
            "Twenty networks of one initialisation, each on data shifted by its own anchor: what "
            "one network of Delta-UQ stands for, by the paper.",
            _CHOSEN,
            network(baselines.AnchorEnsembleRegressor, n_members=20),
        ),
    ]
}
