"""Small estimators, data, settings and comparisons that many tests share."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import is_classifier

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from sk_deltauq._host import Stream, one_thread, torch_generators
from sk_deltauq._networks.heads import CategoricalHead, GaussianHead
from sk_deltauq._networks.mlp import NetworkSpec
from sk_deltauq._training.folds import plan_hold_out
from sk_deltauq._training.held_out import make_monitor
from sk_deltauq._training.method import DrawContext
from sk_deltauq._training.net import make_net
from sk_deltauq._training.rows import TrainingRows, assign_rows
from sk_deltauq._training.settings import TrainingSettings
from sk_deltauq._validation import FitData
from sk_deltauq.exceptions import UncertaintyWarning

# Not narrower: a chunk of a prediction holds a fixed number of floats, so narrow networks have
# more rows per chunk.
TINY = {
    "hidden_layer_sizes": (32,),
    "max_iter": 3,
    "n_anchors": 5,
    "early_stopping": False,
    "random_state": 0,
}
# For tests in which the model must learn.
LEARN = {"max_iter": 80, "learning_rate_init": 0.03}


def regressor(**params):
    return DeltaUQRegressor(**{**TINY, **params})


def classifier(**params):
    return DeltaUQClassifier(**{**TINY, **params})


ESTIMATORS = [regressor, classifier]

# Both kinds of estimators, and PBP, which has its own training loop: for tests of code that all
# estimators share.
ONE_PER_KIND = {"DeltaUQRegressor", "DeltaUQClassifier", "PBPRegressor"}
# Each network and each rule of training once: for tests of code that differs between methods.
ONE_PER_METHOD = ONE_PER_KIND | {
    "AnchorEnsembleClassifier",
    "DeepEnsembleRegressor",
    "MCDropoutClassifier",
    "VariationalBNNRegressor",
}


def list_uncertainty_warnings(function, *args, **kwargs):
    """Call the function, and return the messages of its `UncertaintyWarning`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UncertaintyWarning)
        function(*args, **kwargs)
    return [str(w.message) for w in caught if w.category is UncertaintyWarning]


def mark_long(values, quick, name=lambda value: getattr(value, "__name__", value)):
    """Return pytest parameters; values whose name is not in `quick` get the mark `long`."""
    assert quick & {name(value) for value in values}, "no value is left for the default tests"
    return [
        value if name(value) in quick else pytest.param(value, marks=pytest.mark.long)
        for value in values
    ]


def make_spec(n_features, n_outputs, members, *, embedding=None, sizes=(8, 7), activation="tanh"):
    """Describe a stack of networks; the weights of a member do not depend on other members."""
    return NetworkSpec(
        n_features=n_features,
        n_outputs=n_outputs,
        hidden_layer_sizes=sizes,
        activation=activation,
        embedding=embedding,
        members=members,
        generators=torch_generators(7, Stream.WEIGHTS, members),
    )


N = 40


def table(dtype=np.float64):
    """Return small integers of shape (N, 3), which every number type can hold."""
    return np.random.default_rng(0).integers(0, 9, size=(N, 3)).astype(dtype)


def target(make):
    """Return a target that the estimator of `make` can learn from `table`."""
    X = table()
    return X[:, 0] - X[:, 1] if make is regressor else np.where(X[:, 0] > X[:, 1], "a", "b")


def predict_all(model, X):
    """Collect the outputs of all prediction methods for X, by method name."""
    parts = {f"predict_uncertainty.{k}": v for k, v in model.predict_uncertainty(X).items()}
    labels_or_mean, std = model.predict(X, return_std=True)
    if is_classifier(model):
        rest = {
            "predict_proba": model.predict_proba(X),
            "predict_log_proba": model.predict_log_proba(X),
        }
    else:
        rest = {
            "predict_interval": model.predict_interval(X),
            "predict_quantiles": model.predict_quantiles(X, [0.1, 0.5, 0.9]),
            "sample_y": model.sample_y(X, 2, random_state=0),
        }
    return {"predict": labels_or_mean, "std": std, **parts, **rest}


def assert_same_predictions(one, other):
    """Check that two results of `answers` are equal to the last bit."""
    assert one.keys() == other.keys()
    for method, value in one.items():
        np.testing.assert_array_equal(value, other[method], err_msg=method)


def assert_close_predictions(one, other):
    """Check that two results of `answers` are equal up to a relative difference of 1e-6.

    The order of float32 sums depends on the number of rows.
    """
    assert one.keys() == other.keys()
    for method, value in one.items():
        if value.dtype.kind == "f":
            near = {"rtol": 1e-6, "atol": 1e-6 * np.abs(value).max()}
            np.testing.assert_allclose(value, other[method], **near, err_msg=method)
        else:
            np.testing.assert_array_equal(value, other[method], err_msg=method)


