"""Parameters, rows and helpers for tests of `prepare_fit` and `run_fit`."""

import warnings
from functools import partial as bind

import numpy as np
import torch

from sk_deltauq._host import draw_seed
from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training.fit import prepare_fit, run_fit
from sk_deltauq._validation import FitData, FitPlan
from tests._helpers import member_weights

PARAMS = {
    "hidden_layer_sizes": (8, 6),
    "activation": "tanh",
    "embedding": True,
    "n_members": 3,
    "alpha": 0.25,
    "net_params": None,
    "noise": "homoscedastic",
    "random_state": 11,
    "batch_size": 8,
    "learning_rate": "constant",
    "learning_rate_init": 0.02,
    "tol": 0.001,
    "n_iter_no_change": 4,
    "early_stopping": True,
    "validation_fraction": 0.25,
    "max_iter": 5,
    "averaging": 3,
    "device": "cpu",
    "verbose": False,
}
SEED = draw_seed(11)

warm, partial = FitPlan(resume=True), FitPlan(resume=True, partial=True)


def make_data(n=80):
    """Three networks hold out 60 of 80 rows, so three members are three networks."""
    rng = np.random.default_rng(2)
    x = torch.from_numpy(rng.normal(size=(n, 2))).float()
    weights = torch.from_numpy(rng.uniform(0.5, 1.5, size=n)).float()
    return FitData(x.numpy(), x, x[:, :1] + 0.1, weights, None)


def prepare(
    method=None,
    plan=None,
    previous=None,
    data=None,
    nll_beta=0.5,
    features="sinusoidal",
    **changes,
):
    params = {**PARAMS, **changes}
    method = method or Ensemble()
    make_head = bind(GaussianHead, 1, "homoscedastic", nll_beta)
    plan = plan or FitPlan(resume=False)
    data = data or make_data()
    return prepare_fit(params, "TheName", method, make_head, features, data, plan, previous)


def calibrate(net, hold_out, trains_on):
    return {"asked_": (net, hold_out)}


def run(*args, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_fit(prepare(*args, **changes), calibrate)


def weights_of(trained):
    return [w.clone() for m in range(3) for w in member_weights(trained.net, m)]


def assert_equal(found, expected):
    for one, two in zip(found, expected, strict=True):
        assert torch.equal(one, two)
