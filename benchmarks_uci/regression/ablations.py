"""What each part of Delta-UQ gains and costs: one network, with one change at a time."""

from __future__ import annotations

from benchmarks_uci.engine.study import Method
from benchmarks_uci.regression.networks import hidden, load_class, network

REFERENCE = "deltauq"  # the method that is changed

_OURS = "sk_deltauq.DeltaUQRegressor"
_VARIANTS = "benchmarks_uci.regression.variants"
_CHOSEN = "Nothing is chosen: the settings of Delta-UQ, except the named change."


def _changed(suffix, title, description, estimator=_OURS, **settings):
    """Return Delta-UQ with other settings, or with another estimator in its place."""
    make = network(estimator, **settings)
    return Method(f"{REFERENCE}-{suffix}", title, description, _CHOSEN, make)


def _concatenated(suffix, title, description, *, shuffled):
    """Return the network of the paper, as a user's own module."""

    def make(preset, n_rows, random_state):
        reference = network(_OURS)(preset, n_rows, random_state)
        # "auto" gives no embedding to a user's own module.
        embedding = "alternating" if reference.embedding == "auto" else reference.embedding
        module = load_class(f"{_VARIANTS}.Concatenated")(hidden(preset, n_rows), shuffled)
        return reference.set_params(module=module, embedding=embedding)

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
        _changed(
            "naive",
            "{0, x}",
            "Trained with anchors; predicts with the input [0, x].",
            f"{_VARIANTS}.Naive",
        ),
        _changed(
            "mean",
            "mean only",
            "The mean over the anchors; the standard deviation leaves out their spread.",
            f"{_VARIANTS}.MeanOnly",
        ),
        *map(_anchors, (1, 2, 5, 10, 50, 100)),
        *map(_members, (3, 10)),
        _concatenated(
            "concatenated",
            "[c, x - c]",
            "The first layer of the paper, on the concatenated inputs, instead of W x + V c.",
            shuffled=False,
        ),
        _concatenated(
            "shuffled",
            "[c, x - c], anchors of the batch",
            "The first layer of the paper; the anchors are the shuffled rows of the mini-batch.",
            shuffled=True,
        ),
        _changed("homoscedastic", "constant noise", "One noise level.", noise="homoscedastic"),
        _changed(
            "noiseless",
            "no noise",
            "Squared error; the standard deviation is the spread over the anchors alone, as in "
            "the paper.",
            noise=None,
        ),
        _changed("beta0", "plain NLL", "The likelihood without weights.", nll_beta=0.0),
        _changed("beta1", "beta = 1", "The likelihood times the variance.", nll_beta=1.0),
        _changed("raw", "no embedding", "The features without an embedding.", embedding=None),
        _changed(
            "sinusoidal",
            "sinusoidal",
            "Fixed sinusoidal features in addition to the features.",
            embedding="sinusoidal",
        ),
        _changed(
            "periodic",
            "periodic",
            "Learned sinusoidal features in addition to the features.",
            embedding="periodic",
        ),
        *(
            _changed(
                f"m5-{name}",
                f"5 members, {name}",
                f"Five cross-fitted networks of the same kind: {what}.",
                n_members=5,
                embedding=embedding,
            )
            for name, what, embedding in [
                ("raw", "none has an embedding", None),
                ("sinusoidal", "all have the fixed sinusoidal features", "sinusoidal"),
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
            "The last weights instead of their average over epochs.",
            averaging=1,
        ),
        _changed(
            "constant",
            "constant step",
            "A constant step size of 0.003, and the last weights.",
            learning_rate="constant",
            learning_rate_init=0.003,
            averaging=1,
        ),
        _changed(
            "uncalibrated",
            "no calibration",
            "The standard deviations are not rescaled.",
            calibrate=False,
        ),
        _changed(
            "unwidened",
            "no widening",
            "No distance-based inflation of the standard deviation.",
            widening=0.0,
        ),
        Method(
            "anchorensemble-20",
            "anchor ensemble of 20",
            "Twenty networks with the same initial weights, each on data shifted by its own "
            "anchor. According to the paper, one network of Delta-UQ approximates it.",
            _CHOSEN,
            network("sk_deltauq.baselines.AnchorEnsembleRegressor", n_members=20),
        ),
    ]
}