def assert_finite(found):
    """Check that all numbers in a result of `answers` are finite."""
    for method, value in found.items():
        if method != "predict" or value.dtype.kind == "f":
            assert np.isfinite(value).all(), method


def make_settings(**changes):
    """Return training settings for a few quick epochs."""
    settings = {
        "n_members": 3,
        "max_iter": 10,
        "batch_size": 16,
        "learning_rate": "invscaling",
        "learning_rate_init": 0.05,
        "averaging": 2,
        "alpha": 0.01,
        "tol": 0.0,
        "n_iter_no_change": 10,
        "early_stopping": False,
        "validation_fraction": 0.2,
        "ends_on_all_rows": False,
        "refines_mean": False,
        "partial": False,
        "device": "cpu",
        "net_params": {},
        "verbose": False,
        "name": "test",
    }
    return TrainingSettings(**{**settings, **changes})


def make_training_rows(*, weights, train, held_out=None, **parts):
    """Return rows of a stack whose folds need no padding; `held_out=None` holds out no rows."""
    if held_out is None:
        held_out = torch.empty((len(train), 0), dtype=torch.int64)
    return TrainingRows(
        weights=weights,
        train=train,
        held_out=held_out,
        held_out_weights=weights[held_out],
        n_units=len(held_out.unique()),
        **parts,
    )


def assign_as_planned(data, settings, members, rng, generators):
    """Assign rows as `fit` does with these settings, with one network per member."""
    hold_out = plan_hold_out(
        settings.early_stopping,
        data,
        settings.n_members,
        settings.validation_fraction,
        partial=settings.partial,
    )
    hold_out = replace(hold_out, n_networks=settings.n_members)
    return assign_rows(data, settings, hold_out, members, rng, generators)


def member_weights(net, member):
    """Collect all values that training changes in one member."""
    head = [p.detach()[member] for p in net.criterion_.parameters()]
    return [*head, *net.module_.core.member_tensors(member)]


def assert_stacked_is_alone(
    method,
    *,
    kind,
    hold_out,
    weighted=False,
    embedding=None,
    sizes=(8,),
    set_members=None,
    **settings,
):
    """Check that three members trained as one stack equal members trained separately.

    `settings` are for `TrainingSettings`. With `hold_out` the members stop early, in different
    epochs. `set_members(network, members)` replaces the random draws of each member, because the
    method numbers the members of every stack from 0.
    """
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(90, 2)).astype(np.float32))
    labels = (x[:, 0] > 0).long()
    y = 2 * x[:, :1] if kind == "regressor" else labels.float()[:, None]
    weights = torch.from_numpy(rng.uniform(0.5, 2, 90).astype(np.float32) ** weighted)
    data = FitData(x.numpy(), x, y, weights, labels.numpy())
    early = {"early_stopping": True, "max_iter": 40, "tol": 1e-4, "n_iter_no_change": 2}
    settings = make_settings(**{**(early if hold_out else {}), **settings})

    def train(members):
        if kind == "regressor":
            head = GaussianHead(1, noise="homoscedastic", nll_beta=0.5, n_members=len(members))
        else:
            head = CategoricalHead(2)
        spec = make_spec(2, head.n_network_outputs, members, embedding=embedding, sizes=sizes)
        network = method.network(spec)
        all_rows = assign_as_planned(
            data,
            settings,
            [0, 1, 2],
            np.random.default_rng(3),
            torch_generators(7, Stream.BATCHES, [0, 1, 2]),
        )
        rows = replace(
            all_rows,
            train=all_rows.train[members],
            held_out=all_rows.held_out[members],
            held_out_weights=all_rows.held_out_weights[members],
            generators=[all_rows.generators[member] for member in members],
        )
        context = DrawContext(data, rows, 7, 0, settings, None, None)
        method.draw(network, context)
        if set_members is not None:
            set_members(network, members)
        net = make_net(network, head, settings, 16)
        _, monitor = make_monitor(rows, settings)
        with one_thread():  # as in `fit`: threads would wait for each other on a busy machine
            net.train(
                rows,
                batches=method.batches(network, rows, 16),
                step=method.step,
                n_epochs=settings.max_iter,
                decay=True,
                averaged_epochs=settings.averaging,
                monitor=monitor,
            )
        monitor.restore(net)
        return net, monitor

    stacked, monitor = train([0, 1, 2])
    lengths = set()
    for member in range(3):
        alone, own_monitor = train([member])
        lengths.add(len(alone.history))
        for mine, own in zip(
            member_weights(stacked, member), member_weights(alone, 0), strict=True
        ):
            torch.testing.assert_close(mine, own, rtol=1e-3, atol=1e-5)
        if hold_out:
            best = monitor.best_scores[member]
            np.testing.assert_allclose(best, own_monitor.best_scores[0], rtol=1e-4)
    if hold_out:
        assert len(lengths) > 1, "the members must stop in different epochs"
        assert len(stacked.history) == max(lengths)
